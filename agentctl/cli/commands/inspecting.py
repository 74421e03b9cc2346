"""What the `inspect` commands share: their flags, and whom to read."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Annotated, TypeAlias

import typer

from agentctl.cli.output import Output
from agentctl.cli.place import find_place
from agentctl.engines.desk import Desk
from agentctl.errors import UsageError
from agentctl.names import Address
from agentctl.ops import places
from agentctl.ops.instants import parse_instant
from agentctl.ops.journal import JournalQuery

ReverseOption: TypeAlias = Annotated[bool, typer.Option("-r", "--reverse", help="newest first")]
SinceOption: TypeAlias = Annotated[
    str | None, typer.Option("--since", metavar="TIME", help="from then on: -1h, 2026-03-15T10:30Z")
]
UntilOption: TypeAlias = Annotated[
    str | None, typer.Option("--until", metavar="TIME", help="up to then")
]
EventOption: TypeAlias = Annotated[
    int | None, typer.Option("--event", min=1, metavar="N", help="only this event")
]
GrepOption: TypeAlias = Annotated[
    str | None, typer.Option("--grep", metavar="REGEX", help="only what holds a match")
]


@dataclass(frozen=True)
class Request:
    """Whom to read, and what of it."""

    agent: str | None
    query: JournalQuery
    raw: bool = False


def compile_pattern(text: str | None) -> re.Pattern[str] | None:
    """Compile what `--grep` is given.

    Raises:
        UsageError: it is no regular expression.
    """
    try:
        return None if text is None else re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise UsageError(
            f"--grep: {text[:80]!r} is no regular expression: {error}",  # type: ignore[index]
            hint=r"put a backslash before what is meant as it stands: 'a\(b\)'",
        ) from None


def instant_of(text: str | None) -> int | None:
    """Read what `--since` or `--until` is given.

    Raises:
        UsageError: it is no moment.
    """
    return None if text is None else parse_instant(text)


def choose(request: Request, output: Output) -> tuple[Desk, list[tuple[str, Address]]]:
    """Open the desk, and choose whom to read.

    Raises:
        NotFound: there is no such agent.
    """
    place = find_place(output)
    desk = places.open_desk(place)
    return desk, list(places.choose_agents(place, desk, request.agent))


def narrowed(query: JournalQuery, address: Address) -> JournalQuery:
    """Narrow a query to what an address names."""
    event = query.event if query.event is not None else address.event
    return replace(query, identity=address.identity, event=event)
