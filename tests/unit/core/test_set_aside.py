"""`set-aside`: plain lines for a person, and a requeue that replays exactly."""

from __future__ import annotations

import json

import pytest
from msgspec import Raw

from agentctl.core.history import JournalHistory
from agentctl.core.set_aside import (
    aside_record,
    calls_under_way,
    fresh_bodies,
    parse,
    plain_lines,
    render,
    requeue_bodies,
)
from agentctl.errors import SetAsideDamaged
from agentctl.records import decode, encode, kind_of

REFUND = (
    '{"event":1,"handler":"request","args":[7],"key":"k","lane":"high","digest":"d",'
    '"from":"Other-3-1","nonce":"ab","at":10}'
)
# Branches, a dropped call, a timer, an error, a result, an open timer, an open call.
BUSY = [
    '{"event":1,"handler":"busy","args":[7],"kwargs":{"note":"x"},"of":["eu/7"],'
    '"nonce":"ab","at":10}',
    '{"start":1,"at":20}',
    '{"call":"1-1","fn":"Api.one","args":[7],"at":20}',
    '{"call":"1-2.1","fn":"Api.two","args":[],"kwargs":{"x":1},"at":20}',
    '{"call":"1-3.1","fn":"Api.three","digest":"abcd","at":20}',
    '{"call":"1-4","fn":"timer","until":120,"at":20}',
    '{"error":"1-2.1","type":"shop.Declined","args":["no"],"text":"no","at":30}',
    '{"ok":"1-1","value":{"id":"r7"},"at":30}',
    '{"dropped":"1-3.1"}',
    '{"fired":"1-4","at":125}',
    '{"call":"1-5","fn":"timer","until":999,"at":125}',
    '{"call":"1-6","fn":"Api.pay","args":[900],"repeat":false,"at":125}',
    '{"call":"1-7","fn":"Api.kill","args":[],"at":125}',
    '{"again":1,"at":200}',
    '{"again":1,"alone":true,"at":300}',
]


def raw(value):
    return bytes(value) if isinstance(value, Raw) else value


def journal(fold, lines):
    """The event as it stands, and the journal's history behind its requeue."""
    before = fold(*lines)
    history = before.open[1]
    aside = aside_record(history, 400)
    content = render(parse(b"\n".join(plain_lines(history)), "set-aside"))
    (event,) = parse(content, "set-aside")
    bodies = requeue_bodies(event, aside, 500)
    after = JournalHistory()
    stated = [encode(before.header), *map(str.encode, lines), encode(aside), *bodies]
    for body in stated:
        after.fold(kind_of(body), decode(body), body)
    return before.open[1], after.open[1]


def test_r10_an_event_stands_there_as_a_person_can_read_and_edit_it(fold):
    history = fold(*BUSY).open[1]
    assert [line.decode() for line in plain_lines(history)] == [
        '{"event":1,"handler":"busy","args":[7],"kwargs":{"note":"x"},"of":["eu/7"]}',
        '{"call":"1-1","fn":"Api.one","args":[7]}',
        '{"call":"1-2.1","fn":"Api.two","args":[],"kwargs":{"x":1}}',
        '{"call":"1-4","fn":"timer","until":120}',
        '{"error":"1-2.1","type":"shop.Declined","args":["no"],"text":"no"}',
        '{"ok":"1-1","value":{"id":"r7"}}',
        '{"fired":"1-4"}',
        '{"call":"1-6","fn":"Api.pay","args":[900],"repeat":false}',
        '{"again":1}',
        '{"again":1}',
    ]


def test_k3_an_event_that_died_in_its_first_call_is_its_line_and_a_line_for_each_restart(fold):
    history = fold(
        REFUND,
        '{"start":1,"at":20}',
        '{"call":"1-1","fn":"Payments.refund","args":[7],"at":20}',
        *('{"again":1,"at":30}', '{"again":1,"alone":true,"at":40}'),
    ).open[1]
    assert b"\n".join(plain_lines(history)) == (
        b'{"event":1,"handler":"request","args":[7]}\n{"again":1}\n{"again":1}'
    )


