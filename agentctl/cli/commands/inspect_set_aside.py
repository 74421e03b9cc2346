"""`agentctl inspect set-aside`: events that were taken out of service."""

from __future__ import annotations

from agentctl.cli.commands.asking import AgentArgument, SecretsOption
from agentctl.cli.commands.inspecting import Request, choose
from agentctl.cli.output import Output
from agentctl.ops import documents
from agentctl.ops.journal import JournalQuery
from agentctl.ops.reading import read_set_aside, set_aside_lines, under_way

EXAMPLES = (
    ("agentctl inspect set-aside Bot", "the lines of Bot's set-aside events"),
    ("agentctl inspect set-aside --json", "those of all agents, for a program"),
)


def parse(*, agent: AgentArgument = None, show_secrets: SecretsOption = False) -> Request:
    """Show events that were started too often without a new result.

    In text, the lines of the file set-aside: an event, its calls with their results, and one
    line for each time it was started again. To put one back: agentctl requeue set-aside.
    """
    return Request(agent, JournalQuery(show_secrets=show_secrets))


def execute(request: Request, output: Output) -> int:
    """Show them."""
    desk, chosen = choose(request, output)
    shown = request.query.show_secrets
    if output.options.json:
        seen = tuple(read_set_aside(desk, name, show_secrets=shown) for name, _ in chosen)
        output.document(documents.encode(documents.SetAsideDocument(seen)))
        return 0
    for name, _ in chosen:
        for line in set_aside_lines(desk, name, show_secrets=shown):
            output.line(line.decode("utf-8", "backslashreplace"))
        for event, calls in under_way(desk, name):
            output.note(
                f"{event}: the program died in {', '.join(calls)}: it may have happened, or not"
            )
    return 0
