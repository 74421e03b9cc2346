"""A journal says what each event has done; an order that no program writes is damage."""

from __future__ import annotations

import pytest

from agentctl.core.lifecycle import ALLOWED, Phase
from agentctl.records import KINDS

EVENT = '{"event":1,"handler":"request","args":[7],"nonce":"ab","at":10}'
START = '{"start":1,"at":20}'
CALL = '{"call":"1-1","fn":"Payments.refund","args":[7],"at":20}'
OK = '{"ok":"1-1","value":"r7","at":30}'
TIMER = '{"call":"1-2","fn":"timer","until":99,"at":30}'
BUG = '{"bug":1,"text":"KeyError: 1"}'
ASIDE = '{"aside":1,"handler":"request","starts":3,"nonce":"ab"}'
KEYED = '{"event":1,"handler":"request","args":[7],"of":["x"],"key":"k","digest":"d"}'


def test_an_event_remembers_what_it_asked_for_and_what_came_of_it(fold):
    event = fold(EVENT, START, CALL, OK, TIMER, '{"parked":1}').open[1]
    assert list(event.calls) == ["1", "2"]
    assert [path for path, _ in event.deliveries] == ["1"]
    open_calls = [call.call for path, call in event.calls.items() if path not in event.ended]
    assert open_calls == ["1-2"]
    assert event.phase is Phase.PARKED
    assert event.started_us == 20
    assert len(event.bodies) == 6


def test_an_event_that_ended_is_open_no_more_and_its_number_is_not_used_again(fold):
    history = fold(EVENT, START, '{"done":1,"value":"r7","at":40}')
    assert not history.open
    assert history.next_event == 2
    assert history.latest_us == 40


def test_r16_state_is_committed_with_the_end_and_by_instance(fold):
    history = fold(
        '{"event":1,"handler":"poll","args":[],"of":["a"]}',
        '{"event":2,"handler":"poll","args":[],"of":["b"]}',
        *('{"start":1,"at":1}', '{"start":2,"at":1}'),
        '{"done":1,"state":{"failures":3}}',
        '{"failed":2,"type":"x.Y"}',
    )
    assert {of: bytes(one.state) for of, one in history.states.items()} == {
        ("a",): b'{"failures":3}'
    }


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ('{"done":1,"value":7,"at":9}', "completed"),
        ('{"failed":1,"type":"x.Y","args":["t"]}', "failed"),
    ],
)
def test_r17_the_outcome_of_a_keyed_event_is_kept(fold, end, status):
    history = fold(KEYED, START, end)
    outcome = history.outcomes[("x",), "k"]
    assert (outcome.outcome, outcome.status, outcome.digest) == (1, status, "d")


@pytest.mark.parametrize(
    "lines",
    [
        # the header is the first record, and only it
        ['{"journal":1,"agent":"Bot","id":"ab","next":1}'],
        # nothing happens to an event that isn't there
        [START],
        [CALL],
        [OK],
        ['{"parked":1}'],
        ['{"again":1}'],
        [BUG],
        ['{"done":1}'],
        ['{"failed":1,"type":"x.Y"}'],
        ['{"drop":1,"reason":"r"}'],
        ['{"requeued":1}'],
        # a number stands for one event
        [EVENT, EVENT],
        [EVENT, START, '{"done":1}', EVENT],
        ['{"event":5,"handler":"request","args":[]}', '{"event":4,"handler":"request","args":[]}'],
        # an event begins before it asks or ends
        [EVENT, CALL],
        [EVENT, '{"done":1}'],
        [EVENT, '{"failed":1,"type":"x.Y"}'],
        [EVENT, '{"parked":1}'],
        # a call is asked for once, and ends once
        [EVENT, START, CALL, CALL],
        [EVENT, START, CALL, OK, OK],
        [EVENT, START, CALL, OK, '{"error":"1-1","type":"x.Y"}'],
        [EVENT, START, CALL, OK, '{"dropped":"1-1"}'],
        [EVENT, START, CALL, '{"dropped":"1-1"}', OK],
        [EVENT, START, OK],
        [EVENT, START, '{"dropped":"1-1"}'],
        [EVENT, START, '{"fired":"1-1"}'],
        # a timer fires, a call returns
        [EVENT, START, CALL, '{"fired":"1-1"}'],
        [EVENT, START, TIMER, '{"ok":"1-2"}'],
        [EVENT, START, TIMER, '{"error":"1-2","type":"x.Y"}'],
        # what is stuck does nothing until it starts again
        [EVENT, START, BUG, CALL],
        [EVENT, START, BUG, '{"done":1}'],
        [EVENT, START, CALL, BUG, OK],
        # an event that is set aside is open no more
        [EVENT, START, ASIDE, CALL],
        [EVENT, START, ASIDE, '{"done":1}'],
        [EVENT, START, ASIDE, '{"drop":1,"reason":"r"}', '{"drop":1,"reason":"r"}'],
        # a requeue is committed by its last line, and ends nothing before that
        [EVENT, START, ASIDE, '{"requeued":1}'],
        [EVENT, START, ASIDE, EVENT, START, '{"done":1}'],
        # keys of calls are keys
        [EVENT, START, '{"call":"1","fn":"x"}'],
        [EVENT, START, '{"call":"1-","fn":"x"}'],
        [EVENT, START, '{"call":"-1","fn":"x"}'],
        [EVENT, START, '{"call":"x-1","fn":"x"}'],
        [EVENT, START, '{"call":"1-x","fn":"x"}'],
        [EVENT, START, '{"call":"1-1..2","fn":"x"}'],
        [EVENT, START, '{"call":"99999999999999999999999-1","fn":"x"}'],
        # instants are ones that can be written down
        ['{"event":1,"handler":"request","args":[],"at":-1}'],
        ['{"event":1,"handler":"request","args":[],"at":999999999999999999}'],
    ],
    ids=lambda lines: " ".join(line[1:12] for line in lines),
)
def test_an_order_of_records_that_no_program_writes_is_refused(fold, lines):
    with pytest.raises(ValueError, match=r".+"):
        fold(*lines)


