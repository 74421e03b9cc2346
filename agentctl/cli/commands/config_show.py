"""`agentctl config show`: every setting, and where it came from."""

from __future__ import annotations

from dataclasses import dataclass

from agentctl.cli.failures import failure_of, three_lines
from agentctl.cli.output import Output
from agentctl.cli.place import find_project
from agentctl.cli.rows import write_rows
from agentctl.ops import documents, projects

EXAMPLES = (
    ("agentctl config show", "show every setting of the project"),
    ("agentctl config show --json", "the same for a program"),
)


@dataclass(frozen=True)
class Request:
    """Nothing more to say."""


def parse() -> Request:
    """Show every setting, and where its value came from.

    A line each: the key, its value, and its source: a line of kavach.toml or kavach.local.toml, a
    class, a flag, an environment variable, or the default.
    """
    return Request()


def execute(_: Request, output: Output) -> int:
    """Show them."""
    project = find_project(output)
    with output.users_code():
        document, troubles = projects.explain_project(project)
    for trouble in troubles:  # what can be said without the code is said
        output.note(three_lines(failure_of(trouble)).replace("error:", "warning:", 1))
    if output.options.json:
        output.document(documents.encode(document))
        return 0
    rows = [(each.key, _shown(each.value), each.source) for each in document.values]
    write_rows(("setting", "value", "source"), rows, output)
    return 0


def _shown(value: object) -> str:
    if value is None:
        return "-"
    return str(value).lower() if isinstance(value, bool) else str(value)
