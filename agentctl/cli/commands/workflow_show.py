"""`agentctl workflow show`: one workflow, with its steps and their attempts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeAlias

import typer

from agentctl.cli.commands.asking import SecretsOption
from agentctl.cli.commands.invocation_show import Told
from agentctl.cli.moments import Moments
from agentctl.cli.output import Output, columns
from agentctl.cli.place import find_place
from agentctl.cli.rows import write_pairs, write_rows
from agentctl.cli.steps_text import STEP_TITLES, step_rows
from agentctl.names import Address
from agentctl.ops import documents, places
from agentctl.ops.workflows import find_workflow, in_full
from agentctl.times import SystemClock

EXAMPLES = (
    ("agentctl workflow show Onboard/ana", "the workflow of ana: its steps and their attempts"),
    ("agentctl workflow show Onboard#1 --json", "the one that is event 1, for a program"),
)
WorkflowArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="WORKFLOW", help='Onboard/ana, Onboard("ana"), or Onboard#7')
]


@dataclass(frozen=True)
class Request:
    """Which workflow."""

    address: Address
    show_secrets: bool


def parse(*, workflow: WorkflowArgument, show_secrets: SecretsOption = False) -> Request:
    """Show one workflow: where it stands, and each attempt of each step, what undoes one included.

    Where only its outcome is kept, that is shown.
    """
    return Request(Address.parse(workflow), show_secrets)


def execute(request: Request, output: Output) -> int:
    """Show it."""
    place = find_place(output)
    desk = places.open_desk(place)
    places.check_known(place, desk, request.address.agent)
    event, view = find_workflow(desk, request.address)
    if output.options.json:
        output.document(documents.encode(in_full(event, show_secrets=request.show_secrets)))
        return 0
    moments = Moments(SystemClock().now_us(), relative=output.is_terminal)
    told = Told(moments, show_secrets=request.show_secrets)
    start = None if view.holder is not None else place.start_of(event.event.agent)
    write_pairs(list(told.about(event, start=start)), output)
    rows = list(step_rows(event, moments, show_secrets=request.show_secrets))
    if rows and output.is_terminal:
        output.line("")
        write_rows(STEP_TITLES, rows, output)
    else:
        for row in rows:
            output.line(columns(("step", *row)))
    return 0
