"""`agentctl agent delete`: delete an instance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from agentctl.cli.output import Output
from agentctl.cli.place import find_place, open_desk
from agentctl.names import Address
from agentctl.ops import documents, places
from agentctl.ops.asking import asker
from agentctl.ops.changes import DeleteDocument
from agentctl.ops.invocations import delete

EXAMPLES = (
    ("agentctl agent delete 'Poller(\"my-poller\")'", "say what goes, and ask"),
    ("agentctl agent delete Poller/my-poller --yes", "don't ask"),
    ("agentctl agent delete Poller/my-poller --dry-run", "only say what would go"),
)


@dataclass(frozen=True)
class Request:
    """Which instance."""

    instance: Address
    dry_run: bool


def parse(
    *,
    instance: Annotated[str, typer.Argument(metavar="INSTANCE", help='Poller/eu, or Poller("eu")')],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only say what would go")] = False,
) -> Request:
    """Delete an instance: its state, idempotency keys and schedules; its open events are cancelled.

    Says what goes, and asks. An event of it that is executing stands in the way, until it is
    cancelled; one that was cancelled before ends where it stands. Its numbers are never used again.
    """
    return Request(Address.parse(instance), dry_run)


def execute(request: Request, output: Output) -> int:
    """Delete it."""
    place = find_place(output)
    desk = open_desk(place, output)
    places.check_known(place, desk, request.instance.agent)
    by = asker(output.environ)
    document = delete(desk, request.instance, dry_run=True, by=by)
    if not request.dry_run:
        if not output.confirm(f"delete {document.instance}, {_what(document, would=True)}?"):
            output.note("nothing was deleted")
            return 1
        document = delete(desk, request.instance, dry_run=False, by=by)
    if output.options.json:
        output.document(documents.encode(document))
        return 0
    said = "would delete" if request.dry_run else "deleted"
    output.line(f"{said} {document.instance}")
    what = _what(document, would=request.dry_run)
    output.note(what if request.dry_run else f"gone with it: {what}")
    return 0


def _what(document: DeleteDocument, *, would: bool) -> str:
    state = f"{document.state_bytes} bytes of state"
    keys = "1 idempotency key" if document.keys == 1 else f"{document.keys} idempotency keys"
    kept = f"{state}, {keys}"
    if document.schedules:
        many = "schedule" if len(document.schedules) == 1 else "schedules"
        kept += f", {len(document.schedules)} {many} ({_few(document.schedules)})"
    if not document.cancelled:
        return f"{kept}, no open event"
    ended = [one for one in document.cancelled if one not in document.cleaning_up]
    said = [kept]
    if ended:
        said.append(f"{'would cancel' if would else 'cancelled'} {_few(ended)}")
    if document.cleaning_up:
        cleans = "would clean up and end" if would else "told to clean up and end:"
        names = _few(document.cleaning_up)
        said.append(f"{names} {cleans}" if would else f"{cleans} {names}")
    return "; ".join(said)


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"{', '.join(names[:5])}{more}"
