"""What a cancellation and a retry do to an event's history, and when they can't come."""

from __future__ import annotations

import pytest

from agentctl.core.event_history import CANCEL
from agentctl.core.lifecycle import Phase

EVENT = '{"event":1,"handler":"h","args":[],"key":"k","from":"Boss-1-1","asker":"cd"}'
START = '{"start":1,"at":1}'
CALL = '{"call":"1-1","fn":"x","args":[]}'
OTHER = '{"call":"1-2","fn":"x","args":[]}'
OK = '{"ok":"1-1","value":7}'
ERROR = '{"error":"1-1","type":"x.Y"}'
DROPPED = '{"dropped":"1-2"}'
PARKED = '{"parked":1}'
CANCELLING = '{"cancel":1,"by":"ana","reason":"why","at":5}'
CANCELLED = '{"cancelled":1,"ran":true}'
FAILED = '{"failed":1,"type":"x.Y","calls":["1-1"]}'
BUG = '{"bug":1,"text":"KeyError"}'
RETRY = '{"retry":1}'
DONE = '{"done":1}'


def test_r20_a_cancellation_stands_among_the_deliveries_where_it_came(fold):
    event = fold(EVENT, START, CALL, OTHER, OK, CANCELLING, DROPPED).open[1]
    assert [path for path, _ in event.deliveries] == ["1", CANCEL]
    assert (event.cancel.by, event.cancel.reason) == ("ana", "why")
    assert event.phase is Phase.EXECUTING


def test_r20_a_parked_event_stays_parked_until_it_cleans_up(fold):
    assert fold(EVENT, START, CALL, PARKED, CANCELLING).open[1].phase is Phase.PARKED


@pytest.mark.parametrize(
    "lines", [[EVENT], [EVENT, START], [EVENT, START, CALL, PARKED], [EVENT, START, BUG]]
)
def test_r8_whatever_is_open_can_end_cancelled_and_its_key_knows(fold, lines):
    history = fold(*lines, '{"cancelled":1}')
    assert (history.open, history.keys, history.asked) == ({}, {}, {})
    assert history.outcomes[(), "k"].status == "cancelled"
    assert history.kept.untold == {("Boss-1-1", "cd"): 1}


def test_r8_a_failed_event_that_is_retried_is_open_again_under_its_key_and_its_asker(fold):
    history = fold(EVENT, START, CALL, ERROR, FAILED, RETRY)
    event = history.open[1]
    assert (event.phase, event.end, event.starts, event.begun) == (Phase.QUEUED, None, 0, False)
    assert history.keys == {((), "k"): 1}
    assert history.asked == {("Boss-1-1", "cd"): 1}
    assert (history.outcomes, history.kept.events, history.kept.untold) == ({}, {}, {})
    assert event.started_us == 1, "its first now() stays"


def test_r8_what_is_undone_has_no_outcome_and_what_is_forgotten_was_never_asked_for(fold):
    retry = '{"retry":1,"undo":["1-1"],"forget":["1-2"]}'
    event = fold(EVENT, START, CALL, ERROR, OTHER, DROPPED, FAILED, retry).open[1]
    assert (list(event.calls), event.deliveries) == (["1"], [])
    assert (event.ended, event.dropped) == (set(), set())


def test_r8_it_may_ask_anew_for_what_was_forgotten_and_hear_anew_of_what_was_undone(fold):
    retry = '{"retry":1,"undo":["1-1"],"forget":["1-2"]}'
    lines = [EVENT, START, CALL, ERROR, OTHER, FAILED, retry, START, OK, OTHER, DROPPED, DONE]
    history = fold(*lines)
    assert history.outcomes[(), "k"].status == "completed"
    assert len(history.kept.events[1].bodies) == len(lines)


def test_r8_a_stuck_event_that_is_retried_is_queued_and_knows_of_no_bug(fold):
    event = fold(EVENT, START, CALL, OK, BUG, RETRY).open[1]
    assert (event.phase, event.bug, event.starts) == (Phase.QUEUED, None, 0)
    assert [path for path, _ in event.deliveries] == ["1"]


@pytest.mark.parametrize(
    "lines",
    [
        # only what runs, or stands somewhere, has anything to clean up
        [EVENT, CANCELLING],
        [EVENT, START, BUG, CANCELLING],
        [EVENT, START, CANCELLING, CANCELLING],
        [CANCELLING],
        # an end is the end
        [EVENT, START, DONE, CANCELLING],
        [EVENT, START, DONE, '{"cancelled":1}'],
        [EVENT, START, CANCELLING, CANCELLED, CANCELLED],
        [EVENT, START, CANCELLING, CANCELLED, DONE],
        # only what is stuck or failed is retried
        [EVENT, RETRY],
        [EVENT, START, RETRY],
        [EVENT, START, CALL, PARKED, RETRY],
        [EVENT, START, DONE, RETRY],
        [EVENT, START, CANCELLING, CANCELLED, RETRY],
        [RETRY],
        [EVENT, START, CALL, ERROR, FAILED, RETRY, RETRY],
        # and only from calls that it made
        [EVENT, START, CALL, ERROR, FAILED, '{"retry":1,"undo":["1-9"]}'],
        [EVENT, START, CALL, ERROR, FAILED, '{"retry":1,"forget":["1-9"]}'],
        [EVENT, START, CALL, ERROR, OTHER, FAILED, '{"retry":1,"forget":["1-2"]}', START, DROPPED],
    ],
    ids=lambda lines: " ".join(line[1:9] for line in lines),
)
def test_an_order_of_records_that_no_program_writes_is_refused(fold, lines):
    with pytest.raises(ValueError, match=r".+"):
        fold(*lines)


def test_a_deleted_instance_leaves_its_numbers_and_nothing_else(fold):
    other = '{"event":2,"handler":"h","args":[],"of":["b"],"key":"k"}'
    history = fold(
        EVENT.replace('"key"', '"of":["a"],"key"'), START, '{"done":1,"state":{"n":1}}',
        other, '{"start":2,"at":1}', '{"done":2,"state":{"n":2}}',
        '{"deleted":["a"]}',
    )  # fmt: skip
    assert list(history.states) == [("b",)]
    assert list(history.outcomes) == [(("b",), "k")]
    assert history.next_event == 3


def test_an_answer_is_found_by_its_id_and_old_ones_are_forgotten(fold):
    def answered(name, at):
        return f'{{"answered":"{name}","do":"retry","value":{{}},"at":{at}}}'

    history = fold(answered("a", 0), answered("b", 1_000_000), answered("c", 60_500_000))
    assert list(history.answered) == ["b", "c"]
    assert bytes(history.answered["c"].value) == b"{}"
