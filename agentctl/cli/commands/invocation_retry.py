"""`agentctl invocation retry`: run a stuck or a failed event again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from agentctl.cli.output import Output
from agentctl.cli.place import find_place, open_desk
from agentctl.ops import documents, places
from agentctl.ops.asking import asker
from agentctl.ops.invocations import Which, retry, which

EXAMPLES = (
    ("agentctl invocation retry Bot#3", "run stuck or failed event 3 again, with its calls"),
    ("agentctl invocation retry Bot order-7", "the one that was invoked with this key"),
    (
        "agentctl invocation retry Bot#3 --accept-divergence",
        "keep its record only up to the call that differs",
    ),
)


@dataclass(frozen=True)
class Request:
    """Which event, and what of its record stays."""

    meant: Which
    accept_divergence: bool


def parse(
    *,
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="Bot#3; or an agent, with a KEY")],
    key: Annotated[
        str | None, typer.Argument(metavar="[KEY]", help="the invocation's idempotency key")
    ] = None,
    accept_divergence: Annotated[
        bool,
        typer.Option("--accept-divergence", help="give up the record from the differing call on"),
    ] = False,
) -> Request:
    """Run a stuck or a failed event again, under its number.

    Its recorded calls are kept; of a failed one the failing call is made again. See agentctl help
    again.
    """
    return Request(which(agent, key), accept_divergence)


def execute(request: Request, output: Output) -> int:
    """Queue it again."""
    place = find_place(output)
    desk = open_desk(place, output)
    agent = request.meant.address.agent
    places.check_known(place, desk, agent)
    document = retry(
        desk,
        request.meant,
        accept_divergence=request.accept_divergence,
        by=asker(output.environ),
    )
    if output.options.json:
        output.document(documents.encode(document))
    else:
        output.line(f"retried {document.event}")
        if desk.holder(agent) is None:
            output.note(f"runs with the next start: {place.start_of(agent)}")
    for call in document.again:
        output.note(f"made before, is made again: {call}")
    return 0
