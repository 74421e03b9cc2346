"""`agentctl workflow list`: the runs of workflows, and where each stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from agentctl.cli.commands.asking import AgentArgument, NumberOption
from agentctl.cli.events_text import what_next
from agentctl.cli.failures import tell_damage
from agentctl.cli.inputs import states
from agentctl.cli.moments import Moments
from agentctl.cli.output import Output
from agentctl.cli.place import find_place
from agentctl.cli.rows import write_rows
from agentctl.ops import documents, places
from agentctl.ops.step_documents import WorkflowListDocument
from agentctl.ops.views import EventQuery
from agentctl.ops.workflows import in_short, list_workflows, step_to_name
from agentctl.times import SystemClock

EXAMPLES = (
    ("agentctl workflow list", "every workflow that is known, the newest last"),
    ("agentctl workflow list Onboard --status waiting", "those of Onboard that wait for somebody"),
    ("agentctl workflow list --json", "the same for a program"),
)
TITLES: Final = ("workflow", "state", "step", "accepted", "next, or outcome")


@dataclass(frozen=True)
class Request:
    """Whose workflows, and which of them."""

    agent: str | None
    query: EventQuery


def parse(
    *,
    agent: AgentArgument = None,
    status: Annotated[
        list[str] | None,
        typer.Option("--status", metavar="WORD,...", help="only these; may be repeated"),
    ] = None,
    number: NumberOption = None,
) -> Request:
    """List workflows, the newest last: where each stands, its last step, and what comes next.

    Of a failed one the step that failed is named. The words are those of agentctl invocation
    list. A workflow is known until its instance is
    deleted, its steps as long as the event is kept.
    """
    wanted = states("--status", ",".join(status)) if status else frozenset()
    return Request(agent, EventQuery(wanted, number))


def execute(request: Request, output: Output) -> int:
    """List them; what is damaged is said, and gives exit code 6."""
    place = find_place(output)
    desk = places.open_desk(place)
    chosen = places.choose_agents(place, desk, request.agent)
    seen = list_workflows(desk, chosen, request.query)
    damaged = {name: view.damaged for name, view in seen.agents.items()}
    if output.options.json:
        shown = tuple(in_short(event) for event in seen.events)
        output.document(documents.encode(WorkflowListDocument(shown)))
        return tell_damage(damaged, output)
    moments = Moments(SystemClock().now_us(), relative=output.is_terminal)
    rows = []
    for event in seen.events:
        start = None if seen.held(event) else place.start_of(event.event.agent)
        step = step_to_name(event)
        rows.append(
            (
                str(event.event),
                str(event.state),
                "-" if step is None else step.name,
                moments(event.accepted_us),
                what_next(event, moments, start=start),
            )
        )
    write_rows(TITLES, rows, output)
    if not rows and not any(damaged.values()):
        output.note("no such workflow is known")
    return tell_damage(damaged, output)
