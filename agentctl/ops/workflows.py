"""Looks at workflows: the events of their runs, each with its steps; and cancels one.

A workflow's run is an event whose outcome stays until its instance is deleted. Invariant: as in
`views`; what cancels one is what cancels any event.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from msgspec import Raw

from agentctl.engines.changes import State
from agentctl.engines.desk import Desk
from agentctl.engines.step_views import StepView
from agentctl.engines.views import AgentView, EventView
from agentctl.errors import NotFound
from agentctl.names import Address
from agentctl.ops.hidden import hide
from agentctl.ops.instants import moment
from agentctl.ops.invocations import Which
from agentctl.ops.step_documents import SeenWorkflow, WorkflowDocument
from agentctl.ops.views import EventQuery, Seen, list_events, newest_of, seen_step

KEY: Final = "run"
"""The idempotency key of a workflow's run."""


def list_workflows(desk: Desk, chosen: Sequence[tuple[str, Address]], query: EventQuery) -> Seen:
    """List the runs of workflows; the newest last.

    Raises:
        FormatTooNew: a later version wrote a journal.
    """
    seen = list_events(desk, chosen, replace(query, last=None))
    runs = [event for event in seen.events if event.once]
    if query.last is not None:
        runs = runs[max(0, len(runs) - query.last) :]
    return Seen(runs, seen.agents)


def find_workflow(desk: Desk, address: Address) -> tuple[EventView, AgentView]:
    """Find a workflow by its instance, or by its event.

    Raises:
        NotFound: it never ran, or was deleted; or the event is no workflow's.
    """
    view = desk.look(address.agent, ended=True)
    event = _run_of(view, address)
    if event is None:
        raise NotFound(
            f"there is no workflow {address}: it never ran, or was deleted",
            hint=f"see which there are: agentctl workflow list {address.agent}",
        )
    return event, view


def which_run(desk: Desk, address: Address) -> Which:
    """Say which event a workflow's cancellation is about.

    Raises:
        NotFound: there is such an event, and it is no workflow's.
    """
    _run_of(desk.look(address.agent, ended=True), address)
    return Which(address, KEY if address.event is None else None)


def _run_of(view: AgentView, address: Address) -> EventView | None:
    event = newest_of(view, address, KEY if address.event is None else None)
    if event is None or event.once:
        return event
    raise NotFound(
        f"{event.event} is no run of a workflow",
        hint=f"it is an event as others: agentctl invocation show {event.event}",
    )


def step_to_name(event: EventView) -> StepView | None:
    """The step that tells where a run stands: the last one; of a failed run the one that failed.

    What undoes steps failed after that one, and is named only if no step failed.
    """
    if event.state is State.FAILED:
        failed = [step for step in event.steps if step.state == "failed"]
        if failed:
            return next((one for one in reversed(failed) if not one.undoes), failed[-1])
    return event.steps[-1] if event.steps else None


def in_short(event: EventView) -> SeenWorkflow:
    """Show a workflow in a list."""
    last = step_to_name(event)
    return SeenWorkflow(
        str(replace(event.event, event=None)),
        str(event.event),
        str(event.state),
        None if last is None else last.name,
        None if last is None else last.state,
        sum(not step.undoes for step in event.steps),
        moment(event.accepted_us),
        moment(event.ended_us),
        moment(event.next_us),
        event.inputs[0].text if event.inputs else None,
        event.text or None,
    )


def in_full(event: EventView, *, show_secrets: bool = False) -> WorkflowDocument:
    """Show a workflow with its steps."""
    value = None if event.value is None else hide(event.value, show_secrets=show_secrets)
    return WorkflowDocument(
        str(replace(event.event, event=None)),
        str(event.event),
        str(event.state),
        accepted=moment(event.accepted_us),
        started=moment(event.started_us),
        ended=moment(event.ended_us),
        next=moment(event.next_us),
        waits_for=event.waits_for,
        result=None if value is None else Raw(value),
        type=event.type,
        text=event.text or None,
        cancelling=event.cancelling,
        steps=tuple(seen_step(one, show_secrets=show_secrets) for one in event.steps),
    )
