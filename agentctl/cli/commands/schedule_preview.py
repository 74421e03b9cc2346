"""`agentctl schedule preview`: when a cron expression is due."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from agentctl.cli.commands.invoking import instant
from agentctl.cli.commands.scheduling import zone_or_projects
from agentctl.cli.moments import Moments
from agentctl.cli.output import Output
from agentctl.cli.rows import write_rows
from agentctl.cli.schedules_text import DUE_TITLES, due_rows
from agentctl.ops import documents
from agentctl.ops.due_times import preview
from agentctl.times import SystemClock

EXAMPLES = (
    ("agentctl schedule preview '0 9 * * 1-5' --tz Europe/Berlin", "the next ten due times"),
    (
        "agentctl schedule preview '30 2 * * *' --tz Europe/Berlin --from 2026-03-27T00:00Z -n 3",
        "over the night on which the clocks are set forward",
    ),
)


@dataclass(frozen=True)
class Request:
    """Which expression, in which zone; how many due times, from when on."""

    cron: str
    tz: str | None
    number: int
    begin: str | None


def parse(
    *,
    cron: Annotated[
        str,
        typer.Argument(
            metavar="EXPR", help="minute, hour, day of the month, month, day of the week"
        ),
    ],
    tz: Annotated[
        str | None,
        typer.Option("--tz", metavar="ZONE", help="whose clock it goes by; else the project's tz"),
    ] = None,
    number: Annotated[
        int, typer.Option("-n", "--number", min=1, max=1000, metavar="N", help="how many (10)")
    ] = 10,
    begin: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="those after then (now)")
    ] = None,
) -> Request:
    """Tell when a cron expression is due, and mark the nights on which the clocks change.

    In a pipe a line each: the time in UTC, in the zone, and a note, parted by tabs. Nothing is set,
    and no project is needed.
    """
    return Request(cron, tz, number, begin)


def execute(request: Request, output: Output) -> int:
    """Tell it."""
    clock = SystemClock()
    tz = zone_or_projects(request.tz, output)
    begin = request.begin
    # Its zone is never guessed: --tz is the expression's.
    after_us = clock.now_us() if begin is None else instant("--from", begin, None, clock)
    document = preview(request.cron, tz, number=request.number, after_us=after_us)
    if output.options.json:
        output.document(documents.encode(document))
        return 0
    moments = Moments(clock.now_us(), relative=output.is_terminal)
    write_rows(DUE_TITLES, due_rows(document.times, moments), output)
    return 0
