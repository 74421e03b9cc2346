"""`agentctl approval list`: what waits for a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import typer

from agentctl.cli import redrawing
from agentctl.cli.commands.asking import AgentArgument
from agentctl.cli.failures import tell_damage
from agentctl.cli.moments import Moments
from agentctl.cli.output import Output, columns
from agentctl.cli.place import find_place
from agentctl.cli.rows import fitting, write_rows
from agentctl.engines.desk import Desk
from agentctl.names import Address
from agentctl.ops import documents, places
from agentctl.ops.approvals import Open, open_inputs
from agentctl.times import SystemClock

EXAMPLES = (
    ("agentctl approval list", "every question that waits, what has waited longest first"),
    ("agentctl approval list Bot --json", "those of Bot, for a program"),
    ("agentctl approval list --watch", "the same on a screen that is kept up to date"),
)
TITLES: Final = ("call", "type", "asked", "until", "question")


@dataclass(frozen=True)
class Request:
    """Whose questions, and whether to go on looking."""

    agent: str | None
    watch: bool


def parse(
    *,
    agent: AgentArgument = None,
    watch: Annotated[bool, typer.Option("--watch", help="go on looking, every second")] = False,
) -> Request:
    """List what waits for a person or a webhook: questions of handlers, and steps that wait.

    A yes-or-no question (bool) is answered with agentctl approval approve or deny, any other with
    agentctl invocation resume.
    """
    return Request(agent, watch)


def execute(request: Request, output: Output) -> int:
    """List it; what is damaged is said, and gives exit code 6."""
    place = find_place(output)
    desk = places.open_desk(place)
    chosen = places.choose_agents(place, desk, request.agent)
    if request.watch:
        return _watch(desk, chosen, output)
    found = open_inputs(desk, chosen)
    if output.options.json:
        output.document(documents.encode(found.document()))
    else:
        write_rows(TITLES, _rows(found, output), output)
        if not found.inputs and not any(view.damaged for view in found.agents.values()):
            output.note("nothing waits for a person")
    return tell_damage({name: view.damaged for name, view in found.agents.items()}, output)


def _watch(desk: Desk, chosen: Sequence[tuple[str, Address]], output: Output) -> int:
    if output.is_terminal:

        def draw() -> None:
            for line in fitting(TITLES, _rows(open_inputs(desk, chosen), output), output):
                output.line(line)

        return redrawing.watch(draw, output)

    def lines() -> Sequence[str]:
        found = open_inputs(desk, chosen)
        if output.options.json:
            return [documents.encode(found.document()).decode()]
        return [columns(row) for row in _rows(found, output)]

    return redrawing.watch_lines(lines, output)


def _rows(found: Open, output: Output) -> list[Sequence[str]]:
    moments = Moments(SystemClock().now_us(), relative=output.is_terminal)
    return [
        (one.key, one.type, moments(one.since_us), moments(one.until_us), one.text)
        for _, one in found.inputs
    ]
