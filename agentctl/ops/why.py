"""Who is meant by `why`, and what is said of it.

An event by its address, its call's key or its idempotency key; a schedule by its name; a workflow
by its instance. Invariant: as in `why_events`.
"""

from __future__ import annotations

from typing import TypeAlias

from agentctl.engines.views import AgentView, EventView
from agentctl.errors import NotFound, UsageError
from agentctl.names import Address, parse_call_key
from agentctl.ops.reasons import Ground
from agentctl.ops.schedules import names_hint
from agentctl.ops.step_documents import WhyDocument
from agentctl.ops.views import find_event, newest_of
from agentctl.ops.why_events import why_event
from agentctl.ops.why_schedules import why_schedule
from agentctl.ops.workflows import KEY

Why: TypeAlias = tuple[WhyDocument, tuple[int, str] | None]
"""What is said; and the first damaged line of the journal, as far as which it is true."""


def subject(text: str, name: str | None) -> Address:
    """Read whom a question is about.

    Raises:
        UsageError: it is no address, or an event that is named twice.
    """
    call = parse_call_key(text)
    address = Address.parse(text) if call is None else call[0]
    if address.event is not None and name is not None:
        raise UsageError(
            f"{text!r} names an event, and {name!r} would be another name",
            hint="leave one of them out",
        )
    return address


def why(ground: Ground, address: Address, name: str | None) -> Why:
    """Say why an event or a schedule is where it is, what happens next, and when.

    Raises:
        NotFound: nobody such is known, or no longer.
        UsageError: the address is an instance, and nothing says what of it is meant.
    """
    if name is not None:
        return _named(ground, address, name)
    if address.event is not None:
        return _said(ground, *find_event(ground.desk, address, None))
    view = ground.desk.look(address.agent, ended=True)
    run = newest_of(view, address, KEY)
    if run is None or not run.once:
        raise UsageError(
            f"{str(address)!r} names no event",
            hint=f"write {address}#1 for event 1, or an idempotency key or a schedule's name "
            f"behind it; see what is known: agentctl invocation list {address}",
        )
    return _said(ground, *find_event(ground.desk, run.event, None))


def _said(ground: Ground, event: EventView, view: AgentView) -> Why:
    return why_event(ground, event, view), view.damaged


def _named(ground: Ground, instance: Address, name: str) -> Why:
    """What a name stands for: a schedule that is there, an event's key, a schedule that was."""
    schedule = why_schedule(ground, instance, name)
    if schedule is None or schedule.status == "gone":
        view = ground.desk.look(instance.agent, ended=True)
        event = newest_of(view, instance, name)
        if event is not None:
            return _said(ground, *find_event(ground.desk, event.event, None))
    if schedule is not None:
        return schedule, None
    raise NotFound(
        f"{instance} has neither a schedule {name[:80]!r} nor an event with this key",
        hint=names_hint(ground.desk, instance, name),
    )
