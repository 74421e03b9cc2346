"""`agentctl set-aside drop`: remove a set-aside event for good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from agentctl.cli.output import Output
from agentctl.cli.place import find_place, open_desk
from agentctl.errors import UsageError
from agentctl.names import check_agent_name
from agentctl.ops import documents, places
from agentctl.ops.requeue import drop, event_number

EXAMPLES = (
    ('agentctl set-aside drop Bot 1 --reason "a test"', "remove event 1; the audit log says why"),
)


@dataclass(frozen=True)
class Request:
    """Which event, and why."""

    agent: str
    event: int
    reason: str


def parse(
    *,
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="whose")],
    event: Annotated[str, typer.Argument(metavar="EVENT", help="its number")],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="why; it is audited")],
) -> Request:
    """Remove a set-aside event for good.

    It never runs again. What it did is undone by nobody.
    """
    if not reason.strip():
        raise UsageError("dropping needs a reason", hint='say why: --reason "tested by hand"')
    return Request(check_agent_name(agent), event_number(event, agent), reason)


def execute(request: Request, output: Output) -> int:
    """Remove it."""
    place = find_place(output)
    desk = open_desk(place, output)
    places.check_known(place, desk, request.agent)
    document = drop(desk, request.agent, request.event, request.reason)
    if output.options.json:
        output.document(documents.encode(document))
    else:
        output.line(f"dropped {document.event}")
    return 0
