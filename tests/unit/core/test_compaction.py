"""What a rewritten journal takes along of what is over, how long, and that numbers go on."""

from __future__ import annotations

import msgspec
import pytest

from agentctl.core.audit_trail import AuditTrail
from agentctl.core.compaction import KEEP_ALL, Keeping, compacted
from agentctl.core.history import ANSWERS_KEPT_US, JournalHistory
from agentctl.core.lifecycle import Phase
from agentctl.records import decode, kind_of

NOW_US = 1_000_000_000_000_000
DAY_US = 86_400_000_000


def rewritten(history, now_us=NOW_US, keeping=KEEP_ALL):
    header = msgspec.structs.replace(
        history.header, next=history.next_event, open=len(history.open), at=now_us
    )
    return compacted(history, header, keeping)


def keeping(number):
    """The header of an agent that keeps so many ended events."""
    return f'{{"journal":1,"agent":"Bot","id":"ab","next":1,"keep":{number}}}'


NOTHING = keeping(0)


def numbers(bodies, kind="event"):
    """The events that are there, in their order."""
    return [getattr(decode(body), kind) for body in bodies if kind_of(body) == kind]


def read(bodies, trail=None):
    history = JournalHistory(trail)
    for body in bodies:
        history.fold(kind_of(body), decode(body), body)
    return history


def event(number, **members):
    more = "".join(f',"{name}":{value}' for name, value in members.items())
    return f'{{"event":{number},"handler":"h","args":[]{more}}}', f'{{"start":{number},"at":1}}'


OPEN = [
    *event(3, nonce='"cd"'),
    '{"call":"3-1","fn":"x","args":[],"at":1}',
    '{"ok":"3-1","value":{"b":1,"a":[1.0]},"at":2}',
    '{"call":"3-2","fn":"timer","until":99,"at":2}',
    '{"parked":3}',
]


def many(count):
    return [line for n in range(1, count + 1) for line in (*event(n), f'{{"done":{n}}}')]


def test_k11_with_keep_0_ended_events_go_and_numbers_go_on(fold):
    bodies = rewritten(fold(*many(1000), header=NOTHING))
    assert len(bodies) == 1
    assert read(bodies).next_event == 1001


def test_k11_the_last_hundred_that_ended_stay_byte_for_byte_and_numbers_go_on(fold):
    ended = many(1000)
    bodies = rewritten(fold(*ended))
    assert [body.decode() for body in bodies[1:]] == ended[-300:]
    again = read(bodies)
    assert (again.next_event, list(again.kept.events)) == (1001, list(range(901, 1001)))
    assert rewritten(again)[1:] == bodies[1:]


def test_the_last_ones_are_those_that_ended_last_in_the_order_of_their_ends(fold):
    lines = (*event(1), *event(2), *event(3), '{"done":2}', '{"done":3}', '{"done":1}')
    assert numbers(rewritten(fold(*lines, header=keeping(2)))) == [3, 1]


FAILED = f'{{"failed":1,"type":"x.Y","at":{NOW_US}}}'


@pytest.mark.parametrize(("days", "stays"), [(29, [1]), (30, []), (31, [])])
def test_r17_a_failed_event_stays_for_its_time_beyond_the_last_ones(fold, days, stays):
    history = fold(*event(1), FAILED, *event(2), '{"done":2}', header=NOTHING)
    for_30_days = Keeping(keep_failed_us=30 * DAY_US)
    assert numbers(rewritten(history, NOW_US + days * DAY_US, for_30_days)) == stays


def test_r17_of_failed_ones_at_most_a_thousand_stay(fold):
    lines = [line for n in range(1, 1003) for line in (*event(n), f'{{"failed":{n},"type":"x.Y"}}')]
    assert numbers(rewritten(fold(*lines, header=NOTHING))) == list(range(3, 1003))


ASKED = {"from": '"Boss-1-1"', "asker": '"cd"'}
TOLD = '{"told":"Boss-1-1","event":1}'


