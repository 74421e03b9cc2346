"""`agentctl workflow cancel`: cancel one workflow."""

from __future__ import annotations

from dataclasses import dataclass

from agentctl.cli.commands import invocation_cancel
from agentctl.cli.commands.invocation_cancel import ReasonOption, RunningOption
from agentctl.cli.commands.workflow_show import WorkflowArgument
from agentctl.cli.output import Output
from agentctl.cli.place import find_place, open_desk
from agentctl.names import Address
from agentctl.ops import places
from agentctl.ops.workflows import which_run

EXAMPLES = (
    ("agentctl workflow cancel Onboard/ana", "its running attempt ends, and no further step runs"),
    ("agentctl workflow cancel Onboard/ana --running", "also the attempt that runs is broken off"),
    ("agentctl workflow cancel Onboard/ana --reason 'left us'", "says why in the audit log"),
)


@dataclass(frozen=True)
class Request:
    """Which workflow, and how."""

    address: Address
    running: bool
    reason: str


def parse(
    *, workflow: WorkflowArgument, running: RunningOption = False, reason: ReasonOption = ""
) -> Request:
    """Cancel one workflow; the answers are those of agentctl invocation cancel.

    The attempt that runs ends by itself, unless --running breaks it off; no further step begins.
    What done steps have to undo them is run, the last one first.
    """
    return Request(Address.parse(workflow), running, reason)


def execute(request: Request, output: Output) -> int:
    """Cancel it."""
    place = find_place(output)
    desk = open_desk(place, output)
    places.check_known(place, desk, request.address.agent)
    meant = which_run(desk, request.address)
    return invocation_cancel.execute(
        invocation_cancel.Request(meant, request.running, request.reason, "workflow list"), output
    )
