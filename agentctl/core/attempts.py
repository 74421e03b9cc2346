"""How the attempts of an event's steps and calls went, as its records tell it.

Pure. A call that was never tried again and is no step has one attempt, and isn't told of. What
came before a retry that makes a call anew is no longer told of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from agentctl.core.event_history import EventHistory
from agentctl.core.keys import path_of
from agentctl.record_moves import RetryRecord
from agentctl.record_steps import AttemptRecord, TriedRecord
from agentctl.records import ErrorRecord, decode, kind_of


class Attempt(NamedTuple):
    """One try of a call; they count from 1.

    Attributes:
        ended_us: None as long as it is under way, or needs an input.
        type, text: of the error that it failed with.
    """

    n: int
    at_us: int
    ended_us: int | None = None
    type: str | None = None
    text: str = ""


def attempts_of(event: EventHistory) -> Mapping[str, Sequence[Attempt]]:
    """The attempts of each step, and of each call that was tried again, by path, in order."""
    found = {
        path: [Attempt(1, call.at)]
        for path, call in event.calls.items()
        if call.step is not None or path in event.steps
    }
    if not found:
        return found
    for body in event.bodies:
        if kind_of(body) in _TELL:
            _take(found, decode(body), event)
    for path, outcome in event.deliveries:
        if path in found:
            failed = outcome if isinstance(outcome, ErrorRecord) else None
            _end(found[path], outcome.at, failed)
    return found


_TELL: Final = frozenset(["tried", "attempt", "retry"])


def _take(found: dict[str, list[Attempt]], record: object, event: EventHistory) -> None:
    match record:
        case TriedRecord(tried=call) if path_of(call) in found:
            _end(found[path_of(call)], record.at, record)
        case AttemptRecord(attempt=call, n=n, at=at_us) if path_of(call) in found:
            attempts = found[path_of(call)]
            if attempts[-1].ended_us is None:  # a retry has begun it, or a start
                attempts.pop()
            attempts.append(Attempt(n, at_us))
        case RetryRecord(undo=again, forget=gone, at=at_us):
            for path in found.keys() & {*map(path_of, again)}:
                found[path] = [Attempt(1, at_us)]
            for path in found.keys() & {*map(path_of, gone)}:  # it was called anew behind this
                found[path] = [Attempt(1, event.calls[path].at)]


def _end(attempts: list[Attempt], at_us: int, failed: TriedRecord | ErrorRecord | None) -> None:
    """The last attempt ended; it failed, unless nothing is said of that."""
    type_, text = (None, "") if failed is None else (failed.type, failed.text)
    attempts[-1] = attempts[-1]._replace(ended_us=at_us, type=type_, text=text)
