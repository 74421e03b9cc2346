"""Finding the event that somebody means, by number, by idempotency key, or by due time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agentctl.core.event_history import EndRecord, EventHistory
from agentctl.core.history import JournalHistory
from agentctl.names import Identity
from agentctl.record_moves import CancelledRecord, MissedRecord
from agentctl.records import DoneRecord

SET_ASIDE: Final = "set_aside"


@dataclass(frozen=True, slots=True)
class Found:
    """An event that was found.

    Attributes:
        event: with its history, as far as that is kept; it is open if it has no end.
        over: how it ended, in R8's words; None of one that is open, or of whose end nothing is
            kept.
        open: it hasn't ended.
    """

    number: int
    of: Identity
    event: EventHistory | None = None
    over: str | None = None
    open: bool = False


def find(
    history: JournalHistory, of: Identity, *, event: int | None, key: str | None
) -> Found | None:
    """Find an event; `of` may be () where a number says it all."""
    if event is None:
        return None if key is None else _by_key(history, of, key)
    found = _by_number(history, event)
    return found if found is None or not of or found.of in (of, ()) else None


def _by_key(history: JournalHistory, of: Identity, key: str) -> Found | None:
    number = history.keys.get((of, key))
    if number is not None:
        return Found(number, of, history.open[number], open=True)
    for aside in history.asides.values():
        if (aside.of, aside.key) == (of, key):
            return Found(aside.aside, of, over=SET_ASIDE)
    outcome = history.outcomes.get((of, key))
    if outcome is None:
        return None
    return Found(outcome.outcome, of, history.kept.events.get(outcome.outcome), outcome.status)


def _by_number(history: JournalHistory, number: int) -> Found | None:
    event = history.open.get(number)
    if event is not None:
        return Found(number, event.accepted.of, event, open=True)
    event = history.kept.events.get(number)
    if event is not None and event.end is not None:
        return Found(number, event.accepted.of, event, status_of(event.end))
    aside = history.asides.get(number)
    if aside is not None:
        return Found(number, aside.of, over=SET_ASIDE)
    outcome = history.outcomes.of_event(number)
    if outcome is not None:
        return Found(number, outcome.of, over=outcome.status)
    return Found(number, ()) if 0 < number < history.next_event else None


def find_occurrence(
    history: JournalHistory, of: Identity, name: str, due_us: int | None
) -> EventHistory | None:
    """Find the event that a schedule made at a due time, while it is open or kept."""
    if due_us is None:
        return None
    made = [history.open[number] for number in history.fired.get((of, name), ())]
    for event in (*made, *history.kept.events.values()):
        accepted = event.accepted
        if (accepted.schedule, accepted.occurrence, accepted.of) == (name, due_us, of):
            return event
    return None


def status_of(end: EndRecord) -> str:
    """How an event ended, in R8's words."""
    if isinstance(end, DoneRecord):
        return "completed"
    if isinstance(end, MissedRecord):
        return "missed"
    return "cancelled" if isinstance(end, CancelledRecord) else "failed"
