"""`agentctl inspect state`: the committed state of instances."""

from __future__ import annotations

from agentctl.cli.commands.asking import AgentArgument, SecretsOption
from agentctl.cli.commands.inspecting import Request, choose
from agentctl.cli.output import Output, columns
from agentctl.ops import documents
from agentctl.ops.journal import JournalQuery
from agentctl.ops.reading import read_states

EXAMPLES = (
    ("agentctl inspect state Bot", "the state of Bot"),
    ("agentctl inspect state Poller/eu --json", "the state of one instance, for a program"),
)


def parse(*, agent: AgentArgument = None, show_secrets: SecretsOption = False) -> Request:
    """Show each instance's state, as its last event left it.

    A line each: the instance, and its state as JSON.
    """
    return Request(agent, JournalQuery(show_secrets=show_secrets))


def execute(request: Request, output: Output) -> int:
    """Show them."""
    desk, chosen = choose(request, output)
    shown = request.query.show_secrets
    seen = tuple(read_states(desk, name, address, show_secrets=shown) for name, address in chosen)
    if output.options.json:
        output.document(documents.encode(documents.StateDocument(seen)))
        return 0
    for agent in seen:
        for each in agent.instances:
            output.line(columns((each.instance, bytes(each.state).decode())))
    return 0