def test_a_requeued_event_has_done_exactly_what_it_had_done(fold):
    before, after = journal(fold, BUSY)
    assert after.accepted == before.accepted
    assert after.started_us == before.started_us
    assert after.calls.keys() == before.calls.keys()
    for path, call in before.calls.items():
        again = after.calls[path]
        assert (again.fn, again.until, again.digest, again.repeat) == (
            *(call.fn, call.until, call.digest, call.repeat),
        )
        assert raw(again.args) == raw(call.args)
        assert raw(again.kwargs) == raw(call.kwargs)
    assert [path for path, _ in after.deliveries] == [path for path, _ in before.deliveries]
    assert [encode(one) for _, one in after.deliveries] == [
        encode(one) for _, one in before.deliveries
    ]
    assert after.dropped == before.dropped
    assert open_calls(after) == open_calls(before)


def open_calls(event):
    return {call.call for path, call in event.calls.items() if path not in event.ended}


def test_a_requeued_event_keeps_its_key_lane_origin_and_random_part(fold):
    _, after = journal(fold, [REFUND, '{"start":1,"at":20}', '{"again":1,"at":30}'])
    assert encode(after.accepted) == REFUND.encode()


def test_r8_what_a_retry_took_out_of_the_record_isnt_put_back(fold):
    lines = [
        REFUND,
        '{"start":1,"at":20}',
        '{"call":"1-1","fn":"Api.one","args":[],"at":20}',
        '{"error":"1-1","type":"x.Y","at":21}',
        '{"call":"1-2","fn":"Api.tidy","args":[],"at":21}',
        '{"ok":"1-2","value":1,"at":22}',
        '{"failed":1,"type":"x.Y","calls":["1-1"],"at":23}',
        '{"retry":1,"undo":["1-1"],"forget":["1-2"],"at":30}',
        '{"start":1,"at":31}',
        '{"ok":"1-1","value":2,"at":32}',
        '{"call":"1-2","fn":"Api.kill","args":[],"at":32}',
        '{"again":1,"at":33}',
    ]
    _, after = journal(fold, lines)
    assert [(path, record.at) for path, record in after.deliveries] == [("1", 32)]
    assert {path: call.fn for path, call in after.calls.items()} == {
        "1": "Api.one",
        "2": "Api.kill",
    }


def test_r21_a_requeued_event_keeps_its_inputs_though_nothing_came_of_any_call(fold):
    lines = [
        REFUND,
        '{"start":1,"at":20}',
        '{"call":"1-1","fn":"step","step":"pay","at":20}',
        '{"call":"1-2","fn":"step","step":"choose","at":20}',
        '{"tried":"1-1","attempt":1,"type":"OSError","next":90,"at":30}',
        '{"waiting":"1-2","text":"which?","type":"str","at":30}',
        '{"answer":"1-2","value":"blue","by":"ana","at":40}',
    ]
    _, after = journal(fold, lines)
    steps = after.steps
    assert (steps["1"].last.next, raw(steps["2"].answer.value)) == (90, b'"blue"')


def test_a_requeued_event_counts_its_starts_from_zero(fold):
    _, after = journal(fold, BUSY)
    assert (after.starts, after.alone) == (0, False)


def test_an_event_can_be_set_aside_and_requeued_over_and_over(fold):
    lines = BUSY
    for _ in range(3):
        before, after = journal(fold, lines)
        lines = [body.decode() for body in after.bodies]
        assert [path for path, _ in after.deliveries] == [path for path, _ in before.deliveries]
        assert after.dropped == before.dropped
        assert after.calls.keys() == before.calls.keys()


def test_what_is_read_is_written_back_byte_for_byte(fold):
    content = b"\n".join(plain_lines(fold(*BUSY).open[1])) + b"\n"
    assert render(parse(content * 1, "set-aside")) == content


def test_an_editor_s_blanks_and_empty_lines_change_nothing(fold):
    history = fold(*BUSY).open[1]
    lines = plain_lines(history)
    loose = b"\n\n  " + b" \r\n\n".join(lines) + b"  \n\n"
    (event,) = parse(loose, "set-aside")
    assert list(event.lines) == lines
    spaced = json.dumps(json.loads(lines[0])).encode()
    (event,) = parse(b"\n".join([spaced, *lines[1:]]), "set-aside")
    assert not event.edited(aside_record(history, 1))


def test_an_edit_of_the_event_s_own_line_shows(fold):
    history = fold(*BUSY).open[1]
    lines = plain_lines(history)
    edited = lines[0].replace(b'"args":[7]', b'"args":[8]')
    (event,) = parse(b"\n".join([edited, *lines[1:]]), "set-aside")
    assert event.edited(aside_record(history, 1))


