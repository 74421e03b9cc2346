"""`agentctl invocation wait`: wait until an event is where it is wanted."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated

import typer

from agentctl.cli.failures import Failure, write_failure
from agentctl.cli.inputs import duration, states
from agentctl.cli.output import Output
from agentctl.cli.place import find_place
from agentctl.engines.changes import State
from agentctl.engines.views import EventView
from agentctl.ops import documents, places
from agentctl.ops.changes import WaitDocument
from agentctl.ops.invocations import Which, which
from agentctl.ops.waiting import REST, wait_for
from agentctl.times import SystemClock

EXAMPLES = (
    ("agentctl invocation wait Bot#3", "until it is over, or stuck"),
    ("agentctl invocation wait Bot order-7 --timeout 30s", "no longer than that: exit code 124"),
    ("agentctl invocation wait Bot#3 --for sleeping", "until it is in this state"),
)


@dataclass(frozen=True)
class Request:
    """Which event, and what for.

    Attributes:
        states: None waits until it comes to rest.
    """

    meant: Which
    states: frozenset[State] | None
    timeout_s: float | None


def parse(
    *,
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="Bot#3; or an agent, with a KEY")],
    key: Annotated[
        str | None, typer.Argument(metavar="[KEY]", help="the invocation's idempotency key")
    ] = None,
    state: Annotated[
        str | None, typer.Option("--for", metavar="STATE,...", help="left out: over, or stuck")
    ] = None,
    timeout: Annotated[
        str | None,
        typer.Option("--timeout", metavar="DURATION", help="wait no longer; exit code 124"),
    ] = None,
) -> Request:
    """Wait until an event is over or stuck, or in one of the states that are named.

    Prints the state and the event. Exit code 0 if it completed, or is in a state that was named;
    1 if it came to rest otherwise; 4 if the state can't come any more.
    """
    return Request(
        which(agent, key),
        None if state is None else states("--for", state),
        None if timeout is None else duration("--timeout", timeout).total_seconds(),
    )


def execute(request: Request, output: Output) -> int:
    """Wait for it."""
    place = find_place(output)
    desk = places.open_desk(place)
    address = request.meant.address
    places.check_known(place, desk, address.agent)
    try:
        event = wait_for(
            desk,
            (address, request.meant.key),
            REST if request.states is None else request.states,
            clock=SystemClock(),
            pause=time.sleep,
            timeout_s=request.timeout_s,
        )
    except TimeoutError as late:
        failure = _late(late.args[0], request)
        write_failure(failure, output)
        return failure.code
    if output.options.json:
        output.document(documents.encode(WaitDocument(str(event.event), event.key, event.state)))
    else:
        output.line(f"{event.state.value.replace('_', ' ')} {event.event}")
    return int(request.states is None and event.state is not State.COMPLETED)


def _late(event: EventView, request: Request) -> Failure:
    return Failure(
        124,
        f"{event.event} is {event.state.value.replace('_', ' ')} still",
        f"--timeout passed ({request.timeout_s:g} s)",
        f"see where it stands: agentctl invocation show {event.event}",
        str(event.event),
        event.state,
    )
