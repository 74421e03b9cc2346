"""`agentctl schema`: the JSON Schema of what `--json` writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import msgspec
import typer

from agentctl.cli.output import Output
from agentctl.errors import NotFound, UsageError
from agentctl.ops import documents
from agentctl.ops.schemas import all_schemas, names, schema_of

EXAMPLES = (
    ("agentctl schema status", "the schema of what agentctl status --json writes"),
    ("agentctl schema --list", "the names of all documents"),
    ("agentctl schema --json", "those of all documents, on one line"),
)


@dataclass(frozen=True)
class Request:
    """Which document; None is all, or all names."""

    name: str | None
    names: bool


def parse(
    *,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="status, or agentctl.status/1")
    ] = None,
    names_only: Annotated[bool, typer.Option("--list", help="only the names")] = False,
) -> Request:
    """Print the JSON Schema of a document, or of all of them by their names.

    Every document says by its own "schema" which one it is. Fields are only ever added.
    """
    if name is not None and names_only:
        raise UsageError("--list and a name don't go together", hint="leave one of them out")
    return Request(name, names_only)


def execute(request: Request, output: Output) -> int:
    """Print it."""
    if request.names and not output.options.json:
        for name in names():
            output.line(name)
        return 0
    try:
        schemas = all_schemas() if request.name is None else schema_of(request.name)
    except NotFound as error:
        error.hint = f"{error.hint}; agentctl schema --list shows all"
        raise
    made = documents.encode(schemas)
    if output.options.json:
        output.document(made)
    else:
        for line in msgspec.json.format(made).decode().splitlines():
            output.line(line)
    return 0
