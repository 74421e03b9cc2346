"""R23: a rewrite keeps exactly what is needed: open events, states, keyed outcomes, `aside`s."""

from __future__ import annotations

from agentctl.core.audit_trail import AuditTrail
from agentctl.core.compaction import RETENTION_US, compacted
from agentctl.core.history import JournalHistory
from agentctl.core.lifecycle import Phase
from agentctl.records import Header, decode, kind_of

NOW_US = 1_000_000_000_000_000


def rewritten(history, now_us=NOW_US):
    header = Header(1, "Bot", "ab", history.next_event, open=len(history.open), at=now_us)
    return compacted(history, header)


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


def test_k11_ended_events_go_and_numbers_go_on(fold):
    ended = [line for n in range(1, 1001) for line in (*event(n), f'{{"done":{n}}}')]
    bodies = rewritten(fold(*ended))
    assert len(bodies) == 1
    assert read(bodies).next_event == 1001


def test_the_records_of_an_open_event_stay_byte_for_byte(fold):
    history = fold(*event(1), '{"done":1}', *event(2), '{"failed":2,"type":"x.Y"}', *OPEN)
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
    history = fold(*event(1, key='"k"'), f'{{"done":1,"value":7,"at":{NOW_US}}}')
    kept = rewritten(history, NOW_US + RETENTION_US - 1)
    assert [kind_of(body) for body in kept] == ["journal", "outcome"]
    assert read(kept).outcomes[(), "k"].outcome == 1
    assert len(rewritten(read(kept), NOW_US + RETENTION_US)) == 1


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
