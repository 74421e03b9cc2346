"""`agentctl inspect schedules`: all that is on record of schedules."""

from __future__ import annotations

from agentctl.cli.commands.asking import AgentArgument, SecretsOption
from agentctl.cli.commands.inspecting import Request, choose
from agentctl.cli.moments import Moments
from agentctl.cli.output import Output
from agentctl.cli.rows import write_rows
from agentctl.cli.schedules_text import arguments, due_of, how, policies
from agentctl.ops import documents
from agentctl.ops.journal import JournalQuery
from agentctl.ops.schedule_documents import SchedulesDocument
from agentctl.ops.schedules import kept_of
from agentctl.times import SystemClock

EXAMPLES = (
    ("agentctl inspect schedules Bot", "Bot's schedules, with arguments and policies"),
    ("agentctl inspect schedules --json", "those of every agent, for a program"),
)
TITLES = (
    *("instance", "name", "handler", "due", "how", "source", "paused", "set", "policies"),
    "arguments",
)


def parse(*, agent: AgentArgument = None, show_secrets: SecretsOption = False) -> Request:
    """Show the schedules of each instance, as they are on record; takes no lock.

    When one is due in the times to come: agentctl schedule show.
    """
    return Request(agent, JournalQuery(show_secrets=show_secrets))


def execute(request: Request, output: Output) -> int:
    """Show them."""
    desk, chosen = choose(request, output)
    shown = request.query.show_secrets
    seen = tuple(kept_of(desk, name, address, show_secrets=shown) for name, address in chosen)
    if output.options.json:
        output.document(documents.encode(SchedulesDocument(seen)))
        return 0
    moments = Moments(SystemClock().now_us(), relative=output.is_terminal)
    rows = [
        (
            *(one.instance, one.name, one.handler, due_of(one.due, moments), how(one)),
            *(one.source, "paused" if one.paused else "-", due_of(one.set, moments)),
            policies(one),
            arguments(one),
        )
        for agent in seen
        for one in agent.schedules
    ]
    write_rows(TITLES, rows, output)
    return 0
