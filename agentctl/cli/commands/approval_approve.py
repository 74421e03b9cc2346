"""`agentctl approval approve`: answer a question with yes."""

from __future__ import annotations

from agentctl.cli.commands.answering import AsOption, CallArgument, NoteOption, Request, answer
from agentctl.cli.output import Output
from agentctl.ops.approvals import meant

EXAMPLES = (
    ("agentctl approval approve Bot-7-3", "say yes to the question with this call key"),
    ("agentctl approval approve", "to the only one that waits"),
    ("agentctl approval approve Bot-7-3 --as ana --note 'checked'", "who decides, and why"),
)


def parse(*, call: CallArgument = None, by: AsOption = None, note: NoteOption = "") -> Request:
    """Answer a question with yes. It is decided once: who comes second is told so, exit code 4.

    A question for anything but yes or no is refused, with the line that answers it. Who decided is
    on record, and in the audit log.
    """
    return Request(None if call is None else meant(call), by, note)


def execute(request: Request, output: Output) -> int:
    """Say yes."""
    return answer(request, output, approve=True)
