"""Puts set-aside events back, or removes them for good.

Invariant: what these answer is durable. Never prints and never asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import UNSET

from agentctl.engines.changes import Dropped, DropRequest, RequeuedAll, RequeueRequest
from agentctl.engines.desk import Desk
from agentctl.errors import BadArguments, NotFound, NotRecordable, UsageError
from agentctl.names import Address
from agentctl.ops.asking import new_id
from agentctl.ops.changes import DropDocument, RequeuedEvent, RequeueDocument
from agentctl.project.model import Project

if TYPE_CHECKING:
    from agentctl.sdk.signature import CallSignature


def event_number(text: str, agent: str) -> int:
    """Read which event is meant: `1`, `#1`, `Bot#1` or `Bot:1`.

    Raises:
        UsageError: it is none of these, or another agent's.
    """
    bare = text.removeprefix("#")
    if bare.isascii() and bare.isdigit() and len(bare) <= 18:
        return int(bare)
    address = Address.parse(text)
    if address.event is None or address.agent != agent:
        raise UsageError(
            f"{text!r} is no event of {agent}", hint=f"name it by its number: 1, or {agent}#1"
        )
    return address.event


def requeue(
    desk: Desk, request: RequeueRequest, wait_s: float
) -> tuple[RequeueDocument, Sequence[str]]:
    """Put set-aside events back (R10).

    Args:
        wait_s: how long a program that holds the folder may be out of reach.

    Returns:
        What went back; and which calls may happen twice, since they were finished before.

    Raises:
        NotFound: there is none, or not this one.
        UsageError: several, and none was named; arguments without `fresh`.
        Locked: a program holds the folder.
    """
    if request.args is not None and not request.fresh:
        raise UsageError(
            "other arguments need a fresh event: the recorded calls belong to the recorded ones",
            hint="ask for a fresh one; its finished calls may happen twice",
        )
    answer = desk.carry_out(request, wait_s)
    assert isinstance(answer, RequeuedAll)
    done = answer.events
    events = (RequeuedEvent(each.event, request.fresh, each.was) for each in done)
    twice = [f"{each.event}: {call}" for each in done for call in each.may_happen_twice]
    return RequeueDocument(tuple(events), dry_run=True if request.dry_run else UNSET), twice


def check_arguments(desk: Desk, project: Project, request: RequeueRequest) -> None:
    """Refuse arguments that the events' handlers don't take; needs the user's code.

    A program that runs the agent checks them by itself, with the code that it has.

    Raises:
        BadArguments: they don't fit.
        NotFound: a handler is gone.
        ProjectError: the code can't be loaded.
    """
    from agentctl.engines.local.asking.words import from_json, handler_signature
    from agentctl.project.loading import load_class

    for view in desk.set_aside(request.agent):
        if not request.events or view.event.event in request.events:
            signature = handler_signature(load_class(project, request.agent), view.handler)
            if request.args is not None:
                from_json(signature, request.args)
            else:
                _check_recorded(signature, view.args, view.kwargs)


def _check_recorded(signature: CallSignature, args: bytes, kwargs: bytes | None) -> None:
    try:
        signature.bind(*signature.decode(args, kwargs))
    except NotRecordable as error:
        raise BadArguments(
            f"{signature.title}: the arguments in set-aside don't fit: {error.message}",
            hint=f"it is called as {signature.shown}; give it others",
        ) from None


def the_only_one(desk: Desk, request: RequeueRequest) -> tuple[int, bytes]:
    """The one event that a request means, with its arguments as JSON, to be edited.

    Raises:
        NotFound: there is none, or not this one.
        UsageError: it means several.
    """
    views = desk.set_aside(request.agent)
    meant = [view for view in views if not request.events or view.event.event in request.events]
    if not meant:
        raise NotFound(
            f"no such event of {request.agent} is set aside",
            hint=f"see which are: agentctl inspect set-aside {request.agent}",
        )
    if len(meant) > 1 or request.every:
        raise UsageError(
            "only one event's arguments can be edited at a time",
            hint=f"name one of: {', '.join(str(view.event.event) for view in meant)}",
        )
    number = meant[0].event.event
    assert number is not None, "an event in set-aside has a number"
    return number, meant[0].args


def drop(desk: Desk, agent: str, event: int, reason: str) -> DropDocument:
    """Remove a set-aside event for good.

    Raises:
        NotFound: it isn't set aside.
        UsageError: without a reason.
        Locked: a program holds the folder.
    """
    if not reason.strip():
        raise UsageError("dropping needs a reason", hint="say why; the audit log keeps it")
    answer = desk.carry_out(DropRequest(agent, new_id(), event, reason))
    assert isinstance(answer, Dropped)
    return DropDocument(answer.event, reason)
