"""`agentctl inspect audit`: the audit log."""

from __future__ import annotations

from agentctl.cli.commands.asking import AgentArgument, NumberOption
from agentctl.cli.commands.inspecting import (
    EventOption,
    GrepOption,
    Request,
    ReverseOption,
    SinceOption,
    UntilOption,
    choose,
    compile_pattern,
    instant_of,
    narrowed,
)
from agentctl.cli.folding import fold
from agentctl.cli.output import Output, plain
from agentctl.ops import documents
from agentctl.ops.journal import JournalQuery
from agentctl.ops.reading import read_audit

EXAMPLES = (
    ("agentctl inspect audit Bot", "what was accepted, completed, failed, set aside"),
    ("agentctl inspect audit -n 20 -r", "the last 20 lines of each agent, newest first"),
    ("agentctl inspect audit --grep failed", "what failed"),
)


def parse(
    *,
    agent: AgentArgument = None,
    number: NumberOption = None,
    reverse: ReverseOption = False,
    since: SinceOption = None,
    until: UntilOption = None,
    event: EventOption = None,
    grep: GrepOption = None,
) -> Request:
    """Show the audit log, a line each: time, agent, what, and about which event."""
    query = JournalQuery(
        event=event,
        grep=compile_pattern(grep),
        since_us=instant_of(since),
        until_us=instant_of(until),
        last=number,
        reverse=reverse,
    )
    return Request(agent, query)


def execute(request: Request, output: Output) -> int:
    """Show the logs."""
    desk, chosen = choose(request, output)
    seen = tuple(
        read_audit(desk, name, narrowed(request.query, address)) for name, address in chosen
    )
    if output.options.json:
        output.document(documents.encode(documents.AuditDocument(seen)))
        return 0
    for log in seen:
        for line in log.lines:
            text = plain(line)
            output.line(fold(text, output.width) if output.is_terminal else text)
    return 0
