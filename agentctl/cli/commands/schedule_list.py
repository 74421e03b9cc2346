"""`agentctl schedule list`: what is to come."""

from __future__ import annotations

from dataclasses import dataclass

from agentctl.cli.commands.asking import AgentArgument
from agentctl.cli.filed_text import notes_of
from agentctl.cli.moments import Moments
from agentctl.cli.output import Output
from agentctl.cli.place import find_place
from agentctl.cli.rows import write_rows
from agentctl.cli.schedules_text import TITLES, rows_of, screen_rows
from agentctl.ops import documents, places
from agentctl.ops.schedule_documents import ScheduleListDocument
from agentctl.ops.schedules import list_schedules
from agentctl.ops.unset import compare
from agentctl.times import SystemClock

EXAMPLES = (
    ("agentctl schedule list", "what is to come of every agent, what is due next first"),
    ("agentctl schedule list Bot --json", "that of Bot, for a program"),
)


@dataclass(frozen=True)
class Request:
    """Whose schedules."""

    agent: str | None


def parse(*, agent: AgentArgument = None) -> Request:
    """List what is to come: schedules, which have a name, and single events, which have a number.

    A name stands for one schedule of one instance. What is paused comes last.
    """
    return Request(agent)


def execute(request: Request, output: Output) -> int:
    """List it."""
    place = find_place(output)
    desk = places.open_desk(place)
    chosen = places.choose_agents(place, desk, request.agent)
    document, troubles = list_schedules(desk, chosen)
    _write(document, output)
    if not troubles:  # else what is set isn't known
        now_us = SystemClock().now_us()
        for note in notes_of(compare(place.project, chosen, document.schedules, now_us=now_us)):
            output.note(note)
    for trouble in troubles:
        raise trouble  # the first tells the exit code; `status` shows all of them
    return 0


def _write(document: ScheduleListDocument, output: Output) -> None:
    if output.options.json:
        output.document(documents.encode(document))
        return
    moments = Moments(SystemClock().now_us(), relative=output.is_terminal)
    rows = screen_rows if output.is_terminal else rows_of
    write_rows(TITLES, rows(document.schedules, moments), output)
    if not document.schedules:
        output.note("nothing is scheduled")
