"""R6: what the handler asks for is compared with the record, and any difference is shown."""

from __future__ import annotations

import pytest

from agentctl.core.replay import Difference, Replay, describe
from agentctl.records import CallRecord, decode

RECORD = (
    '{"event":1,"handler":"request","args":[7]}',
    '{"start":1,"at":1}',
    '{"call":"1-1","fn":"Payments.refund","args":[7],"kwargs":{"note":"x"},"at":1}',
    '{"call":"1-2","fn":"timer","until":99,"at":1}',
    '{"call":"1-3","fn":"Payments.pay","digest":"abcdabcdabcdabcd","at":1}',
)


@pytest.fixture
def replay(fold):
    return Replay(fold(*RECORD).open[1])


def call(body):
    record = decode(body.encode())
    assert isinstance(record, CallRecord)
    return record


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ('{"call":"1-1","fn":"Payments.refund","args":[7]}', "Payments.refund(7)"),
        ('{"call":"1-1","fn":"P.f","args":["a",[1]],"kwargs":{"k":null}}', 'P.f("a", [1], k=null)'),
        ('{"call":"1-1","fn":"P.f","args":[]}', "P.f()"),
        ('{"call":"1-1","fn":"P.f","args":[{"$secret":"hunter2"}]}', 'P.f("***")'),
        ('{"call":"1-1","fn":"P.f","digest":"abcdabcdabcdabcd"}', "P.f(digest abcdabcdabcd)"),
        ('{"call":"1-1","fn":"timer","until":99}', "timer until 99"),
        ('{"call":"1-1","fn":"ask","args":[1],"to":"B/a","handler":"h"}', "B/a.h(1)"),
        (
            '{"call":"1-1","fn":"trigger","args":[1],"to":"B","handler":"h","timing":{}}',
            "trigger B.h(1)",
        ),
        (
            '{"call":"1-1","fn":"schedule","args":[],"to":"B","handler":"h","timing":{"name":"t"}}',
            'schedule B.h() {"name":"t"}',
        ),
        ('{"call":"1-1","fn":"cancel","to":"B#7"}', "cancel B#7"),
        ('{"call":"1-1","fn":"result","to":"B t 99","handler":"h"}', "result B t 99"),
        ('{"call":"1-1","fn":"schedules"}', "schedules"),
    ],
)
def test_a_recorded_call_is_described_for_people(body, shown):
    assert describe(call(body)) == shown


def test_a_call_with_large_arguments_is_described_in_short():
    assert len(describe(call('{"call":"1-1","fn":"P.f","args":["%s"]}' % ("x" * 9999)))) < 250


def test_what_is_on_record_and_was_never_asked_for_is_left_over(replay):
    left = replay.left_over(frozenset())
    assert left == Difference("1", 'Payments.refund(7, note="x")', "nothing")


@pytest.mark.parametrize(
    "body",
    [
        '{"call":"1-1","fn":"Payments.refund","args":[7],"kwargs":{"note":"x"}}',
        '{"call":"1-1","fn":"Payments.refund","args":[7],"kwargs":{"note":"x"},"at":9}',
        '{"call":"1-1","fn":"Payments.refund","args":[ 7 ],"kwargs":{ "note" : "x" }}',
    ],
)
def test_the_same_call_is_found_on_record(replay, body):
    found = replay.match("1", call(body))
    assert isinstance(found, CallRecord)
    assert found.at == 1


@pytest.mark.parametrize(
    ("path", "body", "now"),
    [
        ("1", '{"call":"1-1","fn":"Payments.pay","args":[7]}', "Payments.pay(7)"),
        (
            "1",
            '{"call":"1-1","fn":"Payments.refund","args":[8],"kwargs":{"note":"x"}}',
            'Payments.refund(8, note="x")',
        ),
        ("1", '{"call":"1-1","fn":"Payments.refund","args":[7]}', "Payments.refund(7)"),
        (
            "1",
            '{"call":"1-1","fn":"Payments.refund","args":[7.0,1],"kwargs":{"note":"x"}}',
            'Payments.refund(7.0, 1, note="x")',
        ),
        ("2", '{"call":"1-2","fn":"timer","until":100}', "timer until 100"),
        ("2", '{"call":"1-2","fn":"P.f","args":[]}', "P.f()"),
        ("3", '{"call":"1-3","fn":"Payments.pay","digest":"ffff"}', "Payments.pay(digest ffff)"),
        ("3", '{"call":"1-3","fn":"Payments.pay","args":[1]}', "Payments.pay(1)"),
    ],
)
def test_another_call_is_a_difference_that_shows_both(replay, path, body, now):
    found = replay.match(path, call(body))
    assert isinstance(found, Difference)
    assert (found.path, found.recorded, found.asked) == (
        path,
        describe(call(RECORD[int(path) + 1])),
        now,
    )


def test_match_name_compares_only_what_is_called(replay):
    other = call('{"call":"1-1","fn":"Payments.refund","args":[8]}')
    assert not isinstance(replay.match("1", other, by_name=True), Difference)
    another = call('{"call":"1-1","fn":"Payments.pay","args":[7]}')
    assert isinstance(replay.match("1", another, by_name=True), Difference)


def test_a_call_that_is_not_on_record_is_new_once_all_is_delivered_and_a_difference_before(fold):
    extra = call('{"call":"1-4","fn":"P.f","args":[]}')
    assert Replay(fold(*RECORD).open[1]).match("4", extra) is None
    behind = Replay(fold(*RECORD, '{"ok":"1-1","at":2}').open[1])
    assert behind.match("4", extra) == Difference("4", "nothing", "P.f()")
    behind.undelivered -= 1
    assert behind.match("4", extra) is None


def test_what_was_given_up_on_record_and_is_still_waited_for_is_a_difference(fold):
    replay = Replay(fold(*RECORD[:3], '{"dropped":"1-1"}').open[1])
    replay.match("1", call(RECORD[2]))
    assert replay.left_over(frozenset()) is None
    left = replay.left_over(frozenset(["1"]))
    assert left is not None
    assert left.recorded.endswith(", given up")
