"""`agentctl schedule pause`: keep a schedule from firing."""

from __future__ import annotations

from agentctl.cli.commands.pausing import Request, carry_out
from agentctl.cli.commands.schedule_options import InstanceArgument, NameArgument
from agentctl.cli.output import Output
from agentctl.ops.schedules import instance_of

EXAMPLES = (
    ("agentctl schedule pause Bot report", "it fires no more, until it is unpaused"),
    ("agentctl schedule pause Poller/eu tick --json", "the same, told for a program"),
)


def parse(*, agent: InstanceArgument, name: NameArgument) -> Request:
    """Keep a schedule from firing; a pause outlives restarts, and setting it anew.

    Its grid goes on: see agentctl schedule unpause. Paused twice is no error.
    """
    return Request(instance_of(agent), name, pause=True)


def execute(request: Request, output: Output) -> int:
    """Pause it."""
    return carry_out(request, output)
