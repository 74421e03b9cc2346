"""Where an event stands, in the words of R8, as its records tell it.

One table for everybody who shows an event. Whether a program holds the folder and what time it is
come in from outside: without a program nothing runs, and a due time comes by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from agentctl.core.keys import path_of
from agentctl.core.lifecycle import Phase
from agentctl.record_steps import AnswerRecord, StepRecord, TriedRecord, WaitingRecord

if TYPE_CHECKING:  # counting needs neither, and they take a while to load
    from agentctl.core.event_history import EventHistory
    from agentctl.records import CallRecord

OpenWord: TypeAlias = Literal["scheduled", "queued", "running", "sleeping", "waiting", "stuck"]

TIMER: Final = "timer"
QUESTION: Final = "question"
ANSWERED: Final = "answered"
"""What has its answer on record, and goes on as soon as it may."""

WAITS: Final = frozenset(["ask", "query", "result", QUESTION])
"""Calls by which an event waits for somebody else's answer."""


@dataclass(frozen=True)
class Pending:
    """What an event that parked waits for.

    Attributes:
        answers: it waits for somebody.
        calls: a call of it is open that a graceful stop cut off.
        until_us: the end of the first of its waits that has one; None if none has.
        since_us: since when it waits for somebody; None if it doesn't.
    """

    answers: bool = False
    calls: bool = False
    until_us: int | None = None
    since_us: int | None = None


OpenCall: TypeAlias = tuple[str, int | None, int]
"""A call without an outcome: what it waits for, until when, and since when."""


def pending_of(open_calls: Iterable[OpenCall]) -> Pending:
    """Sum up an event's calls without an outcome."""
    calls = False
    until_us: int | None = None
    since_us: int | None = None
    for fn, end_us, at_us in open_calls:
        if end_us is not None:
            until_us = end_us if until_us is None else min(until_us, end_us)
        if fn == TIMER:
            continue
        if fn in WAITS:
            since_us = at_us if since_us is None else min(since_us, at_us)
        else:
            calls = True
    return Pending(since_us is not None, calls, until_us, since_us)


def waits_for(call: CallRecord, stands: StepRecord | None) -> OpenCall:
    """What a call without an outcome waits for."""
    match stands:
        case TriedRecord():
            return TIMER, stands.next, stands.at
        case WaitingRecord():
            return QUESTION, stands.until, stands.at
        case AnswerRecord():
            return ANSWERED, None, stands.at
        case _:
            return call.fn, call.until, call.at


def open_calls(event: EventHistory) -> Iterator[CallRecord]:
    """An event's calls that have no outcome yet, in the order in which they were made."""
    return (call for path, call in event.calls.items() if path not in event.ended)


def pending(event: EventHistory) -> Pending:
    """Sum up what an event waits for."""
    steps, asked = event.steps, []
    for call in open_calls(event):
        stands = steps.get(path_of(call.call))
        asked.append(waits_for(call, None if stands is None else stands.last))
    return pending_of(asked)


def state_of(event: EventHistory, *, held: bool, now_us: int) -> OpenWord:
    """Say where an open event stands; `held`: a program holds its agent's folder."""
    waits = pending(event) if event.phase is Phase.PARKED else Pending()
    return word_of(event.phase, event.accepted.due, waits, held=held, now_us=now_us)


def word_of(
    phase: Phase, due_us: int | None, pending: Pending, *, held: bool, now_us: int
) -> OpenWord:
    """Say where an open event stands, from what is known of it.

    | phase     | and                                             | word      |
    |-----------|-------------------------------------------------|-----------|
    | queued    | its due time is still to come                   | scheduled |
    | queued    | else                                            | queued    |
    | executing | a program holds the folder                      | running   |
    | executing | none does: the next start takes it up           | queued    |
    | parked    | it waits for somebody's answer                  | waiting   |
    | parked    | a stop cut a call of it off, or nothing is open | queued    |
    | parked    | only timers are open                            | sleeping  |
    | stuck     |                                                 | stuck     |
    """
    if phase is Phase.QUEUED:
        return "scheduled" if due_us is not None and due_us > now_us else "queued"
    if phase is Phase.EXECUTING:
        return "running" if held else "queued"
    if phase is Phase.STUCK:
        return "stuck"
    if pending.answers:
        return "waiting"
    return "queued" if pending.calls or pending.until_us is None else "sleeping"
