"""`agentctl schedule unpause`: let a paused schedule fire again."""

from __future__ import annotations

from agentctl.cli.commands.pausing import Request, carry_out
from agentctl.cli.commands.schedule_options import InstanceArgument, NameArgument
from agentctl.cli.output import Output
from agentctl.ops.schedules import instance_of

EXAMPLES = (
    ("agentctl schedule unpause Bot report", "it fires again, at its next due time"),
    ("agentctl schedule unpause Poller/eu tick --json", "the same, told for a program"),
)


def parse(*, agent: InstanceArgument, name: NameArgument) -> Request:
    """Let a paused schedule fire again, at its next due time, on its old grid.

    Due times that passed meanwhile don't run, and it is told how many they were.
    """
    return Request(instance_of(agent), name, pause=False)


def execute(request: Request, output: Output) -> int:
    """Let it fire."""
    return carry_out(request, output)
