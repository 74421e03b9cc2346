"""What the commands that answer an event share: who answers, and what is said afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeAlias

import typer

from agentctl.cli.output import Output, plain
from agentctl.cli.place import find_place, open_desk
from agentctl.engines.desk import Desk
from agentctl.errors import UsageError
from agentctl.ops import documents, places
from agentctl.ops.approvals import Given, Meant, NoYesOrNo, decide, only_one
from agentctl.ops.asking import person

CallArgument: TypeAlias = Annotated[
    str | None,
    typer.Argument(metavar="[CALL]", help="Bot-7-3, or an event; left out: the only one"),
]
AsOption: TypeAlias = Annotated[
    str | None, typer.Option("--as", metavar="NAME", help="who decides (you)")
]
NoteOption: TypeAlias = Annotated[
    str, typer.Option("--note", metavar="TEXT", help="why, for the record and the audit log")
]


@dataclass(frozen=True)
class Request:
    """Which question is answered with yes or no, and who decides."""

    meant: Meant | None
    by: str | None
    note: str


def given(by: str | None, note: str, output: Output) -> Given:
    """Who answers, and what that one says to it.

    Raises:
        UsageError: nobody would.
    """
    if by is not None and not by.strip():
        raise UsageError("--as is empty, and a decision is somebody's", hint="leave it out")
    return Given(by or person(output.environ), note)


def answer(request: Request, output: Output, *, approve: bool) -> int:
    """Answer a question with yes or no, and say so; left out, the only one."""
    what, who = request.meant, given(request.by, request.note, output)
    place = find_place(output)
    desk = open_desk(place, output)
    if what is None:
        what = only_one(desk, places.choose_agents(place, desk, None))
    agent = what.address.agent
    places.check_known(place, desk, agent)
    held = desk.holder(agent) is not None
    try:
        document = decide(desk, what, who, approve=approve)
    except NoYesOrNo as error:
        line = f"agentctl invocation resume {error.call} --input JSON"
        error.hint = f"{line}, which takes {error.takes}"
        raise
    if output.options.json:
        output.document(documents.encode(document))
    else:
        output.line(plain(f"{'approved' if approve else 'denied'} {document.call}"))
        if not held:
            tell_start(place, desk, agent, output)
    return 0


def tell_start(place: places.Place, desk: Desk, agent: str, output: Output) -> None:
    """Say what it takes that an event goes on, where no program ran its agent when it was asked.

    One that did may be over by now, since it had nothing left to wait for.
    """
    if desk.holder(agent) is None:
        output.note(f"goes on with the next start: {place.start_of(agent)}")
