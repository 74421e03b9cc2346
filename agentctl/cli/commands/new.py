"""`agentctl new`: a project from a template."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from agentctl.cli.output import Output, columns
from agentctl.errors import UsageError
from agentctl.ops import documents, projects

EXAMPLES = (
    ("agentctl new shop", "make the folder shop with an agent that pays refunds"),
    ("agentctl new desk --agent Clerk", "the same, and the agent is named Clerk"),
    ("agentctl new --list", "list the templates"),
)
TAKES_PATHS = True


@dataclass(frozen=True)
class Request:
    """What was asked for; without a folder, the list."""

    folder: Path | None
    template: str
    agent: str | None


def parse(
    *,
    folder: Annotated[
        str | None, typer.Argument(metavar="DIR", help="the new project's folder")
    ] = None,
    template: Annotated[
        str, typer.Option("--template", metavar="NAME", help="what to start from (refund)")
    ] = "refund",
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="NAME", help="the agent's name")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="list the templates")] = False,
) -> Request:
    """Make a new project that runs and whose tests pass.

    Nothing that exists is overwritten. What to try next is said on stderr.
    """
    if not listed and not folder:
        raise UsageError("new needs a folder", hint="for example: agentctl new shop")
    if agent == "":
        raise UsageError("the agent's name is empty", hint="for example: --agent Bot")
    return Request(None if listed or folder is None else Path(folder), template, agent)


def execute(request: Request, output: Output) -> int:
    """Write the project, or list the templates."""
    if request.folder is None:
        return _list(output)
    document, note = projects.make_project(request.folder, request.template, request.agent)
    if output.options.json:
        output.document(documents.encode(document))
    if note:
        output.note(note)
    output.note(f"made {document.folder}: {len(document.files)} files. Next:")
    for command in document.next:
        output.note(f"  {command}")
    return 0


def _list(output: Output) -> int:
    document = projects.list_templates()
    if output.options.json:
        output.document(documents.encode(document))
    else:
        for each in document.templates:
            output.line(columns((each.name, each.about)))
    return 0
