"""How the attempts of steps and calls went, as the records of an event tell it."""

from __future__ import annotations

from collections.abc import Sequence

from agentctl.core.attempts import Attempt, attempts_of
from agentctl.core.event_history import EventHistory
from agentctl.records import EventRecord, decode, decode_kind

EVENT = b'{"event":1,"handler":"run","args":[],"at":1}'
BEGUN = [
    b'{"start":1,"at":1}',
    b'{"call":"1-1","fn":"Shop.pay","at":2}',
    b'{"ok":"1-1","value":3,"at":3}',
    b'{"call":"1-2","fn":"step","step":"charge","at":4}',
]
TRIED = [
    b'{"tried":"1-2","attempt":1,"type":"OSError","text":"down","next":9,"at":5}',
    b'{"attempt":"1-2","n":2,"at":9}',
]


def history(*lines: bytes) -> EventHistory:
    accepted = decode(EVENT)
    assert isinstance(accepted, EventRecord)
    event = EventHistory(accepted, EVENT)
    for line in lines:
        kind, record = decode_kind(line)
        event.fold(kind, record, line)  # type: ignore[arg-type]
    return event


def charge(*lines: bytes) -> Sequence[Attempt]:
    found = attempts_of(history(*BEGUN, *lines))
    assert set(found) == {"2"}, "a call that was made once has nothing to tell"
    return found["2"]


def test_an_event_without_steps_or_retries_has_none() -> None:
    assert attempts_of(history(*BEGUN[:3])) == {}


def test_the_first_attempt_starts_with_the_step() -> None:
    assert charge() == [Attempt(1, 4)]
    assert charge(b'{"ok":"1-2","value":1,"at":8}') == [Attempt(1, 4, 8)]


def test_each_attempt_has_its_own_beginning_end_and_error() -> None:
    first = Attempt(1, 4, 5, "OSError", "down")
    assert charge(*TRIED[:1]) == [first]
    assert charge(*TRIED) == [first, Attempt(2, 9)]
    failed = b'{"error":"1-2","type":"shop.No","text":"never","at":12}'
    assert charge(*TRIED, failed) == [first, Attempt(2, 9, 12, "shop.No", "never")]


def test_a_wait_for_an_input_is_part_of_its_attempt() -> None:
    waits = b'{"waiting":"1-2","text":"so?","type":"str","attempt":2,"at":10}'
    answered = b'{"answer":"1-2","value":"yes","at":11}'
    ended = b'{"ok":"1-2","value":1,"at":12}'
    assert charge(*TRIED, waits, answered, ended)[1] == Attempt(2, 9, 12)


def test_an_attempt_that_a_crash_cut_off_is_begun_once() -> None:
    assert charge(*TRIED, b'{"again":1,"at":20}', b'{"attempt":"1-2","n":2,"at":21}') == [
        Attempt(1, 4, 5, "OSError", "down"),
        Attempt(2, 21),
    ]


def test_what_a_retry_makes_anew_counts_anew() -> None:
    failed = [
        b'{"error":"1-2","type":"shop.No","at":12}',
        b'{"failed":1,"type":"shop.No","calls":["1-2"],"at":13}',
        b'{"retry":1,"undo":["1-2"],"at":30}',
    ]
    assert charge(*TRIED, *failed) == [Attempt(1, 30)]
    again = [b'{"start":1,"at":31}', b'{"ok":"1-2","value":1,"at":32}']
    assert charge(*TRIED, *failed, *again) == [Attempt(1, 30, 32)]


def test_what_was_called_anew_after_a_retry_has_the_attempts_of_that_call() -> None:
    failed = b'{"failed":1,"type":"OSError","calls":["1-2"],"at":13}'
    retried = [
        b'{"error":"1-2","type":"OSError","at":12}',
        failed,
        b'{"retry":1,"forget":["1-2"],"at":30}',
        b'{"start":1,"at":31}',
        b'{"call":"1-2","fn":"step","step":"charge","at":32}',
    ]
    assert charge(*TRIED, *retried) == [Attempt(1, 32)]
    again = [
        b'{"tried":"1-2","attempt":1,"type":"OSError","text":"down","next":39,"at":35}',
        b'{"attempt":"1-2","n":2,"at":39}',
    ]
    done = b'{"ok":"1-2","value":1,"at":42}'
    assert charge(*TRIED, *retried, *again, done) == [
        Attempt(1, 32, 35, "OSError", "down"),
        Attempt(2, 39, 42),
    ]
    twice = [*TRIED, *retried, *again, b'{"error":"1-2","type":"OSError","at":42}', *retried[1:]]
    assert charge(*twice) == [Attempt(1, 32)]


def test_a_call_that_was_tried_again_is_told_of_too() -> None:
    pay = [
        b'{"call":"1-3","fn":"Shop.pay","at":5}',
        b'{"tried":"1-3","attempt":1,"type":"OSError","next":9,"at":6}',
    ]
    assert attempts_of(history(*BEGUN, *pay))["3"] == [Attempt(1, 5, 6, "OSError")]
