"""Looks at agents: which events, one event, which instances, one instance, whose lock.

Invariant: takes no lock, changes nothing, hides secrets. Never decides in which state an event is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import Raw, structs

from agentctl.engines.changes import OVER, State
from agentctl.engines.desk import Desk
from agentctl.engines.step_views import AttemptView, StepView
from agentctl.engines.views import AgentView, CallView, EventView, HolderView
from agentctl.errors import NotFound
from agentctl.names import Address
from agentctl.ops.hidden import hide
from agentctl.ops.instants import moment
from agentctl.ops.schedules import kept_of
from agentctl.ops.step_documents import SeenAttempt, SeenStep
from agentctl.ops.view_documents import (
    AgentsDocument,
    InstanceDocument,
    InstancesOfAgent,
    InvocationDocument,
    LockDocument,
    SeenCall,
    SeenHolder,
    SeenInstance,
    SeenInvocation,
    SeenKey,
    SeenLock,
)


@dataclass(frozen=True)
class EventQuery:
    """Which events.

    Attributes:
        states: only these; none named means all.
        last: so many at the end; None is all.
    """

    states: frozenset[State] = frozenset()
    last: int | None = None


@dataclass(frozen=True)
class Seen:
    """Events in the order of their acceptance, and the agents that they are of, by name."""

    events: Sequence[EventView]
    agents: dict[str, AgentView]

    def held(self, event: EventView) -> bool:
        """Whether a program holds the folder of the event's agent."""
        return self.agents[event.event.agent].holder is not None


def list_events(desk: Desk, chosen: Sequence[tuple[str, Address]], query: EventQuery) -> Seen:
    """List the events of some agents, or of the instances that are named; the newest last.

    Raises:
        FormatTooNew: a later version wrote a journal.
    """
    ended = not query.states or bool(query.states & OVER)
    agents = {name: desk.look(name, ended=ended) for name, _ in chosen}
    events = [
        event
        for name, address in chosen
        for event in agents[name].events
        if _is_named(event, address) and (not query.states or event.state in query.states)
    ]
    events.sort(key=lambda one: (_since_us(one), one.event.event or 0, one.event))
    if query.last is not None:
        events = events[max(0, len(events) - query.last) :]
    return Seen(events, agents)


def _is_named(event: EventView, address: Address) -> bool:
    if address.event is not None and event.event.event != address.event:
        return False
    return not address.identity or event.event.identity == address.identity


def _since_us(event: EventView) -> int:
    return event.accepted_us or event.ended_us or 0


def backing_off(event: EventView) -> CallView | None:
    """The call whose next attempt an event sleeps until, if that is what it does."""
    if event.state is not State.SLEEPING or event.next_us is None:
        return None
    return next((call for call in event.calls if call.next_us == event.next_us), None)


def under_way(event: EventView) -> Sequence[CallView]:
    """The calls that are being made, of an event that executes; also again, with an input."""
    return [
        call
        for call in event.calls
        if call.state in ("open", "answered") and call.ended_us is None and call.next_us is None
    ]


def find_event(desk: Desk, address: Address, key: str | None) -> tuple[EventView, AgentView]:
    """Find one event, by its number or by its idempotency key.

    Raises:
        NotFound: nobody such is known, or no longer.
    """
    view = desk.look(address.agent, ended=True)
    newest = newest_of(view, address, key)
    if newest is None:
        what = str(address) if key is None else f"{address} {key}"
        raise NotFound(
            f"{what} isn't known: it never was, or is no longer kept",
            hint=f"see what is known: agentctl invocation list {address.agent}; "
            f"and what ended: agentctl inspect audit {address.agent}",
        )
    return _with_places(desk, newest), view


def newest_of(view: AgentView, address: Address, key: str | None) -> EventView | None:
    """The event of this number, or the newest of this key: one that was cancelled is used anew."""
    found = [
        event
        for event in view.events
        if (event.event.event == address.event if key is None else event.key == key)
        and (not address.identity or event.event.identity == address.identity)
        and (key is None or event.event.identity == address.identity)
    ]
    return max(found, key=lambda event: event.event.event or 0, default=None)


def _with_places(desk: Desk, event: EventView) -> EventView:
    """Say of calls that are being made where their code stands, if the program tells."""
    inside = desk.inside(event.event.agent) if event.state is State.RUNNING else None
    if inside is None:
        return event
    places = {call.key: call.where for call in inside.calls}
    calls = [
        structs.replace(call, where=places.get(call.key)) if call.state == "open" else call
        for call in event.calls
    ]
    return structs.replace(event, calls=calls)


def instances_of(desk: Desk, chosen: Sequence[tuple[str, Address]]) -> AgentsDocument:
    """List what is kept of each instance, and when it is next due.

    Raises:
        JournalDamaged, FormatTooNew: what a journal says can't be trusted.
    """
    return AgentsDocument(
        tuple(
            InstancesOfAgent(
                name,
                tuple(
                    SeenInstance(
                        str(one.instance), one.state_bytes, one.open, moment(one.next_due_us)
                    )
                    for one in desk.instances(name)
                    if not address.identity or one.instance.identity == address.identity
                ),
            )
            for name, address in chosen
        )
    )


