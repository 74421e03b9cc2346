"""`agentctl completion`: the script by which a shell completes the command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from agentctl.cli.output import Output
from agentctl.cli.shells import SHELLS
from agentctl.errors import UsageError
from agentctl.nearest import nearest_hint

EXAMPLES = (
    ('eval "$(agentctl completion bash)"', "complete commands, options and agents in this shell"),
    ("agentctl completion fish > agentctl.fish", "a file for fish's completions folder"),
)


@dataclass(frozen=True)
class Request:
    """For which shell."""

    shell: str


def parse(
    *, shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish")]
) -> Request:
    """Print the script by which a shell completes the command.

    For every new shell: put the first example's line into .bashrc, or into .zshrc with zsh.
    """
    if shell not in SHELLS:
        raise UsageError(
            f"there is no script for {shell!r}", hint=nearest_hint(shell, SHELLS, "shells")
        )
    return Request(shell)


def execute(request: Request, output: Output) -> int:
    """Print it."""
    script = SHELLS[request.shell]()
    if output.options.json:
        from agentctl.ops import documents

        document = documents.CompletionDocument(request.shell, script)
        output.document(documents.encode(document))
        return 0
    for line in script.splitlines():
        output.line(line)
    return 0
