"""Seeing that a question would wait for itself, before it is asked (R16).

Two ways lead there: the asked instance is one that waits, up the chain, for the asking event; or
its holder waits, through other questions of this program, for an instance that the asking event,
or one that waits for it, holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
        self._askers: dict[EventId, EventId] = {}

    @contextmanager
    def between(self, asker: EventId | None, asked: EventId | None) -> Iterator[None]:
        """Note a wait for as long as it lasts."""
        if asker is None or asked is None:
            yield
            return
        self._asked.setdefault(asker, []).append(asked)
        self._askers[asked] = asker
        try:
            yield
        finally:
            self._askers.pop(asked, None)
            self._asked[asker].remove(asked)
            if not self._asked[asker]:
                del self._asked[asker]

    def asked_by(self, event: EventId) -> list[EventId]:
        """The events whose answers it waits for."""
        return self._asked.get(event, [])

    def line(self, event: EventId) -> Iterator[EventId]:
        """The event, and those that wait for it, outwards."""
        current: EventId | None = event
        while current is not None:
            yield current
            current = self._askers.get(current)


def check(agents: Agents, waits: Waits, request: AskRequest, asker: EventId | None) -> None:
    """Refuse a question that would wait for itself.

    Raises:
        WouldDeadlock: it would.
    """
    spec = agents[request.agent].spec
    check_line(spec, request)
    if not spec.handlers[request.handler].exclusive:
        return
    asked = format_instance(request.agent, request.identity)
    if asker is not None and _leads_back(agents, waits, (request.agent, request.identity), asker):
        raise _deadlock(request, asked, "is held by an event that waits for this one")


def check_line(spec: AgentSpec, request: AskRequest) -> None:
    """Refuse a question to an instance that waits for its answer, as far as the question shows.

    Raises:
        WouldDeadlock: it is one.
    """
    asked = format_instance(request.agent, request.identity)
    if spec.handlers[request.handler].exclusive and asked in request.behind:
        raise _deadlock(request, asked, "waits for this answer itself")


def _leads_back(agents: Agents, waits: Waits, start: tuple[str, Identity], asker: EventId) -> bool:
    goal = set(waits.line(asker))
    pending = [start]
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