def test_a_journal_without_its_header_is_refused(fold):
    with pytest.raises(ValueError, match="header"):
        fold(EVENT, header=None)


@pytest.mark.parametrize("phase", Phase)
def test_the_table_of_what_may_follow_names_kinds_that_exist(phase):
    assert ALLOWED[phase] <= set(KINDS)


def test_r10_starts_without_a_new_result_are_counted_and_a_result_begins_anew(fold):
    lines = [EVENT, START]
    assert fold(*lines).open[1].starts == 1
    lines += ['{"again":1,"alone":true}']
    assert (fold(*lines).open[1].starts, fold(*lines).open[1].alone) == (2, True)
    lines += [CALL, OK]
    assert (fold(*lines).open[1].starts, fold(*lines).open[1].alone) == (0, False)
    assert fold(*lines, '{"again":1}').open[1].starts == 1


def test_r10_a_second_start_record_of_the_same_run_is_no_second_start(fold):
    # A parked event that goes on writes `start` again: it was resumed, not started over.
    assert fold(EVENT, START, TIMER, '{"parked":1}', START).open[1].starts == 1
    assert fold(EVENT, START, TIMER, '{"parked":1}', START).open[1].started_us == 20


@pytest.mark.parametrize(
    ("last", "stopping"), [('{"stopping":1}', True), ('{"stop":1}', True), (START, False)]
)
def test_r12_a_start_knows_whether_the_program_before_it_stopped(fold, last, stopping):
    assert fold(EVENT, last).stopping is stopping


def test_r10_a_requeue_without_its_last_line_was_not_written(fold):
    lines = [EVENT, START, CALL, ASIDE, EVENT, START, CALL, OK]
    half = fold(*lines)
    assert not half.open
    assert list(half.asides) == [1]
    whole = fold(*lines, '{"requeued":1,"lines":4}')
    assert not whole.asides
    event = whole.open[1]
    assert (event.phase, event.starts, list(event.calls)) == (Phase.QUEUED, 0, ["1"])


def test_r10_a_second_try_of_a_requeue_takes_nothing_from_the_first(fold):
    event = fold(
        *(EVENT, START, ASIDE, EVENT, START, CALL),
        *(EVENT, START, CALL, OK, '{"requeued":1,"lines":4}'),
    ).open[1]
    assert [path for path, _ in event.deliveries] == ["1"]


def test_r10_a_fresh_requeue_is_a_new_event_and_the_old_one_is_gone(fold):
    history = fold(
        EVENT,
        START,
        ASIDE,
        '{"event":2,"handler":"request","args":[8]}',
        '{"requeued":1,"fresh":2}',
    )
    assert list(history.open) == [2]
    assert not history.asides
    assert history.next_event == 3


def test_a_header_s_next_number_holds_although_nothing_stands_behind_it(fold):
    header = '{"journal":1,"agent":"Bot","id":"ab","next":10001}'
    assert fold(header=header).next_event == 10001


def test_what_a_rewrite_carried_over_keeps_its_old_numbers(fold):
    header = '{"journal":1,"agent":"Bot","id":"ab","next":9,"kept":3}'
    history = fold(
        ASIDE, EVENT.replace(":1,", ":4,", 1), START.replace(":1,", ":4,"), header=header
    )
    assert list(history.open) == [4]
    assert history.next_event == 9


def test_r17_outcomes_are_forgotten_by_age_although_a_key_was_used_anew(fold):
    events = [
        f'{{"event":{n},"handler":"h","args":[],"key":"{key}","at":{n}}}'
        for n, key in enumerate("aba", 1)
    ]
    ends = [f'{{"cancelled":{n},"at":{n}}}' for n in (1, 2, 3)]
    history = fold(*(line for pair in zip(events, ends, strict=True) for line in pair))
    history.outcomes.forget_before(3)
    assert [one.outcome for one in history.outcomes.values()] == [3]


@pytest.mark.parametrize("do", ["invoke", "schedule"])
def test_r16_an_answer_whose_event_or_schedule_was_cut_off_does_not_count(fold, do):
    history = fold(f'{{"answered":"k","do":"{do}","value":{{}},"owed":true,"at":9}}')
    history.end()
    assert history.answer_to("k") is None


def test_r18_an_answer_with_its_schedule_counts(fold):
    answered = '{"answered":"k","do":"schedule","value":{},"owed":true,"at":9}'
    history = fold(answered, '{"schedule":"tick","handler":"request","due":99,"at":9}')
    history.end()
    assert history.answer_to("k") is not None
