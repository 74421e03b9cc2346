"""`agentctl invocation cancel`: cancel one event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

import typer

from agentctl.cli.output import Output, plain
from agentctl.cli.place import find_place, open_desk
from agentctl.core.lifecycle import Cancellation
from agentctl.engines.changes import Cancelled
from agentctl.engines.desk import Desk
from agentctl.names import shell_words
from agentctl.ops import documents, places
from agentctl.ops.asking import asker
from agentctl.ops.changes import CancelDocument
from agentctl.ops.invocations import EXIT_CODES, Which, cancel, which

EXAMPLES = (
    ("agentctl invocation cancel Bot#3", "event 3 of Bot, if it isn't executing"),
    ("agentctl invocation cancel Bot order-7", "the one that was invoked with this key"),
    ("agentctl invocation cancel Bot#3 --running", "also if it is executing"),
)
RunningOption: TypeAlias = Annotated[
    bool, typer.Option("--running", help="also if it is executing; its clean-up still runs")
]
ReasonOption: TypeAlias = Annotated[
    str, typer.Option("--reason", metavar="TEXT", help="why, for the audit log")
]


@dataclass(frozen=True)
class Request:
    """Which event, and how.

    Attributes:
        listed_by: the command that shows which there are; a workflow is named without its key.
    """

    meant: Which
    running: bool
    reason: str
    listed_by: Literal["invocation list", "workflow list"] = "invocation list"


def parse(
    *,
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="Bot#3; or an agent, with a KEY")],
    key: Annotated[
        str | None, typer.Argument(metavar="[KEY]", help="the invocation's idempotency key")
    ] = None,
    running: RunningOption = False,
    reason: ReasonOption = "",
) -> Request:
    """Cancel one event; the answer is a word of its own.

    cancelled and already cancelled: exit 0. running and finished: 4, it is too late. unknown: 3.
    An event that had begun gets to clean up: its `finally` blocks run, and their calls are made.
    """
    return Request(which(agent, key), running, reason)


def execute(request: Request, output: Output) -> int:
    """Cancel it."""
    place = find_place(output)
    desk = open_desk(place, output)
    places.check_known(place, desk, request.meant.address.agent)
    document, answer = cancel(
        desk,
        request.meant,
        running=request.running,
        reason=request.reason,
        by=asker(output.environ),
    )
    if output.options.json:
        output.document(documents.encode(document))
    else:
        output.line(plain(_line(document, request)))
        _hint(document, request, output)
        follows = _what_follows(desk, answer, request.meant.address.agent)
        if follows:
            output.note(follows)
        if document.answer == Cancellation.UNKNOWN and _is_schedule(desk, request.meant):
            words = shell_words(str(request.meant.address), request.meant.key or "")
            output.note(f"hint: that is a schedule: agentctl schedule cancel {words}")
    return EXIT_CODES[Cancellation(document.answer)]


def _line(document: CancelDocument, request: Request) -> str:
    meant = request.meant
    words = document.answer.replace("_", " ")
    if document.event is None:
        named = meant.key is not None and request.listed_by == "invocation list"
        key = f" {meant.key}" if named else ""
        return f"{words} {meant.address}{key}"
    if document.answer == Cancellation.FINISHED and document.status is not None:
        return f"{words} {document.event} ({document.status.replace('_', ' ')})"
    return f"{words} {document.event}"


def _what_follows(desk: Desk, answer: Cancelled, agent: str) -> str:
    """What is still to come of a cancelled event whose code has begun; "" if that is soon over."""
    if not answer.cleans_up or answer.status is not None:
        return ""
    if desk.holder(agent) is None:
        return f"its clean-up runs with the next start: agentctl run {agent}"
    wait = f"agentctl invocation wait {answer.event}"
    return f"it ends once what it does now is over: {wait}" if answer.runs_on else ""


def _is_schedule(desk: Desk, meant: Which) -> bool:
    there = desk.schedules(meant.address.agent)
    return any((one.instance, one.name) == (meant.address, meant.key) for one in there)


def _hint(document: CancelDocument, request: Request, output: Output) -> None:
    if document.answer == Cancellation.RUNNING:
        output.note("hint: it is executing; cancel it all the same with --running")
    elif document.answer == Cancellation.UNKNOWN:
        output.note(f"hint: agentctl {request.listed_by} shows which there are")
    elif document.status == "set_aside":
        agent, _, number = (document.event or "").partition("#")
        output.note(
            f"hint: remove it for good with: agentctl set-aside drop {agent} {number} --reason TEXT"
        )
