"""`agentctl add`: one more agent in this project."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from agentctl.cli.output import Output
from agentctl.cli.place import find_project
from agentctl.ops import documents, projects
from agentctl.ops.changes import AddDocument

EXAMPLES = (
    ("agentctl add Clerk", "one more agent that pays refunds, named Clerk"),
    ("agentctl add Clerk --dry-run", "show what would be written"),
)


@dataclass(frozen=True)
class Request:
    """What was asked for."""

    agent: str
    template: str
    dry_run: bool


def parse(
    *,
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="the new agent's name")],
    template: Annotated[
        str, typer.Option("--template", metavar="NAME", help="what to start from (refund)")
    ] = "refund",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="only show what would be written")
    ] = False,
) -> Request:
    """Add an agent to this project: its code, its tests, and its tables in kavach.toml.

    Nothing that exists is overwritten, and kavach.toml keeps what it has. What to try next is said
    on stderr.
    """
    return Request(agent, template, dry_run)


def execute(request: Request, output: Output) -> int:
    """Add it, or show what would be written."""
    document = projects.add_agent(
        find_project(output), request.agent, request.template, dry_run=request.dry_run
    )
    if output.options.json:
        output.document(documents.encode(document))
    elif request.dry_run:
        _show(document, output)
    if not request.dry_run:
        output.note(f"added {document.agent}: {', '.join(document.files)}; and kavach.toml. Next:")
        for command in document.next:
            output.note(f"  {command}")
    return 0


def _show(document: AddDocument, output: Output) -> None:
    for path in document.files:
        output.line(f"would write {path}")
    output.line(f"would make agents/{document.agent}/")
    output.line("would append to kavach.toml:")
    for line in document.appended.splitlines():
        output.line(f"  {line}".rstrip())
