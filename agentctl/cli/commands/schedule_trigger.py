"""`agentctl schedule trigger`: run a schedule's handler once now."""

from __future__ import annotations

from dataclasses import dataclass

from agentctl.cli.commands.schedule_options import InstanceArgument, NameArgument
from agentctl.cli.filed_text import hinting
from agentctl.cli.output import Output
from agentctl.cli.place import find_place, open_desk
from agentctl.names import Address
from agentctl.ops import documents, places
from agentctl.ops.asking import asker
from agentctl.ops.schedules import instance_of
from agentctl.ops.scheduling import fire_schedule

EXAMPLES = (
    ("agentctl schedule trigger Bot report", "once now, beside its grid; print the new event"),
    ("agentctl schedule trigger Poller/eu tick --json", "the same, for a program"),
)


@dataclass(frozen=True)
class Request:
    """Which schedule."""

    instance: Address
    name: str


def parse(*, agent: InstanceArgument, name: NameArgument) -> Request:
    """Run a schedule's handler once now, with its arguments, as a new event; print its address.

    When the schedule itself is due stays as it was; a paused one can be triggered, too.
    """
    return Request(instance_of(agent), name)


def execute(request: Request, output: Output) -> int:
    """Run it."""
    place = find_place(output)
    desk = open_desk(place, output)
    agent = request.instance.agent
    places.check_known(place, desk, agent)
    with hinting(place, request.instance, request.name):
        event, handler = fire_schedule(
            desk, request.instance, request.name, by=asker(output.environ)
        )
    if output.options.json:
        document = documents.InvokeDocument(event, handler, None, "queued")
        output.document(documents.encode(document))
    else:
        output.line(event)
    if desk.holder(agent) is None:
        output.note(f"it runs with the next start: {place.start_of(agent)}")
    return 0
