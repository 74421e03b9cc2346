"""Changes from outside: cancel, retry, delete, requeue, drop; each answered once and for all.

Decides from what the journal says. A change that was answered under an id is answered again the
same way: who asks may not have heard it, since whoever it asked was just ending.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Raw

from agentctl.core.event_history import EventHistory
from agentctl.core.finding import Found, find
from agentctl.core.lifecycle import Cancellation
from agentctl.core.retrying import failed_undoing, is_undone, made_again, plan_retry
from agentctl.engines.changes import (
    ANSWERS,
    Answer,
    Cancelled,
    CancelRequest,
    Change,
    Deleted,
    DeleteRequest,
    DropRequest,
    RequeueRequest,
    ResumeRequest,
    Retried,
    RetryRequest,
    State,
)
from agentctl.engines.local.changing import requeuing, resuming, scheduling
from agentctl.engines.local.changing.ground import Ground, Standing
from agentctl.engines.schedules import FireRequest, PauseRequest, UnscheduleRequest
from agentctl.errors import Conflict, NotFound
from agentctl.names import Address, format_instance
from agentctl.record_moves import (
    AnsweredRecord,
    CancelledRecord,
    CancelRecord,
    DeletedRecord,
)
from agentctl.records import Record
from agentctl.value_errors import clean

T = TypeVar("T")

_WORDS: Final = {
    Standing.IDLE: "queued",
    Standing.RAN: "under way",
    Standing.CUT_OFF: "under way",
    Standing.EXECUTING: "running",
}


def carry_out(ground: Ground, change: Change) -> Answer:
    """Carry out a change, or answer again what it was answered.

    Raises:
        NotFound: there is no such event or instance.
        Conflict: it is in another state than the change needs.
        UsageError: what is asked for isn't clear.
    """
    known = ground.history.answer_to(change.id)
    if known is not None:
        answer: Answer = answer_again(known, ANSWERS[type(change)])
        return answer
    match change:
        case CancelRequest():
            return _cancel(ground, change)
        case RetryRequest():
            return _retry(ground, change)
        case DeleteRequest():
            return _delete(ground, change)
        case RequeueRequest():
            return requeuing.requeue(ground, change, _answered)
        case DropRequest():
            return requeuing.drop(ground, change, _answered)
        case UnscheduleRequest():
            return scheduling.unschedule(ground, change, _answered)
        case PauseRequest():
            return scheduling.pause(ground, change, _answered)
        case FireRequest():
            return scheduling.fire(ground, change)
        case ResumeRequest():
            return resuming.resume(ground, change, _answered)


def answer_again(known: AnsweredRecord, kind: type[T]) -> T:
    """The answer that was given before."""
    return msgspec.json.decode(known.value, type=kind)


def _answered(ground: Ground, change: Change, answer: Any) -> Sequence[Record]:
    if not change.id:
        return ()
    return answered(ground, (change.id, str(change.__struct_config__.tag)), answer)


def answered(
    ground: Ground, asked: tuple[str, str], answer: Any, *, owed: bool = False
) -> Sequence[Record]:
    """The record of an answer, to be put on record with the change itself.

    In front of a change that is one record: a write that a crash cuts short must not leave the
    change without it.

    Args:
        asked: the id that was asked under, and what for.
        owed: it is kept until who asked is known to have it.
    """
    request, do = asked
    value = Raw(msgspec.json.encode(answer))
    return (AnsweredRecord(request, do, value, owed=owed, at=ground.now_us()),)


def _address(ground: Ground, found: Found) -> str:
    return str(Address(ground.agent, found.of, found.number))


def _cancel(ground: Ground, request: CancelRequest) -> Cancelled:
    found = find(ground.history, request.identity, event=request.event, key=request.key)
    if found is None:
        return Cancelled(Cancellation.UNKNOWN, key=request.key)
    event, address = found.event, _address(ground, found)
    key = request.key if event is None else event.accepted.key
    if not found.open or event is None:
        gone = found.over == State.CANCELLED
        answer = Cancellation.ALREADY_CANCELLED if gone else Cancellation.FINISHED
        status = None if found.over is None else State(found.over)
        return Cancelled(answer, address, key, status)
    standing, now_us = ground.standing(event), ground.now_us()
    before = event.cancel is not None
    by, reason = clean(request.by), clean(request.reason)
    done = Cancelled(
        Cancellation.ALREADY_CANCELLED if before else Cancellation.CANCELLED,
        address,
        key,
        cleans_up=standing is not Standing.IDLE,
        runs_on=standing is Standing.EXECUTING,
    )
    if standing is Standing.IDLE:
        record = CancelledRecord(found.number, by=by, reason=reason, at=now_us)
        ground.commit([*_answered(ground, request, done), record])
        # Crash here: over, on record, whether it was answered or not.
        ground.withdraw(event, record)
        return done
    if before:
        return done
    executes = standing in (Standing.EXECUTING, Standing.CUT_OFF)
    gently = event.accepted.once and executes and not request.running
    if standing is Standing.EXECUTING and not (request.running or gently):
        return Cancelled(Cancellation.RUNNING, address, key, State.RUNNING)
    cancel = CancelRecord(found.number, by, reason, gently, at=now_us)
    ground.commit([*_answered(ground, request, done), cancel])
    # Crash here: on record, answered or not; the next start cancels the event.
    ground.deliver(event, cancel)
    return done


def _retry(ground: Ground, request: RetryRequest) -> Retried:
    found = find(ground.history, request.identity, event=request.event, key=request.key)
    if found is None:
        named = str(Address(ground.agent, request.identity, request.event))
        raise NotFound(
            f"{named if request.key is None else f'{named} {request.key}'} isn't known: "
            "it never was, or is no longer kept",
            hint=f"see what is known: agentctl invocation list {ground.agent}; "
            f"and what ended: agentctl inspect audit {ground.agent}",
        )
    address = _address(ground, found)
    event = _retryable(ground, found, address)
    plan = plan_retry(
        event, accept=request.accept_divergence, by=clean(request.by), at_us=ground.now_us()
    )
    was = State.STUCK if found.open else State.FAILED
    done = Retried(address, was, made_again(event, plan))
    ground.commit([plan, *_answered(ground, request, done)])
    # Crash here: queued again, on record; the next start runs it.
    ground.queue_again([found.number])
    return done


def _retryable(ground: Ground, found: Found, address: str) -> Any:
    if found.over == State.SET_ASIDE:
        raise Conflict(
            f"{address} is set aside",
            hint=f"put it back with: agentctl requeue set-aside {ground.agent} {found.number}",
        )
    if not found.open and found.over != State.FAILED:
        raise Conflict(
            f"{address} is {found.over or 'over'}: there is nothing to run again",
            hint="invoke it again, as a new event",
        )
    if found.event is None:
        raise Conflict(
            f"{address} failed, and its calls are no longer kept",
            hint="invoke it again, as a new event; keep_failed says how long they are kept",
        )
    event = ground.whole(found.number)
    if not found.open and is_undone(event) and not failed_undoing(event):
        instance = format_instance(ground.agent, found.of)
        delete = f"delete the instance, agentctl agent delete {instance}, and run it again"
        raise Conflict(
            f"{address} was undone: its compensations ran, and what they undid isn't done again",
            hint=delete if event.accepted.once else "invoke it again, as a new event",
        )
    if (why := ground.why_unable(found.number)) is not None:
        raise Conflict(
            f"{address} can't be run by this program: {why}",
            hint="start the program anew with code that can: the event runs by itself then",
        )
    standing = ground.standing(found.event) if found.open else Standing.IDLE
    if found.open and (event.bug is None or standing is not Standing.IDLE):
        raise Conflict(
            f"{address} is {_WORDS[standing]}, neither stuck nor failed",
            hint=f"see what it waits for, and what comes next: agentctl why {address}",
        )
    return event


def _delete(ground: Ground, request: DeleteRequest) -> Deleted:
    history, of = ground.history, request.identity
    instance = str(Address(ground.agent, of))
    state = history.states.get(of)
    events = [event for event in history.open.values() if event.accepted.of == of]
    keys = sum(key[0] == of for key in history.outcomes)
    schedules = tuple(one.schedule for one in history.schedules.of(of))
    if state is None and not events and not keys and not schedules:
        raise NotFound(
            f"nothing is kept of {instance}: no state, no key, no open event",
            hint=f"see what is: agentctl agent list {ground.agent}",
        )
    # One that has been told to end, and doesn't, no longer stands in the way.
    running = [
        one for one in events if ground.standing(one) is Standing.EXECUTING and one.cancel is None
    ]
    if running:
        names = [str(Address(ground.agent, of, event.number)) for event in running]
        verb = "is" if len(names) == 1 else "are"
        raise Conflict(
            f"{instance} can't be deleted while {', '.join(names)} {verb} running",
            hint="wait for the end; or cancel it first, and then delete again: "
            f"agentctl invocation cancel {names[0]} --running",
        )
    deleted = Deleted(
        instance,
        0 if state is None else len(bytes(state.state)),
        tuple(str(Address(ground.agent, of, event.number)) for event in events),
        keys,
        tuple(
            str(Address(ground.agent, of, event.number))
            for event in events
            if not _ends_at_once(ground, event)
        ),
        schedules,
    )
    if not request.dry_run:
        _delete_now(ground, request, deleted, events)
    return deleted


def _ends_at_once(ground: Ground, event: EventHistory) -> bool:
    """Whether a deletion ends the event itself: it needs no clean-up, or had its chance of one."""
    return event.cancel is not None or ground.standing(event) is Standing.IDLE


def _delete_now(
    ground: Ground, request: DeleteRequest, deleted: Deleted, events: Sequence[EventHistory]
) -> None:
    of, now_us, by = request.identity, ground.now_us(), clean(request.by)
    reason = "its instance was deleted"
    ends = {
        each.number: CancelledRecord(each.number, by=by, reason=reason, at=now_us)
        for each in events
        if _ends_at_once(ground, each)
    }
    cancels = {
        each.number: CancelRecord(each.number, by, reason, at=now_us)
        for each in events
        if each.number not in ends
    }
    gone = DeletedRecord(of, by, at=now_us)
    answer = _answered(ground, request, deleted)
    ground.commit([*ends.values(), *cancels.values(), gone, *answer])
    # Crash here: on record as a whole, or not at all: it is one write.
    for event in events:
        if event.number in ends:
            ground.withdraw(event, ends[event.number])
    ground.forget(of)  # in the order of the records: what a cancelled key stood for goes, too
    for event in events:
        if event.number in cancels:
            ground.deliver(event, cancels[event.number])
