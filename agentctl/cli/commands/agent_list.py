"""`agentctl agent list`: instances, and what is kept of each."""

from __future__ import annotations

from dataclasses import dataclass

from agentctl.cli.commands.asking import AgentArgument
from agentctl.cli.moments import Moments, size_of
from agentctl.cli.output import Output
from agentctl.cli.place import find_place
from agentctl.cli.rows import write_rows
from agentctl.ops import documents, places
from agentctl.ops.instants import parse_instant
from agentctl.ops.views import instances_of
from agentctl.times import SystemClock

EXAMPLES = (
    ("agentctl agent list", "every instance, with its state's size and its open events"),
    ("agentctl agent list Bot --json", "those of Bot, for a program"),
)
TITLES = ("instance", "state", "open", "next due")


@dataclass(frozen=True)
class Request:
    """Whose instances."""

    agent: str | None


def parse(*, agent: AgentArgument = None) -> Request:
    """List instances: how large the state of each is, its open events, and when it is next due.

    An instance is known as long as it has state, an open event, a schedule or a remembered key.
    """
    return Request(agent)


def execute(request: Request, output: Output) -> int:
    """List them."""
    place = find_place(output)
    desk = places.open_desk(place)
    document = instances_of(desk, places.choose_agents(place, desk, request.agent))
    if output.options.json:
        output.document(documents.encode(document))
        return 0
    shown = output.is_terminal
    moments = Moments(SystemClock().now_us(), relative=shown)
    rows = [
        (
            one.instance,
            size_of(one.state_bytes) if shown else str(one.state_bytes),
            str(one.open),
            "-" if one.next_due is None else moments(parse_instant(one.next_due)),
        )
        for agent in document.agents
        for one in agent.instances
    ]
    write_rows(TITLES, rows, output)
    if not rows:
        output.note("nothing is kept of any instance")
    return 0
