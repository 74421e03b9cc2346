"""`agentctl agent show`: one instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from agentctl.cli import events_text
from agentctl.cli.commands.asking import SecretsOption
from agentctl.cli.moments import Moments
from agentctl.cli.output import Output, columns
from agentctl.cli.place import find_place
from agentctl.cli.rows import write_pairs, write_rows
from agentctl.cli.schedules_text import due_of, how
from agentctl.errors import UsageError
from agentctl.names import Address
from agentctl.ops import documents, places
from agentctl.ops.view_documents import InstanceDocument
from agentctl.ops.views import find_instance
from agentctl.times import SystemClock

EXAMPLES = (
    ("agentctl agent show Bot", "the state, keys, open events and schedules of Bot"),
    ("agentctl agent show Poller/eu --json", "those of one instance, for a program"),
)


@dataclass(frozen=True)
class Request:
    """Which instance."""

    address: Address
    show_secrets: bool


def parse(
    *,
    instance: Annotated[
        str, typer.Argument(metavar="INSTANCE", help='Bot, or Poller("my-poller")')
    ],
    show_secrets: SecretsOption = False,
) -> Request:
    """Show what is kept of one instance: its state, its keys, its open events, its schedules."""
    address = Address.parse(instance)
    if address.event is not None:
        raise UsageError(
            f"{instance!r} is an event, and an instance is needed",
            hint=f"write: agentctl invocation show {address}",
        )
    return Request(address, show_secrets)


def execute(request: Request, output: Output) -> int:
    """Show it."""
    place = find_place(output)
    desk = places.open_desk(place)
    places.check_known(place, desk, request.address.agent)
    document, seen = find_instance(desk, request.address, show_secrets=request.show_secrets)
    if output.options.json:
        output.document(documents.encode(document))
        return 0
    write_pairs(_about(document), output)
    moments = Moments(SystemClock().now_us(), relative=output.is_terminal)
    rows = events_text.rows_of(seen, moments, place)
    if rows and output.is_terminal:
        output.line("")
        write_rows(events_text.TITLES, rows, output)
    else:
        for row in rows:
            output.line(columns(("event", *row)))
    _write_schedules(document, moments, output)
    return 0


def _write_schedules(document: InstanceDocument, moments: Moments, output: Output) -> None:
    rows = [
        (
            *(one.name, one.handler, due_of(one.due, moments), how(one)),
            "paused" if one.paused else "-",
        )
        for one in document.schedules
    ]
    if rows and output.is_terminal:
        output.line("")
        write_rows(("schedule", "handler", "due", "how", "paused"), rows, output)
    else:
        for row in rows:
            output.line(columns(("schedule", *row)))


def _about(document: InstanceDocument) -> list[tuple[str, str]]:
    state = "-" if document.state is None else bytes(document.state).decode()
    keys = [("key", f"{one.key} ({one.event}, {one.status})") for one in document.keys]
    return [("instance", document.instance), ("state", state), *keys]
