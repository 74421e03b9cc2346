"""`agentctl requeue set-aside`: put set-aside events back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer
from msgspec import structs

from agentctl.cli.editing import edit_json
from agentctl.cli.inputs import lock_wait_s, read_arguments
from agentctl.cli.output import Output
from agentctl.cli.place import find_place, open_desk
from agentctl.engines.changes import RequeueRequest
from agentctl.errors import UsageError
from agentctl.names import check_agent_name
from agentctl.ops import documents, places
from agentctl.ops.asking import new_id
from agentctl.ops.changes import RequeueDocument
from agentctl.ops.requeue import check_arguments, event_number, requeue, the_only_one

EXAMPLES = (
    ("agentctl requeue set-aside Bot", "put the only one back; finished calls are kept"),
    ("agentctl requeue set-aside Bot 1 4", "put events 1 and 4 back"),
    ("agentctl requeue set-aside Bot --all --dry-run", "tell what would be put back"),
    ("agentctl requeue set-aside Bot 1 --fresh --args '[8]'", "a new event, other arguments"),
)


@dataclass(frozen=True)
class Request:
    """Which events, and whether a person edits their arguments first."""

    request: RequeueRequest
    edit: bool
    lock_wait_s: float


def parse(
    *,
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="whose")],
    events: Annotated[
        list[str] | None,
        typer.Argument(metavar="[EVENT]...", help="numbers; left out: the only one"),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="all of them")] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="as new events; finished calls may happen twice")
    ] = False,
    args: Annotated[
        str | None,
        typer.Option("--args", metavar="JSON|@FILE|-", help="other arguments; needs --fresh"),
    ] = None,
    edit: Annotated[
        bool, typer.Option("--edit", help="edit the arguments in $EDITOR; needs --fresh")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only tell")] = False,
    lock_wait: Annotated[
        str, typer.Option("--lock-wait", metavar="DURATION", help="wait for another program (5s)")
    ] = "5s",
) -> Request:
    """Put set-aside events back; they run in the program that is there, or at the next start.

    They keep their numbers and their recorded calls: what was paid isn't paid again. With --fresh
    each becomes a new event from the start. See agentctl help again.
    """
    check_agent_name(agent)
    if every and events:
        raise UsageError("--all and events don't go together", hint="leave one of them out")
    if (edit or args is not None) and not fresh:
        flag = "--edit" if edit else "--args"
        raise UsageError(
            f"{flag} needs --fresh: the recorded calls belong to the recorded arguments",
            hint="add --fresh; its finished calls may happen twice",
        )
    request = RequeueRequest(
        agent,
        new_id(),
        tuple(event_number(event, agent) for event in events or ()),
        every=every,
        fresh=fresh,
        args=None if args is None else read_arguments(args, objects=False).decode(),
        dry_run=dry_run,
    )
    return Request(request, edit, lock_wait_s(lock_wait))


def execute(asked: Request, output: Output) -> int:
    """Put them back."""
    place = find_place(output)
    desk = open_desk(place, output)
    request = asked.request
    places.check_known(place, desk, request.agent)
    if asked.edit:
        number, args = the_only_one(desk, request)
        edited = edit_json(request.args.encode() if request.args else args, output.environ).decode()
        request = structs.replace(request, events=(number,), args=edited)
    alone = desk.holder(request.agent) is None
    if request.fresh and place.project is not None and alone:
        with output.users_code():
            check_arguments(desk, place.project, request)
    document, twice = requeue(desk, request, asked.lock_wait_s)
    if output.options.json:
        output.document(documents.encode(document))
    else:
        start = place.start_of(request.agent) if alone else None
        _tell(document, request, output, start=start)
    for call in twice:
        output.note(f"finished before, may happen twice: {call}")
    return 0


def _tell(
    document: RequeueDocument, request: RequeueRequest, output: Output, *, start: str | None
) -> None:
    for each in document.events:
        output.line(f"{'would requeue' if request.dry_run else 'requeued'} {each.event}")
        if each.was is not None:
            output.note(f"{each.event} takes the place of {each.was}, from the start")
    if document.events and not request.dry_run and start is not None:
        output.note(f"runs with the next start: {start}")
