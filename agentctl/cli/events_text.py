"""Events in words: what comes next for one, and the rows of a list.

Never decides in which state an event is, and never shows a recorded secret.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agentctl.cli.failures import error_text
from agentctl.cli.moments import Moments
from agentctl.engines.changes import State
from agentctl.engines.views import CallView, EventView
from agentctl.ops.hidden import hide
from agentctl.ops.places import Place
from agentctl.ops.views import Seen, backing_off, under_way

TITLES: Final = ("event", "state", "handler", "key", "accepted", "next, or outcome")
_LONGEST: Final = 200
_ENDS: Final = {
    State.COMPLETED: "result",
    State.FAILED: "error",
    State.CANCELLED: "reason",
    State.MISSED: "reason",
}


def rows_of(seen: Seen, moments: Moments, place: Place) -> list[Sequence[str]]:
    """One row an event: event, state, handler, key, when it was accepted, what comes next."""

    def start(event: EventView) -> str | None:
        return None if seen.held(event) else place.start_of(event.event.agent)

    return [
        (
            str(event.event),
            str(event.state),
            event.handler,
            event.key or "-",
            moments(event.accepted_us),
            what_next(event, moments, start=start(event)),
        )
        for event in seen.events
    ]


def name_of_next(event: EventView) -> str:
    """Name what `what_next` says."""
    return _ENDS.get(event.state, "next")


def what_next(event: EventView, moments: Moments, *, start: str | None) -> str:
    """Say in a few words why an event stands where it does, and what comes next.

    Args:
        start: how to start a program for it; None where one holds its folder.
    """
    said = _next(event, moments, start)
    return f"cancelling: {said}" if event.cancelling else said


def _next(event: EventView, moments: Moments, start: str | None) -> str:
    agent = event.event.agent
    match event.state:
        case State.SCHEDULED:
            return _due("due", event, moments, start)
        case State.SLEEPING if (call := backing_off(event)) is not None:
            return _backing_off(call, event, moments, start)
        case State.SLEEPING:
            return _due("goes on", event, moments, start)
        case State.WAITING if event.inputs:
            first = event.inputs[0]
            return _short(f"{first.key} asks: {first.text} ({first.type})")
        case State.WAITING:
            return f"waits for {event.waits_for or 'an answer'}"
        case State.QUEUED if start is not None:
            return f"needs a program: {start}"
        case State.QUEUED:
            return f"waits for {event.waits_for or 'its turn'}"
        case State.RUNNING:
            return _under_way(event, moments)
        case State.STUCK:
            return _short(f"runs again at the next start: {event.text}")
        case State.SET_ASIDE:
            return f"agentctl requeue set-aside {agent} {event.event.event}"
        case State.COMPLETED:
            return _short("-" if event.value is None else hide(event.value).decode())
        case _:
            return _short(error_text(event.type, event.text) or "-")


def _due(word: str, event: EventView, moments: Moments, start: str | None) -> str:
    if not moments.is_past(event.next_us):
        return f"{word} {moments(event.next_us)}"
    was = f"was due {moments(event.next_us)}"
    return was if start is None else f"{was}; needs a program: {start}"


def _backing_off(call: CallView, event: EventView, moments: Moments, start: str | None) -> str:
    attempt = f"backing off, attempt {call.attempts[-1].n + 1}"
    if moments.is_past(event.next_us):
        return f"{attempt} {_due('', event, moments, start)}"
    return f"{attempt} {moments.at(event.next_us or 0)}"


def _under_way(event: EventView, moments: Moments) -> str:
    """The call that it waits for longest; a call that hangs is seen by its age."""
    calls = under_way(event)
    if not calls:
        return "executes"
    first = min(calls, key=lambda call: call.at_us)
    more = f", and {len(calls) - 1} more" if len(calls) > 1 else ""
    last = first.attempts[-1] if first.attempts else None
    if last is not None and last.n > 1:
        return f"in {first.fn}, attempt {last.n}, begun {moments(last.at_us)}{more}"
    return f"in {first.fn}, called {moments(first.at_us)}{more}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
