"""Giving an event the input that it waits for (R21): checked, decided once, then acknowledged.

Decides from what the ground says that the event waits for; who comes second is told so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TypeAlias

from msgspec import Raw

from agentctl.core.event_history import EventHistory
from agentctl.core.finding import Found, find
from agentctl.core.inputs import check, read_input
from agentctl.core.waits import Wait, decided_of, is_given_up
from agentctl.engines.changes import Resumed, ResumeRequest
from agentctl.engines.local.changing.ground import Ground
from agentctl.errors import Conflict, NotFound, NotRecordable, UsageError
from agentctl.names import Address, format_call_key, format_instance
from agentctl.record_steps import AnswerRecord
from agentctl.records import Record
from agentctl.value_errors import clean

Answered: TypeAlias = Callable[[Ground, ResumeRequest, Resumed], Sequence[Record]]


def resume(ground: Ground, request: ResumeRequest, answered: Answered) -> Resumed:
    """Put an input on record, and let the event go on with it.

    Raises:
        NotFound: there is no such event, or no such call of it.
        Conflict: it doesn't wait, or not any more, or it was decided before.
        UsageError: the input doesn't fit its type; or several wait, and none is named.
    """
    found = find(ground.history, request.identity, event=request.event, key=request.key)
    if found is None:
        named = str(Address(ground.agent, request.identity, request.event))
        raise NotFound(
            f"{named if request.key is None else f'{named} {request.key}'} isn't known",
            hint=f"see what waits: agentctl invocation list {ground.agent} --status waiting",
        )
    address = str(Address(ground.agent, found.of, found.number))
    if not found.open or found.event is None:
        raise _over(ground, found, request.call)
    event = found.event
    instance = format_instance(ground.agent, found.of)
    waits = ground.waits(event)
    path = _path(ground, event, request, waits)
    key = format_call_key(instance, found.number, path)
    if is_given_up(event, path, waits[path]):
        raise Conflict(
            f"{address} was cancelled: it takes no input any more",
            hint=f"see how it ends: agentctl invocation show {address}",
        )
    value = _value(waits[path], request, key)
    record = AnswerRecord(
        f"{found.number}-{path}", value, clean(request.by), clean(request.note), at=ground.now_us()
    )
    done = Resumed(key, address)
    ground.commit([*answered(ground, request, done), record])
    # Crash here: decided, on record, answered or not; the next start goes on with it.
    ground.give(event, path, record)
    return done


def _path(
    ground: Ground, event: EventHistory, request: ResumeRequest, waits: Mapping[str, Wait]
) -> str:
    """Which call the input is for."""
    address = str(Address(ground.agent, event.accepted.of, event.number))
    instance = format_instance(ground.agent, event.accepted.of)
    if request.call is None:
        if len(waits) == 1:
            return next(iter(waits))
        if not waits:
            raise _not_waiting(ground, event, None)
        keys = ", ".join(format_call_key(instance, event.number, path) for path in waits)
        raise UsageError(
            f"{address} waits for {len(waits)} inputs: {keys}",
            hint="name the one that is meant: agentctl invocation resume CALL --input JSON",
        )
    if request.call not in waits:
        raise _not_waiting(ground, event, request.call)
    return request.call


def _over(ground: Ground, found: Found, path: str | None) -> NotFound | Conflict:
    """Why an event that is over takes nothing: its input was decided, as far as that is kept."""
    if found.event is not None:
        with suppress(Conflict):  # its calls aren't on record
            if decided_of(ground.whole(found.number)):
                return _not_waiting(ground, found.event, path)
    address = Address(ground.agent, found.of, found.number)
    return Conflict(
        f"{address} is over ({(found.over or 'ended').replace('_', ' ')}): "
        "it waits for no input any more",
        hint=f"see how it ended: agentctl invocation show {address}",
    )


def _not_waiting(ground: Ground, event: EventHistory, path: str | None) -> NotFound | Conflict:
    """Why there is nothing to be answered; it may take reading the journal."""
    address = str(Address(ground.agent, event.accepted.of, event.number))
    hint = f"see what it does: agentctl invocation show {address}"
    decided = decided_of(whole := ground.whole(event.number))
    if path is None:
        if not decided:
            return Conflict(f"{address} doesn't wait for an input", hint=hint)
        path = list(decided)[-1]
    key = format_call_key(format_instance(ground.agent, event.accepted.of), event.number, path)
    if path in decided:
        return Conflict(f"{key} is already decided: {decided[path]}", hint=hint)
    if path in whole.calls:
        return Conflict(f"{key} doesn't wait for an input, or no more", hint=hint)
    return NotFound(f"{address} has no call {key}", hint=hint)


def _value(wait: Wait, request: ResumeRequest, key: str) -> Raw:
    """The input as it goes on record."""
    try:
        if isinstance(request.value, Raw):
            value = check(bytes(request.value), wait.type, wait.schema)
        else:
            value = read_input(request.text or "", wait.type, wait.schema)
        if wait.fits is not None:
            wait.fits(value)
    except (UsageError, NotRecordable) as error:
        raise UsageError(
            f"{key} waits for {wait.type}, for {wait.text!r}: {error.message}", hint=error.hint
        ) from None
    return Raw(value)
