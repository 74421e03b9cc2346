"""`agentctl schema`: the JSON Schema of what `--json` writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import msgspec
import typer

from agentctl.cli.output import Output
from agentctl.ops import documents
from agentctl.ops.schemas import all_schemas, schema_of

EXAMPLES = (
    ("agentctl schema status", "the schema of what agentctl status --json writes"),
    ("agentctl schema --json", "those of all documents, on one line"),
)


@dataclass(frozen=True)
class Request:
    """Which document; None is all."""

    name: str | None


def parse(
    *,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="status, or agentctl.status/1")
    ] = None,
) -> Request:
    """Print the JSON Schema of a document, or of all of them by their names.

    Every document says by its own "schema" which one it is. Fields are only ever added.
    """
    return Request(name)


def execute(request: Request, output: Output) -> int:
    """Print it."""
    made = documents.encode(all_schemas() if request.name is None else schema_of(request.name))
    if output.options.json:
        output.document(made)
    else:
        for line in msgspec.json.format(made).decode().splitlines():
            output.line(line)
    return 0