def test_r16_what_another_agent_asked_for_stays_until_it_has_the_answer(fold):
    lines = [*event(1, **ASKED), '{"done":1}', *many(3)[3:]]
    untold = rewritten(fold(*lines, header=NOTHING))
    assert numbers(untold) == [1]
    assert numbers(rewritten(read(untold), NOW_US * 2)) == [1], "however long"
    assert len(rewritten(fold(*lines, TOLD, header=NOTHING))) == 1


def test_r16_that_it_has_the_answer_is_known_after_a_rewrite_too(fold):
    history = read(rewritten(fold(*event(1, **ASKED), '{"done":1}', header=NOTHING)))
    told = TOLD.encode()
    history.fold("told", decode(told), told)
    assert len(rewritten(history)) == 1


def test_r16_an_answer_that_was_told_is_not_awaited_again_while_its_event_is_kept(fold):
    lines = [*event(1, **ASKED), '{"done":1}', TOLD]
    history = read(rewritten(fold(*lines, header=keeping(1))))
    assert numbers(rewritten(history)) == [1]
    assert history.event_for(("Boss-1-1", "cd")) is None
    for body in (line.encode() for line in (*event(2), '{"done":2}')):
        history.fold(kind_of(body), decode(body), body)
    assert numbers(rewritten(history)) == [2], "nobody is waiting for the answer of 1"


def test_an_answer_is_remembered_for_a_minute(fold):
    answered = f'{{"answered":"x","do":"retry","value":{{}},"at":{NOW_US}}}'
    history = fold(answered)
    kept = rewritten(history, NOW_US + ANSWERS_KEPT_US - 1)
    assert [body.decode() for body in kept[1:]] == [answered]
    assert read(kept).answered["x"].do == "retry"
    assert len(rewritten(history, NOW_US + ANSWERS_KEPT_US)) == 1


def test_an_end_that_was_carried_over_brings_back_no_state_and_no_outcome(fold):
    history = fold(
        *event(1, of='["a"]', key='"k"'), '{"done":1,"state":{"n":1}}', '{"deleted":["a"]}'
    )
    again = read(rewritten(history))
    assert (again.states, again.outcomes, list(again.kept.events)) == ({}, {}, [1])


def test_a_cancelled_and_a_retried_event_read_the_same_after_a_rewrite(fold):
    history = fold(
        *event(1), '{"cancel":1,"by":"ana"}', '{"cancelled":1,"ran":true}',
        *event(2), '{"call":"2-1","fn":"x"}', '{"error":"2-1","type":"x.Y"}',
        '{"failed":2,"type":"x.Y","calls":["2-1"]}', '{"retry":2,"undo":["2-1"]}',
    )  # fmt: skip
    bodies = rewritten(history)
    again = read(bodies)
    assert again.kept.events[1].cancel.by == "ana"
    assert (again.open[2].phase, again.open[2].deliveries) == (Phase.QUEUED, [])
    assert rewritten(again)[1:] == bodies[1:]


def test_the_records_of_an_open_event_stay_byte_for_byte(fold):
    history = fold(*event(1), '{"done":1}', *event(2), '{"cancelled":2}', *OPEN, header=NOTHING)
    bodies = rewritten(history)
    assert [body.decode() for body in bodies[1:]] == OPEN
    again = read(bodies)
    assert again.header.kept == len(OPEN)
    assert again.open[3].phase is Phase.PARKED
    assert rewritten(again)[1:] == bodies[1:]


def test_the_last_state_of_each_instance_stays(fold):
    history = fold(
        *event(1, of='["a"]'), '{"done":1,"state":{"n":1}}',
        *event(2, of='["a"]'), '{"done":2,"state":{"n":2}}',
        *event(3, of='["b"]'), '{"done":3,"state":{"n":3}}',
        *event(4, of='["b"]'), '{"done":4}',
        header=NOTHING,
    )  # fmt: skip
    bodies = rewritten(history)
    assert [body.decode() for body in bodies[1:]] == [
        '{"state":{"n":2},"of":["a"]}',
        '{"state":{"n":3},"of":["b"]}',
    ]
    assert {of: bytes(one.state) for of, one in read(bodies).states.items()} == {
        ("a",): b'{"n":2}',
        ("b",): b'{"n":3}',
    }