def test_several_events_stand_one_after_the_other():
    content = (
        b'{"event":1,"handler":"a","args":[]}\n{"again":1}\n{"event":3,"handler":"b","args":[]}\n'
    )
    first, second = parse(content, "set-aside")
    assert (first.number, first.starts, second.number, second.starts) == (1, 1, 3, 0)


def test_what_an_event_has_done_to_the_world_is_told_before_it_is_done_twice(fold):
    (event,) = parse(b"\n".join(plain_lines(fold(*BUSY).open[1])), "set-aside")
    assert event.finished_calls == ["Api.two", "Api.one"]


def test_a_fresh_requeue_takes_nothing_over_but_what_was_asked(fold):
    (event,) = parse(b"\n".join(plain_lines(fold(*BUSY).open[1])), "set-aside")
    assert [body.decode() for body in fresh_bodies(event, 9, "cd", 500)] == [
        '{"event":9,"handler":"busy","args":[7],"kwargs":{"note":"x"},"of":["eu/7"],'
        '"was":1,"nonce":"cd","at":500}',
        '{"requeued":1,"of":["eu/7"],"fresh":9,"at":500}',
    ]
    assert b'"lane":"low","was":1' in fresh_bodies(event, 9, "cd", 500, lane="low")[0]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"x", 1),
        (b"{}", 1),
        (b"[]", 1),
        (b'{"again":1}', 1),
        (b'{"event":1,"handler":"a","args":[]}\n{"telegram":1}', 2),
        (b'{"event":1,"handler":"a","args":[]}\n{"done":1}', 2),
        (b'{"event":1,"handler":"a","args":[]}\n\n{"ok":1}', 3),
        (b'{"event":1,"handler":"a","args":[]}\n{"ok":"1-1"', 2),
        (b'{"event":1,"handler":"a","args":7}', 1),
        (b'{"event":"1","handler":"a","args":[]}', 1),
        (b'{"event":1,"handler":"a","args":[],"colour":"green"}', 1),
        (b'{"event":1,"handler":"a","args":[],"kwargs":[]}', 1),
        (b"\xff\xfe", 1),
        (b'{"event":1,"handler":"a","args":' + b"[" * 100_000, 1),
        (b'{"event":1,"handler":"a","args":[]}\n{"event":1,"handler":"a","args":[]}', 2),
        (b'{"event":1,"handler":"a","args":[]}\n{"again":2}', 2),
        (b'{"event":1,"handler":"a","args":[]}\n{"call":"2-1","fn":"x"}', 2),
        (b'{"event":1,"handler":"a","args":[]}\n{"call":"x","fn":"x"}', 2),
    ],
)
def test_a_line_that_can_t_be_read_is_named_with_file_and_line(content, line):
    with pytest.raises(SetAsideDamaged, match=rf"^agents/Bot/set-aside, line {line}: ") as damaged:
        parse(content, "agents/Bot/set-aside")
    assert "editor" in str(damaged.value.hint)


@pytest.mark.parametrize(
    "gone",
    [
        b'{"call":"1-1","fn":"Api.one","args":[7]}',
        b'{"call":"1-4","fn":"timer","until":120}',
    ],
)
def test_a_requeue_never_writes_a_journal_that_no_start_could_read(fold, gone):
    # A person took a call's line out and left its outcome.
    history = fold(*BUSY).open[1]
    lines = [line for line in plain_lines(history) if line != gone]
    (event,) = parse(b"\n".join(lines), "set-aside")
    with pytest.raises(SetAsideDamaged, match="event 1"):
        requeue_bodies(event, aside_record(history, 1), 500)


def test_a_doubled_outcome_is_refused_before_it_reaches_the_journal(fold):
    history = fold(*BUSY).open[1]
    lines = plain_lines(history)
    (event,) = parse(b"\n".join([*lines, b'{"ok":"1-1","value":8}']), "set-aside")
    with pytest.raises(SetAsideDamaged, match="over before"):
        requeue_bodies(event, aside_record(history, 1), 500)


def test_what_a_crash_cut_off_is_known_beside_what_the_file_shows(fold):
    history = fold(*BUSY).open[1]
    (event,) = parse(b"\n".join(plain_lines(history)), "set-aside")
    assert calls_under_way(event, aside_record(history, 9)) == ["Api.pay", "Api.kill"]


def test_what_was_done_is_known_by_its_outcomes(fold):
    history = fold(*BUSY).open[1]
    (event,) = parse(b"\n".join(plain_lines(history)), "set-aside")
    assert event.outcomes == set(aside_record(history, 9).times)
