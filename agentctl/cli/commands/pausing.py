"""What `agentctl schedule pause` and `unpause` share: they differ in one word."""

from __future__ import annotations

from dataclasses import dataclass

from agentctl.cli.filed_text import hinting
from agentctl.cli.moments import Moments
from agentctl.cli.output import Output
from agentctl.cli.place import find_place, open_desk
from agentctl.cli.schedules_text import due_of
from agentctl.names import Address
from agentctl.ops import documents, places
from agentctl.ops.asking import asker
from agentctl.ops.schedule_documents import SchedulePauseDocument
from agentctl.ops.scheduling import pause_schedule
from agentctl.times import SystemClock


@dataclass(frozen=True)
class Request:
    """Which schedule, and whether it is to fire."""

    instance: Address
    name: str
    pause: bool


def carry_out(request: Request, output: Output) -> int:
    """Pause it, or let it fire again, and tell so."""
    place = find_place(output)
    desk = open_desk(place, output)
    places.check_known(place, desk, request.instance.agent)
    with hinting(place, request.instance, request.name):
        document = pause_schedule(
            desk, request.instance, request.name, pause=request.pause, by=asker(output.environ)
        )
    if output.options.json:
        output.document(documents.encode(document))
        return 0
    word = "paused" if document.paused else "unpaused"
    already = "" if document.changed else "already "
    output.line(f"{already}{word} {document.instance} {document.name}")
    if not document.paused:
        output.note(_when(document, output))
    return 0


def _when(document: SchedulePauseDocument, output: Output) -> str:
    """What passed meanwhile, and when it fires next."""
    moments = Moments(SystemClock().now_us(), relative=output.notes_to_terminal)
    due = f"due {due_of(document.due, moments)}"
    if not document.skipped:
        return due
    times = "1 due time" if document.skipped == 1 else f"{document.skipped} due times"
    return f"{times} passed while it was paused; {due}"
