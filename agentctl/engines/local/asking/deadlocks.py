"""Seeing that a question would wait for itself, before it is asked (R16).

Two ways lead there: the asked instance is one that waits, up the chain, for the asking event; or
its holder waits, through other questions of this program, for an instance that the asking event,
or one that waits for it, holds. To wait for the outcome of an event that is there already is a
question, too, and that event may have asked already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from agentctl.core.suspicion import EventId
from agentctl.engines.local.events.questions import AskRequest
from agentctl.engines.local.running.agent import AgentRuntime
from agentctl.errors import WouldDeadlock
from agentctl.names import Identity, format_instance
from agentctl.sdk.fields import AgentSpec

Agents: TypeAlias = Mapping[str, AgentRuntime]


class Waits:
    """Which event of this program waits for the answer of which."""

    def __init__(self) -> None:
        self._asked: dict[EventId, list[EventId]] = {}
        self._askers: dict[EventId, list[EventId]] = {}

    @contextmanager
    def between(self, asker: EventId | None, asked: EventId | None) -> Iterator[None]:
        """Note a wait for as long as it lasts."""
        if asker is None or asked is None:
            yield
            return
        self._asked.setdefault(asker, []).append(asked)
        self._askers.setdefault(asked, []).append(asker)
        try:
            yield
        finally:
            _strike(self._asked, asker, asked)
            _strike(self._askers, asked, asker)

    def asked_by(self, event: EventId) -> list[EventId]:
        """The events whose answers it waits for."""
        return self._asked.get(event, [])

    def line(self, event: EventId) -> Iterator[EventId]:
        """The event, and those that wait for it, outwards."""
        line = [event]
        for current in line:
            yield current
            line += [one for one in self._askers.get(current, ()) if one not in line]


def _strike(waits: dict[EventId, list[EventId]], one: EventId, other: EventId) -> None:
    waits[one].remove(other)
    if not waits[one]:
        del waits[one]


def check(agents: Agents, waits: Waits, request: AskRequest, asker: EventId | None) -> None:
    """Refuse a question that would wait for itself.

    Raises:
        WouldDeadlock: it would.
    """
    spec = agents[request.agent].spec
    check_line(spec, request)
    if not _holds(spec, request):
        return
    asked = format_instance(request.agent, request.identity)
    start = [(request.agent, request.identity)]
    if asker is not None and _leads_back(agents, waits, start, asker):
        raise _deadlock(request, asked, "is held by an event that waits for this one")


def check_event(
    agents: Agents, waits: Waits, event: EventId, request: AskRequest, *, asker: EventId
) -> None:
    """Refuse to wait for the outcome of an event that waits for who would wait.

    Raises:
        WouldDeadlock: it does, itself or by those that it asked.
    """
    waited_for: set[EventId] = set()
    blocked_on = _blocked_on(agents, waits, event, waited_for)
    in_a_circle = not waited_for.isdisjoint(waits.line(asker))
    if in_a_circle or _leads_back(agents, waits, blocked_on, asker):
        asked = f"{format_instance(request.agent, request.identity)}#{event[1]}"
        raise _deadlock(request, asked, "waits for who waits for this answer")


def check_line(spec: AgentSpec, request: AskRequest) -> None:
    """Refuse a question to an instance that waits for its answer, as far as the question shows.

    Raises:
        WouldDeadlock: it is one.
    """
    asked = format_instance(request.agent, request.identity)
    if _holds(spec, request) and asked in request.behind:
        raise _deadlock(request, asked, "waits for this answer itself")


def _holds(spec: AgentSpec, request: AskRequest) -> bool:
    """Whether what is asked for needs its instance for itself; not so one whose code is gone."""
    handler = spec.handlers.get(request.handler)
    return handler is not None and handler.exclusive


def _leads_back(
    agents: Agents, waits: Waits, start: Sequence[tuple[str, Identity]], asker: EventId
) -> bool:
    goal = set(waits.line(asker))
    pending = [*start]
    seen: set[EventId] = set()
    while pending:
        agent, identity = pending.pop()
        number = agents[agent].instances.holder(identity)
        if number is None:
            continue
        if (agent, number) in goal:
            return True
        pending += _blocked_on(agents, waits, (agent, number), seen)
    return False


def _blocked_on(
    agents: Agents, waits: Waits, event: EventId, seen: set[EventId]
) -> list[tuple[str, Identity]]:
    """The instances that an event, or one that it waits for, waits to get hold of."""
    found: list[tuple[str, Identity]] = []
    pending = [event]
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        for agent, number in waits.asked_by(current):
            runtime, event_there = agents[agent], agents[agent].open.get(number)
            if event_there is None:
                continue
            accepted = event_there.accepted
            holder = runtime.instances.holder(accepted.of)
            if runtime.exclusive(accepted) and holder != number:
                found.append((agent, accepted.of))
            else:
                pending.append((agent, number))
    return found


def _deadlock(request: AskRequest, asked: str, why: str) -> WouldDeadlock:
    return WouldDeadlock(
        f"{request.from_} asks {asked} for {request.handler}, and {asked} {why}",
        hint="trigger it instead of waiting, or ask an instance that nobody in the line holds",
    )
