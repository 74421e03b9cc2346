"""`agentctl schedule cancel`: cancel one schedule."""

from __future__ import annotations

from dataclasses import dataclass

from agentctl.cli.commands.schedule_options import InstanceArgument, NameArgument
from agentctl.cli.output import Output, plain
from agentctl.cli.place import find_place, open_desk
from agentctl.core.lifecycle import Cancellation
from agentctl.engines.desk import Desk
from agentctl.names import Address
from agentctl.ops import documents, places
from agentctl.ops.asking import asker
from agentctl.ops.invocations import EXIT_CODES
from agentctl.ops.schedules import find_scheduled, instance_of, names_hint
from agentctl.ops.scheduling import cancel_schedule

EXAMPLES = (
    ("agentctl schedule cancel Bot report", "it fires no more; what it has made already stays"),
    ("agentctl schedule cancel 'Poller(\"eu\")' tick", "that of one instance"),
)


@dataclass(frozen=True)
class Request:
    """Which schedule."""

    instance: Address
    name: str


def parse(*, agent: InstanceArgument, name: NameArgument) -> Request:
    """Cancel one schedule; the answer is a word of its own.

    cancelled and already cancelled: exit 0. unknown: 3. What kavach.toml sets would be set again by
    the next start: take it out there, or pause it. Events that it has made already stay: agentctl
    invocation cancel.
    """
    return Request(instance_of(agent), name)


def execute(request: Request, output: Output) -> int:
    """Cancel it."""
    place = find_place(output)
    desk = open_desk(place, output)
    instance = request.instance
    places.check_known(place, desk, instance.agent)
    document = cancel_schedule(desk, instance, request.name, by=asker(output.environ))
    answer = Cancellation(document.answer)
    if output.options.json:
        output.document(documents.encode(document))
    else:
        words = answer.value.replace("_", " ")
        output.line(plain(f"{words} {document.instance} {document.name}"))
        if EXIT_CODES[answer]:
            output.note(f"hint: {_hint(answer, desk, request)}")
    return EXIT_CODES[answer]


def _hint(answer: Cancellation, desk: Desk, request: Request) -> str:
    if answer is not Cancellation.UNKNOWN:
        listed = f"agentctl invocation list {request.instance}"
        return f"it has fired; its event can be cancelled, if it isn't over: {listed}"
    event = find_scheduled(desk, request.instance, request.name)
    if event is not None:
        return f"a single event is cancelled with: agentctl invocation cancel {event.event}"
    return names_hint(desk, request.instance, request.name)
