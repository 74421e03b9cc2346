"""`agentctl invocation list`: events, and where each stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import typer

from agentctl.cli import events_text, redrawing
from agentctl.cli.commands.asking import AgentArgument, NumberOption
from agentctl.cli.failures import tell_damage
from agentctl.cli.inputs import states
from agentctl.cli.moments import Moments
from agentctl.cli.output import Output, columns
from agentctl.cli.place import find_place
from agentctl.cli.rows import fitting, write_rows
from agentctl.engines.desk import Desk
from agentctl.names import Address
from agentctl.ops import documents, places
from agentctl.ops.view_documents import InvocationsDocument
from agentctl.ops.views import EventQuery, Seen, in_short, list_events
from agentctl.times import SystemClock

EXAMPLES = (
    ("agentctl invocation list", "every event that is known, the newest last"),
    ("agentctl invocation list Bot --status stuck,set-aside", "what needs a person"),
    ("agentctl invocation list -n 20 --json", "the newest 20, for a program"),
    ("agentctl invocation list --watch", "the same on a screen that is kept up to date"),
)


@dataclass(frozen=True)
class Request:
    """Whose events, which of them, and whether to go on looking."""

    agent: str | None
    query: EventQuery
    watch: bool


def parse(
    *,
    agent: AgentArgument = None,
    status: Annotated[
        list[str] | None,
        typer.Option("--status", metavar="WORD,...", help="only these; may be repeated"),
    ] = None,
    number: NumberOption = None,
    watch: Annotated[bool, typer.Option("--watch", help="go on looking, every second")] = False,
) -> Request:
    """List events, the newest last: where each stands, and what comes next.

    The words are scheduled, queued, running, sleeping, waiting, stuck, completed, failed,
    cancelled, missed and set-aside. Of ended events only those are known that are still kept.
    """
    wanted = states("--status", ",".join(status)) if status else frozenset()
    return Request(agent, EventQuery(wanted, number), watch)


def execute(request: Request, output: Output) -> int:
    """List them; what is damaged is said, and gives exit code 6."""
    place = find_place(output)
    desk = places.open_desk(place)
    chosen = places.choose_agents(place, desk, request.agent)
    if request.watch:
        return _watch((place, desk), chosen, request.query, output)
    seen = list_events(desk, chosen, request.query)
    if output.options.json:
        output.document(_document(seen))
    else:
        write_rows(events_text.TITLES, events_text.rows_of(seen, _moments(output), place), output)
        if not seen.events and not any(view.damaged for view in seen.agents.values()):
            output.note("no such event is known")
    return tell_damage({name: view.damaged for name, view in seen.agents.items()}, output)


def _watch(
    where: tuple[places.Place, Desk],
    chosen: Sequence[tuple[str, Address]],
    query: EventQuery,
    output: Output,
) -> int:
    place, desk = where

    if output.is_terminal:

        def draw() -> None:
            # What doesn't fit would scroll the newest away, or the titles.
            most = query if query.last is not None else replace(query, last=output.height)
            seen = list_events(desk, chosen, most)
            rows = events_text.rows_of(seen, _moments(output), place)
            for line in fitting(events_text.TITLES, rows, output):
                output.line(line)

        return redrawing.watch(draw, output)

    def lines() -> Sequence[str]:
        seen = list_events(desk, chosen, query)
        if output.options.json:
            return [_document(seen).decode()]
        return [columns(row) for row in events_text.rows_of(seen, _moments(output), place)]

    return redrawing.watch_lines(lines, output)


def _document(seen: Seen) -> bytes:
    return documents.encode(InvocationsDocument(tuple(in_short(one) for one in seen.events)))


def _moments(output: Output) -> Moments:
    return Moments(SystemClock().now_us(), relative=output.is_terminal)
