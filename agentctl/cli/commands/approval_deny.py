"""`agentctl approval deny`: answer a question with no."""

from __future__ import annotations

from agentctl.cli.commands.answering import AsOption, CallArgument, NoteOption, Request, answer
from agentctl.cli.output import Output
from agentctl.ops.approvals import meant

EXAMPLES = (
    ("agentctl approval deny Bot-7-3", "say no to the question with this call key"),
    ("agentctl approval deny", "to the only one that waits"),
    ("agentctl approval deny Bot-7-3 --as ana --note 'too late'", "who decides, and why"),
)


def parse(*, call: CallArgument = None, by: AsOption = None, note: NoteOption = "") -> Request:
    """Answer a question with no. It is decided once: who comes second is told so, exit code 4.

    A question for anything but yes or no is refused, with the line that answers it. Who decided is
    on record, and in the audit log.
    """
    return Request(None if call is None else meant(call), by, note)


def execute(request: Request, output: Output) -> int:
    """Say no."""
    return answer(request, output, approve=False)