def find_instance(
    desk: Desk, address: Address, *, show_secrets: bool = False
) -> tuple[InstanceDocument, Seen]:
    """Find one instance: its state, its keys, its open events, its schedules.

    Raises:
        NotFound: nothing is kept of it.
        JournalDamaged, FormatTooNew: what the journal says can't be trusted.
    """
    found = [one for one in desk.instances(address.agent) if one.instance == address]
    if not found:
        raise _no_instance(desk, address)
    one = found[0]
    query = EventQuery(frozenset(State) - OVER)
    seen = list_events(desk, [(address.agent, address)], query)
    events = [event for event in seen.events if event.event.identity == address.identity]
    document = InstanceDocument(
        str(address),
        None if one.state is None else Raw(hide(one.state, show_secrets=show_secrets)),
        tuple(SeenKey(key.key, str(key.event), str(key.state)) for key in one.keys),
        tuple(in_short(event) for event in events),
        kept_of(desk, address.agent, address, show_secrets=show_secrets).schedules,
    )
    return document, Seen(events, seen.agents)


def _no_instance(desk: Desk, address: Address) -> NotFound:
    """What is known of an instance of which there is nothing but ended events."""
    ended = list_events(desk, [(address.agent, address)], EventQuery())
    events = [one for one in ended.events if one.event.identity == address.identity]
    if not events:
        return NotFound(
            f"nothing is kept of {address}: no state, no key, no open event, no schedule",
            hint=f"see what is: agentctl agent list {address.agent}",
        )
    are = "1 ended event is" if len(events) == 1 else f"{len(events)} ended events are"
    return NotFound(
        f"{address} has no state, no key and no open event; {are} kept",
        hint=f"see: agentctl invocation list {address}",
    )


def locks_of(desk: Desk, agents: Sequence[str]) -> LockDocument:
    """Read the locks of some agents."""
    locks = (desk.lock(agent) for agent in agents)
    return LockDocument(
        tuple(SeenLock(one.agent, one.path, one.held, seen_holder(one.note)) for one in locks)
    )


# -- views as documents


def seen_holder(holder: HolderView | None) -> SeenHolder | None:
    """Show who holds a folder."""
    if holder is None:
        return None
    return SeenHolder(holder.pid, holder.host, holder.command, holder.since)


def in_short(event: EventView) -> SeenInvocation:
    """Show an event in a list."""
    backing = backing_off(event)
    return SeenInvocation(
        str(event.event),
        str(event.state),
        event.handler,
        event.key,
        moment(event.accepted_us),
        moment(event.ended_us),
        moment(event.next_us),
        event.waits_for,
        event.text or None,
        event.cancelling,
        event.schedule,
        moment(event.due_us),
        None if backing is None else backing.attempts[-1].n + 1,
        event.inputs[0].text if event.inputs else None,
    )


def in_full(event: EventView, *, show_secrets: bool = False) -> InvocationDocument:
    """Show all that is on record of an event."""

    def shown(json: bytes | None) -> Raw | None:
        return None if json is None else Raw(hide(json, show_secrets=show_secrets))

    return InvocationDocument(
        str(event.event),
        str(event.state),
        event.handler,
        event.key,
        shown(event.args) or Raw(b"[]"),
        shown(event.kwargs),
        accepted=moment(event.accepted_us),
        started=moment(event.started_us),
        ended=moment(event.ended_us),
        next=moment(event.next_us),
        waits_for=event.waits_for,
        asked_by=event.from_,
        starts=event.starts,
        result=shown(event.value),
        type=event.type,
        text=event.text or None,
        line=event.line,
        records=event.records,
        calls=tuple(_seen_call(call, show_secrets=show_secrets) for call in event.calls),
        cancelling=event.cancelling,
        schedule=event.schedule,
        due=moment(event.due_us),
        priority=event.priority,
        steps=tuple(seen_step(one, show_secrets=show_secrets) for one in event.steps),
    )


def _seen_call(call: CallView, *, show_secrets: bool) -> SeenCall:
    outcome = call.outcome
    if outcome is not None and call.state in ("ok", "answered"):
        outcome = hide(outcome.encode(), show_secrets=show_secrets).decode()
    return SeenCall(
        call.key,
        call.fn,
        call.state,
        None if call.args is None else Raw(hide(call.args, show_secrets=show_secrets)),
        outcome,
        moment(call.at_us),
        moment(call.ended_us),
        moment(call.until_us),
        call.where,
        call.about,
        call.by,
        tuple(map(_seen_attempt, call.attempts)),
        moment(call.next_us),
        None if call.kwargs is None else Raw(hide(call.kwargs, show_secrets=show_secrets)),
    )


def seen_step(step: StepView, *, show_secrets: bool = False) -> SeenStep:
    """Show a step."""
    value = None if step.value is None else hide(step.value, show_secrets=show_secrets)
    return SeenStep(
        step.name,
        step.key,
        step.state,
        step.attempts[-1].n,
        moment(step.next_us),
        step.error,
        None if value is None else Raw(value),
        step.asks,
        tuple(map(_seen_attempt, step.attempts)),
    )


def _seen_attempt(attempt: AttemptView) -> SeenAttempt:
    return SeenAttempt(attempt.n, moment(attempt.at_us), moment(attempt.ended_us), attempt.error)
