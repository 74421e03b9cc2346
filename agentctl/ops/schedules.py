"""Looks at what is to come: schedules by name, and scheduled events.

Invariant: takes no lock, changes nothing, hides secrets. Never computes a due time itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from msgspec import Raw

from agentctl.engines.changes import State
from agentctl.engines.desk import Desk
from agentctl.engines.schedules import ScheduleView
from agentctl.engines.views import EventView
from agentctl.errors import Damaged, NotFound, UsageError
from agentctl.names import Address
from agentctl.nearest import nearest_hint
from agentctl.ops.hidden import hide
from agentctl.ops.instants import moment
from agentctl.ops.schedule_documents import (
    KeptSchedule,
    ScheduleListDocument,
    SchedulesOfAgent,
    SeenSchedule,
)
from agentctl.times import LAST_INSTANT_US, SECOND_US


def list_schedules(
    desk: Desk, chosen: Sequence[tuple[str, Address]], *, show_secrets: bool = False
) -> tuple[ScheduleListDocument, Sequence[Damaged]]:
    """List what is to come, what is due next first, and what is paused last.

    Returns:
        What there is of the agents whose journals can be trusted, and what is wrong with others.
    """
    found: list[_Placed] = []
    troubles: list[Damaged] = []
    for agent, address in chosen:
        try:
            found += _to_come(desk, agent, address, show_secrets=show_secrets)
        except Damaged as error:
            troubles.append(error)
    found.sort(key=lambda each: each[0])
    return ScheduleListDocument(tuple(seen for _, seen in found)), troubles


_Placed: TypeAlias = tuple[tuple[bool, int, str, str], SeenSchedule]
"""A schedule, and what it is sorted by."""


def _to_come(desk: Desk, agent: str, address: Address, *, show_secrets: bool) -> Sequence[_Placed]:
    found: list[_Placed] = []
    for one in schedules_of(desk, agent, address):
        seen = _in_short(one, show_secrets=show_secrets)
        found.append(((one.paused, one.due_us, seen.instance, one.name), seen))
    for event in _scheduled(desk, agent, address):
        due_us = event.next_us or LAST_INSTANT_US
        seen = _event(event, show_secrets=show_secrets)
        found.append(((False, due_us, seen.instance, str(event.event)), seen))
    return found


def schedules_of(desk: Desk, agent: str, address: Address) -> Sequence[ScheduleView]:
    """The schedules of an agent, or of the instance that an address names."""
    if address.event is not None:
        return ()
    return [
        one
        for one in desk.schedules(agent)
        if not address.identity or one.instance.identity == address.identity
    ]


def kept_of(
    desk: Desk, agent: str, address: Address, *, show_secrets: bool = False
) -> SchedulesOfAgent:
    """Read all that is on record of an agent's schedules."""
    kept = (in_full(one, show_secrets=show_secrets) for one in schedules_of(desk, agent, address))
    return SchedulesOfAgent(agent, tuple(kept))


def find_schedule(desk: Desk, instance: Address, name: str) -> ScheduleView:
    """Find one schedule.

    Raises:
        NotFound: there is none of this name; with the nearest.
    """
    there = {one.name: one for one in desk.schedules(instance.agent) if one.instance == instance}
    if name in there:
        return there[name]
    if (event := find_scheduled(desk, instance, name)) is not None:
        hint = f"{name!r} is a single event: agentctl invocation show {event.event}"
    else:
        hint = names_hint(desk, instance, name)
    raise NotFound(f"{instance} has no schedule {name[:80]!r}", hint=hint)


def names_hint(desk: Desk, instance: Address, name: str) -> str:
    """Say what comes near a name that isn't known, or what there is."""
    there = {one.name for one in desk.schedules(instance.agent) if one.instance == instance}
    if there:
        return nearest_hint(name, there, "schedules")
    return f"{instance} has none; see what is to come: agentctl schedule list"


def find_scheduled(desk: Desk, instance: Address, name: str) -> EventView | None:
    """Find a scheduled event of an instance, by its key or its number."""
    for event in _scheduled(desk, instance.agent, instance):
        if event.event.identity == instance.identity and name in (
            event.key,
            str(event.event.event),
            str(event.event),
        ):
            return event
    return None


def instance_of(text: str) -> Address:
    """Read an instance that has schedules.

    Raises:
        UsageError: it is no instance.
    """
    address = Address.parse(text)
    if address.event is not None:
        raise UsageError(
            f"{text!r} is a single event, and no schedule",
            hint=f"see agentctl invocation show {address}; "
            f"cancel it with: agentctl invocation cancel {address}",
        )
    return address


def in_full(view: ScheduleView, *, show_secrets: bool = False) -> KeptSchedule:
    """Show all that is on record of a schedule."""
    return KeptSchedule(
        str(view.instance),
        view.name,
        view.handler,
        Raw(hide(view.args, show_secrets=show_secrets)),
        None if view.kwargs is None else Raw(hide(view.kwargs, show_secrets=show_secrets)),
        moment(view.due_us),
        moment(view.begins_us),
        _seconds(view.period_us),
        view.cron,
        view.tz,
        missed=view.missed,
        overlap=view.overlap,
        jitter_s=view.jitter_us / SECOND_US,
        max_late_s=_seconds(view.late_us),
        source=view.source,
        paused=view.paused,
        set=moment(view.set_us),
        by=view.by or None,
        priority=view.priority,
    )


def _in_short(view: ScheduleView, *, show_secrets: bool) -> SeenSchedule:
    return SeenSchedule(
        view.instance.agent,
        str(view.instance),
        view.name,
        None,
        None,
        view.handler,
        Raw(hide(view.args, show_secrets=show_secrets)),
        moment(view.due_us),
        _seconds(view.period_us),
        view.cron,
        view.tz,
        view.source,
        view.paused,
    )


def _event(event: EventView, *, show_secrets: bool) -> SeenSchedule:
    address = event.event
    return SeenSchedule(
        address.agent,
        str(Address(address.agent, address.identity)),
        None,
        str(address),
        event.key,
        event.handler,
        Raw(hide(event.args, show_secrets=show_secrets)),
        moment(event.next_us),
        None,
        None,
        None,
        None,
        paused=False,
    )


def _scheduled(desk: Desk, agent: str, address: Address) -> Iterator[EventView]:
    for event in desk.look(agent).events:
        named = address.event in (None, event.event.event) and (
            not address.identity or event.event.identity == address.identity
        )
        if named and event.state is State.SCHEDULED:
            yield event


def _seconds(us: int | None) -> float | None:
    return None if us is None else us / SECOND_US
