"""`agentctl why`: why an event or a schedule is where it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from agentctl.cli.failures import tell_damage
from agentctl.cli.filed_text import hinting
from agentctl.cli.folding import fold
from agentctl.cli.moments import Moments
from agentctl.cli.output import Output, plain
from agentctl.cli.place import find_place
from agentctl.cli.records_text import what
from agentctl.names import Address
from agentctl.ops import documents, places
from agentctl.ops.journal_documents import SeenRecord
from agentctl.ops.reasons import Ground
from agentctl.ops.why import subject, why
from agentctl.times import SystemClock

EXAMPLES = (
    ("agentctl why Bot#1", "why event 1 is where it is, what happens next, and when"),
    ("agentctl why Bot order-7", "the same of the event with this key"),
    ("agentctl why Bot report", "of Bot's schedule report"),
    ("agentctl why Bot#1 --json", "for a program"),
)


@dataclass(frozen=True)
class Request:
    """Whom the question is about."""

    address: Address
    name: str | None


def parse(
    *,
    agent: Annotated[
        str, typer.Argument(metavar="AGENT", help="Bot#7, Bot-7-3; or an agent, with a NAME")
    ],
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="a schedule's name, or an idempotency key"),
    ] = None,
) -> Request:
    """Say in one sentence why an event or a schedule is where it is, and what happens next.

    Last comes the line of the journal that says so. Of a workflow its instance is enough:
    Onboard/ana.
    """
    return Request(subject(agent, name), name)


def execute(request: Request, output: Output) -> int:
    """Say it; if the journal is damaged, as far as it can be trusted, and that gives code 6."""
    place = find_place(output)
    desk = places.open_desk(place)
    address = request.address
    places.check_known(place, desk, address.agent)
    now_us = SystemClock().now_us()
    moments = Moments(now_us, relative=output.is_terminal)
    with hinting(place, address, request.name or ""):
        told, damaged = why(Ground(desk, place, now_us, moments.at), address, request.name)
    if output.options.json:
        output.document(documents.encode(told))
    else:
        text = plain(f"{told.why}; {told.next}{_line(told.record)}")
        output.line(fold(text, output.width) if output.is_terminal else text)
    return tell_damage({address.agent: damaged}, output)


def _line(record: SeenRecord | None) -> str:
    if record is None:
        return ""
    return f"; journal line {record.line}: {' '.join(filter(None, (record.kind, what(record))))}"
