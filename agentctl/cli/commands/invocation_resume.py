"""`agentctl invocation resume`: give an event the input that it waits for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from agentctl.cli.commands.answering import AsOption, NoteOption, given, tell_start
from agentctl.cli.inputs import read_answer
from agentctl.cli.output import Output, plain
from agentctl.cli.place import find_place, open_desk
from agentctl.ops import documents, places
from agentctl.ops.approvals import Meant, meant, resume

EXAMPLES = (
    ("agentctl invocation resume Bot-7-3 --input true", "answer the question with this call key"),
    ("agentctl invocation resume Bot#7 --input 'on Monday'", "the only one of event 7; a text"),
    ("agentctl invocation resume Bot order-7 --input 5", "of the event with this key"),
    ("agentctl invocation resume Bot-7-3 --input - < answer.json", "from a file"),
    ("agentctl invocation resume Bot-7-3 --input 5 --as ana --note urgent", "who, and why"),
)


@dataclass(frozen=True)
class Request:
    """Which input, as it was typed, and who gives it."""

    meant: Meant
    text: str
    by: str | None
    note: str


def parse(
    *,
    call: Annotated[
        str,
        typer.Argument(metavar="CALL", help="Bot-7-3; an event; or an agent, with a KEY"),
    ],
    key: Annotated[
        str | None, typer.Argument(metavar="[KEY]", help="the invocation's idempotency key")
    ] = None,
    answer: Annotated[str, typer.Option("--input", metavar="JSON", help="the input; - for stdin")],
    by: AsOption = None,
    note: NoteOption = "",
) -> Request:
    """Give an event the input that it waits for: the answer to a question, or what a step needs.

    It is checked by the type that was asked for, and decided once: who comes second is told so,
    exit code 4. A text may stand without quotes. See what waits: agentctl approval list.
    """
    return Request(meant(call, key), read_answer(answer), by, note)


def execute(request: Request, output: Output) -> int:
    """Give it."""
    place = find_place(output)
    desk = open_desk(place, output)
    agent = request.meant.address.agent
    places.check_known(place, desk, agent)
    held = desk.holder(agent) is not None
    document = resume(desk, request.meant, request.text, given(request.by, request.note, output))
    if output.options.json:
        output.document(documents.encode(document))
    else:
        output.line(plain(f"resumed {document.call}"))
        if not held:
            tell_start(place, desk, agent, output)
    return 0
