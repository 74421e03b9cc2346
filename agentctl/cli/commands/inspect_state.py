"""`agentctl inspect state`: the committed state of instances."""

from __future__ import annotations

import msgspec

from agentctl.cli.commands.asking import AgentArgument, SecretsOption
from agentctl.cli.commands.inspecting import Request, choose
from agentctl.cli.output import Output
from agentctl.cli.rows import write_rows
from agentctl.ops import documents
from agentctl.ops.journal import JournalQuery
from agentctl.ops.reading import read_states

EXAMPLES = (
    ("agentctl inspect state Bot", "the state of Bot"),
    ("agentctl inspect state Poller/eu --json", "the state of one instance, for a program"),
)
TITLES = ("instance", "state")


def parse(*, agent: AgentArgument = None, show_secrets: SecretsOption = False) -> Request:
    """Show each instance's state, as its last event left it.

    In a pipe a line each: the instance, and its state as JSON, parted by a tab.
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
    states = [(each.instance, bytes(each.state)) for agent in seen for each in agent.instances]
    if output.is_terminal:  # with blanks, so that it can be wrapped
        states = [(instance, msgspec.json.format(json, indent=0)) for instance, json in states]
    write_rows(TITLES, [(instance, json.decode()) for instance, json in states], output)
    return 0
