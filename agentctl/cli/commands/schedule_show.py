"""`agentctl schedule show`: one schedule, and when it is due in the times to come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agentctl.cli.commands.asking import SecretsOption
from agentctl.cli.commands.schedule_options import InstanceArgument, NameArgument
from agentctl.cli.filed_text import hinting
from agentctl.cli.moments import Moments
from agentctl.cli.output import Output, columns
from agentctl.cli.place import find_place
from agentctl.cli.rows import write_pairs, write_rows
from agentctl.cli.schedules_text import DUE_TITLES, due_of, due_rows, how, seconds
from agentctl.names import Address
from agentctl.ops import documents, places
from agentctl.ops.due_times import show_schedule
from agentctl.ops.schedule_documents import ScheduleDocument
from agentctl.ops.schedules import instance_of
from agentctl.times import SystemClock

EXAMPLES = (
    ("agentctl schedule show Bot report", "all of Bot's schedule report, and its next due times"),
    ("agentctl schedule show Poller/eu tick --json", "that of one instance, for a program"),
)


@dataclass(frozen=True)
class Request:
    """Which schedule."""

    instance: Address
    name: str
    show_secrets: bool


def parse(
    *, agent: InstanceArgument, name: NameArgument, show_secrets: SecretsOption = False
) -> Request:
    """Show one schedule: what it runs, its policies, and the next five times at which it is due.

    A night on which the zone's clocks change is marked.
    """
    return Request(instance_of(agent), name, show_secrets)


def execute(request: Request, output: Output) -> int:
    """Show it."""
    place = find_place(output)
    desk = places.open_desk(place)
    places.check_known(place, desk, request.instance.agent)
    now_us = SystemClock().now_us()
    with hinting(place, request.instance, request.name):
        document, why = show_schedule(
            desk, request.instance, request.name, now_us=now_us, show_secrets=request.show_secrets
        )
    if output.options.json:
        output.document(documents.encode(document))
        return 0
    moments = Moments(now_us, relative=output.is_terminal)
    # A pipe gets the moment on record all the same, as in the list.
    due = "paused" if document.paused and output.is_terminal else due_of(document.due, moments)
    write_pairs(list(_about(document, due, moments)), output)
    rows = due_rows(document.next, moments)
    if rows and output.is_terminal:
        output.line("\nif unpaused now:" if document.paused else "")
        write_rows(DUE_TITLES, rows, output)
    else:
        for row in rows:
            output.line(columns(("next", *row)))
    if why is not None:
        output.note(f"when it is due after that can't be told here: {why}")
    return 0


def _about(document: ScheduleDocument, due: str, moments: Moments) -> Iterator[tuple[str, str]]:
    yield "instance", document.instance
    yield "name", document.name
    yield "handler", document.handler
    yield "arguments", bytes(document.args).decode()
    if document.kwargs is not None:
        yield "by name", bytes(document.kwargs).decode()
    yield "how", how(document)
    yield "due", due
    if document.begins != document.due and due != "paused":
        yield "begins", due_of(document.begins, moments)
    if document.paused:
        yield "paused", "yes: it doesn't fire"
    if document.cron is not None or document.period_s is not None:
        yield "missed", document.missed
        yield "overlap", document.overlap
    if document.jitter_s:
        yield "jitter", seconds(document.jitter_s)
    if document.max_late_s is not None:
        yield "max late", seconds(document.max_late_s)
    if document.priority != "medium":
        yield "priority", document.priority
    yield "source", document.source
    yield "set", due_of(document.set, moments)
    if document.by is not None:
        yield "by", document.by
