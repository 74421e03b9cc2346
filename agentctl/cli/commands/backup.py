"""`agentctl backup`: one archive of every agent's folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from agentctl.cli.moments import size_of
from agentctl.cli.output import Output, plain
from agentctl.cli.place import find_place
from agentctl.ops import documents, places
from agentctl.ops.backing_up import backup

EXAMPLES = (
    ("agentctl backup agents.tar.gz", "journals, set-aside events and audit logs, in one file"),
    ("mkdir other && tar -xzf agents.tar.gz -C other", "restore: unpack it into an empty folder"),
)
TAKES_PATHS = True


@dataclass(frozen=True)
class Request:
    """Where to."""

    target: Path


def parse(
    *,
    target: Annotated[Path, typer.Argument(metavar="FILE", help="a new file; a tar.gz archive")],
) -> Request:
    """Write one archive of every agent's folder; also beside a running program.

    What was accepted before it began is in it. Never overwrites a file. To restore, unpack it into
    an empty folder, where agents/ then lies, and start there: agentctl run --root DIR.
    """
    return Request(target)


def execute(request: Request, output: Output) -> int:
    """Write it."""
    document = backup(places.open_desk(find_place(output)), request.target)
    if output.options.json:
        output.document(documents.encode(document))
        return 0
    output.line(plain(document.file))
    for one in document.agents:
        output.note(f"{one.agent}: {one.records} records, {size_of(one.bytes)}")
    return 0