def test_r17_the_outcome_of_a_keyed_event_stays_for_its_time_and_no_longer(fold):
    history = fold(*event(1, key='"k"'), f'{{"done":1,"value":7,"at":{NOW_US}}}', header=NOTHING)
    week = Keeping(retention_us=7 * DAY_US)
    kept = rewritten(history, NOW_US + 7 * DAY_US - 1, week)
    assert [kind_of(body) for body in kept] == ["journal", "outcome"]
    assert read(kept).outcomes[(), "k"].outcome == 1
    assert len(rewritten(read(kept), NOW_US + 7 * DAY_US, week)) == 1


def test_what_lies_in_set_aside_keeps_what_set_aside_does_not_show(fold):
    aside = (
        '{"aside":1,"handler":"h","starts":3,"nonce":"ab",'
        '"times":{"1-1":7},"extra":[{"dropped":"1-2"}]}'
    )
    bodies = rewritten(fold(*event(1), aside))
    assert [body.decode() for body in bodies[1:]] == [aside]
    assert read(bodies).next_event == 2


def test_what_a_person_dropped_or_requeued_fresh_leaves_nothing(fold):
    aside = '{"aside":1,"handler":"h","starts":3,"nonce":"ab"}'
    dropped = fold(*event(1), aside, '{"drop":1,"reason":"r"}')
    assert len(rewritten(dropped)) == 1


def test_a_requeue_without_its_last_line_leaves_the_event_set_aside(fold):
    aside = '{"aside":1,"handler":"h","starts":3,"nonce":"ab"}'
    half = fold(*event(1), aside, *event(1))
    assert [kind_of(body) for body in rewritten(half)] == ["journal", "aside"]


def test_r12_that_an_event_was_cut_off_by_a_stop_and_no_crash_outlives_the_rewrite(fold):
    stopped = read(rewritten(fold(*event(1), '{"stop":1}')))
    assert not stopped.stopping
    assert stopped.open[1].phase is Phase.PARKED
    crashed = read(rewritten(fold(*event(1))))
    assert crashed.open[1].phase is Phase.EXECUTING


def test_r10_starts_are_counted_on_across_rewrites(fold):
    once = read(rewritten(fold(*event(1), '{"again":1,"alone":true}')))
    assert (once.open[1].starts, once.open[1].alone) == (2, True)


def test_a_bug_is_still_known_after_a_rewrite(fold):
    once = read(rewritten(fold(*event(1), '{"bug":1,"text":"KeyError: 1","line":"a.py:3"}')))
    assert once.open[1].phase is Phase.STUCK
    assert once.open[1].bug.line == "a.py:3"


def test_r15_what_was_carried_over_is_not_audited_again(fold):
    trail = AuditTrail(None)
    history = fold(*event(1), '{"done":1}', *OPEN, trail=trail)
    assert numbers(rewritten(history)) == [1, 3]
    assert len(trail.missing) == 4  # the header, two acceptances, one completion
    again = AuditTrail(None)
    read(rewritten(history), again)
    assert [line.split(" ", 2)[2] for line in again.missing] == ["started: 1 event unfinished"]


def test_r15_a_log_is_completed_behind_its_last_line(fold):
    whole = AuditTrail(None)
    fold(*event(1), '{"done":1,"at":7}', trail=whole)
    for written in range(1, len(whole.missing) + 1):
        trail = AuditTrail(whole.missing[written - 1])
        fold(*event(1), '{"done":1,"at":7}', trail=trail)
        assert trail.missing == whole.missing[written:]
