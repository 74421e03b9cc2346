"""How an event comes to rest (R8): completed, failed, cancelled, stuck by a bug or a divergence."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import msgspec
from msgspec import UNSET, Raw

from agentctl.core.event_history import EndRecord
from agentctl.core.replay import Difference
from agentctl.engines.local.events.standing import line_of
from agentctl.engines.port import Ended
from agentctl.errors import (
    AgentError,
    CallFailed,
    Cancelled,
    Denied,
    Divergence,
    MissedRun,
    NotRecordable,
    OutcomeGone,
    StepFailed,
    Stuck,
    UnknownOutcome,
    WouldDeadlock,
)
from agentctl.frames import short_path
from agentctl.names import Address
from agentctl.record_moves import CancelledRecord, MissedRecord
from agentctl.records import BugRecord, DoneRecord, FailedRecord
from agentctl.sdk.agent import Agent
from agentctl.sdk.fields import AgentSpec, HandlerSpec
from agentctl.sdk.inputs import WaitForInput
from agentctl.sdk.loop import HandlerLoop
from agentctl.times import format_duration
from agentctl.value_errors import clean
from agentctl.values import RecordedError, decode_error, encode_error

_log = logging.getLogger("agentctl")

_OWN_ERRORS: Final = (
    AgentError,
    TimeoutError,
    CallFailed,
    Denied,
    MissedRun,
    OutcomeGone,
    StepFailed,
    UnknownOutcome,
    WouldDeadlock,
)
_DELIVERED: Final = "__agentctl_delivered__"
_CALL: Final = "__agentctl_call__"


@dataclass(frozen=True, slots=True)
class End:
    """How an event comes to rest.

    Attributes:
        record: what goes on record.
        ended: what listeners hear.
        error: what a waiting caller gets; None: the result.
    """

    record: EndRecord | BugRecord
    ended: Ended
    error: Exception | None


@dataclass(frozen=True, slots=True)
class Finished:
    """A handler that ran to its end.

    Attributes:
        state: the state that the event began with, each field as JSON.
        heard: whether somebody waits for the outcome.
    """

    event: Address
    handler: HandlerSpec
    obj: Agent
    spec: AgentSpec
    state: Mapping[str, bytes]
    heard: bool
    at_us: int


def returned(finished: Finished, value: object) -> End:
    """The end of a handler that returned; what can't be recorded is a bug of it."""
    try:
        raw = finished.handler.signature.result.encode(value)
        state = _new_state(finished)
    except NotRecordable as error:
        what = f"{finished.handler.signature.title}: {error.message}"
        return bug(finished, NotRecordable(what, path=error.path, hint=error.hint))
    event = _number(finished)
    record = DoneRecord(
        event,
        Raw(raw),
        state=UNSET if state is None else Raw(state),
        unheard=not finished.heard,
        at=finished.at_us,
    )
    return End(record, Ended(finished.event, finished.handler.name, "completed", raw), None)


def _new_state(finished: Finished) -> bytes | None:
    """The state as JSON if the event changed it, else None."""
    values = vars(finished.obj)
    members = {}
    for name, one in finished.spec.state.items():
        try:
            members[name] = one.codec.encode(values[name])
        except NotRecordable as error:
            inner = error.path if error.path.startswith("[") else error.path and f".{error.path}"
            reason = error.message.removeprefix(f"{error.path}: ")
            where = f"{name}{inner}"
            raise NotRecordable(f"the state {where}: {reason}", path=where) from None
        except KeyError:
            raise NotRecordable(f"the state {name} was deleted", path=name) from None
    changed = [name for name, raw in members.items() if raw != finished.state[name]]
    for name in changed:
        # What is committed must be readable for the instance's next event.
        finished.spec.state[name].codec.decode(members[name])
    return join_members(members) if changed else None


def join_members(members: Mapping[str, bytes]) -> bytes:
    """A JSON object of values that are JSON already."""
    return b"{" + b",".join(b'"%b":%b' % (k.encode(), v) for k, v in members.items()) + b"}"


def mark_delivered(error: Exception, call: str, raised: BaseException | None) -> None:
    """Remember of an error that it came out of a call: it ends its event as failed (R8).

    Args:
        call: which, as records have it.
        error: as the handler gets it, read back from the record.
        raised: what the capability raised, if that was in this program; for the traceback.
    """
    vars(error).update({_DELIVERED: raised, _CALL: call})


def of_loop(finished: Finished, loop: HandlerLoop) -> End:
    """The end of a handler, as its task came out; one that can't be told is its own bug."""
    try:
        return _of_loop(finished, loop)
    except Exception as error:  # noqa: BLE001 - whatever the author's own error does when asked
        return bug(finished, RuntimeError(f"its end can't be told: {type(error).__name__}"))


def _of_loop(finished: Finished, loop: HandlerLoop) -> End:
    root = loop.root
    assert root is not None
    if root.cancelled():
        return bug(finished, RuntimeError("the handler cancelled itself"))
    error = root.exception()
    if error is not None:
        return raised(finished, error)
    for fn, file, line in loop.unawaited.values():
        # A refund that was never made must not look like one.
        place = f"{short_path(file)}:{line}"
        forgotten = RuntimeError(f"{fn}() was called and never awaited: write `await` before it")
        return bug(finished, forgotten, place)
    return returned(finished, root.result())


def cancelled(finished: Finished, loop: HandlerLoop) -> End:
    """The end of a handler that was cancelled, whatever it made of that; its state goes (R20)."""
    root = loop.root
    assert root is not None
    error = root.exception() if root.done() and not root.cancelled() else None
    if error is not None:
        _log.warning("%s: its clean-up ended in %s", finished.event, _bug_text(error))
    record = CancelledRecord(_number(finished), ran=True, at=finished.at_us)
    return by_cancellation(finished.event, finished.handler.name, record)


def by_cancellation(event: Address, handler: str, record: CancelledRecord) -> End:
    """The end of an event that a cancellation on record ended."""
    hint = "invoke it again if it is wanted after all; of a workflow, delete its instance before"
    error = Cancelled(f"{event} was cancelled", hint=hint)
    return End(record, Ended(event, handler, "cancelled"), error)


def by_being_late(event: Address, handler: str, record: MissedRecord) -> End:
    """The end of an event whose due time was too long ago when it could have begun (R18)."""
    late = format_duration(timedelta(microseconds=record.late_us))
    error = MissedRun(
        f"{event} was missed: it was due {late} ago, and may not be so late",
        hint="invoke it again if it is wanted after all",
    )
    return End(record, Ended(event, handler, "missed", text=f"it was due {late} ago"), error)


def raised(finished: Finished, error: BaseException) -> End:
    """The end of a handler that raised."""
    if isinstance(error, Exception) and is_failure(error, finished.handler.handler.fails_on):
        return _failed(finished, error)
    if isinstance(error, WaitForInput):
        what = f"WaitForInput({error.text!r}) is for steps: a handler uses wait_for_input()"
        return bug(finished, RuntimeError(what), line_of(error))
    return bug(finished, error)


def is_failure(error: BaseException, fails_on: tuple[type[Exception], ...]) -> bool:
    """Whether an event whose handler raised this has failed; any other error is a bug of it."""
    if isinstance(error, BaseExceptionGroup):
        return all(is_failure(one, fails_on) for one in error.exceptions)
    if isinstance(error, (*_OWN_ERRORS, *fails_on)):
        return True
    return _DELIVERED in vars(error)


def _failed(finished: Finished, error: Exception) -> End:
    recorded = _recorded(error)
    args = UNSET if recorded.args is None else Raw(recorded.args)
    record = FailedRecord(
        _number(finished),
        recorded.type,
        args,
        recorded.text,
        calls=tuple(sorted(_failing_calls(error))),
        unheard=not finished.heard,
        at=finished.at_us,
    )
    ended = Ended(
        finished.event,
        finished.handler.name,
        "failed",
        type=recorded.type,
        text=recorded.text,
        error=_unforeseen(error),
    )
    return End(record, ended, _as_the_caller_sees(error, recorded))


def _failing_calls(error: BaseException) -> set[str]:
    """The calls that an error came out of, all that are in a group."""
    if isinstance(error, BaseExceptionGroup):
        return set().union(*map(_failing_calls, error.exceptions))
    return {vars(error)[_CALL]} if _CALL in vars(error) else set()


def _unforeseen(error: Exception) -> BaseException | None:
    """What a capability raised without declaring it; whoever looks for the fault wants it."""
    raised: BaseException | None = vars(error).get(_DELIVERED)
    return None if isinstance(raised, (*_OWN_ERRORS, NotRecordable)) else raised


def _recorded(error: Exception) -> RecordedError:
    """The error as recorded; a group also says what is in it."""
    recorded = encode_error(error)
    if isinstance(error, ExceptionGroup):
        inside = "; ".join(f"{one.type}: {one.text}" for one in map(_recorded, error.exceptions))
        return msgspec.structs.replace(recorded, text=f"{recorded.text}: {inside}")
    return recorded


def _as_the_caller_sees(error: Exception, recorded: RecordedError) -> Exception:
    if isinstance(error, ExceptionGroup):
        return error
    seen = decode_error(recorded)
    seen.__cause__ = error.__cause__ if type(seen) is type(error) else error
    return seen


def bug(finished: Finished, error: BaseException, place: str | None = None) -> End:
    """The rest of an event that a bug stopped: it runs again at the next start.

    Args:
        place: file and line, where the error's own traceback doesn't tell.
    """
    text, line = _bug_text(error), place or line_of(error)
    record = BugRecord(_number(finished), text, line, at=finished.at_us)
    stuck = Stuck(
        f"{finished.event} is stuck: {text}" + (f" ({line})" if line else ""),
        hint="mend the program and start it again: the event runs on from its record",
    )
    stuck.__cause__ = error
    ended = Ended(finished.event, finished.handler.name, "stuck", text=text, line=line, error=error)
    return End(record, ended, stuck)


def _bug_text(error: BaseException) -> str:
    text = clean("".join(traceback.format_exception_only(error)).strip())
    if isinstance(error, BaseExceptionGroup):
        return f"{text}: {'; '.join(map(_bug_text, error.exceptions))}"
    return text


def nothing_to_wait_for(finished: Finished) -> End:
    """The rest of an event whose handler waits for what nothing can bring about."""
    return bug(
        finished, RuntimeError("the handler waits for something that nothing can bring about")
    )


@dataclass(frozen=True, slots=True)
class Where:
    """Where and when replay differed: the handler's file and line, the time.

    Attributes:
        key: the call's key; `call` is the same as records have it.
        undo, forget: what accepting it would do to the record.
    """

    key: str
    line: str | None
    at_us: int
    call: str
    undo: tuple[str, ...] = ()
    forget: tuple[str, ...] = ()


def diverged(event: Address, handler: str, found: Difference, where: Where) -> End:
    """The rest of an event whose handler no longer does what is on record (R6)."""
    line = where.line
    text = (
        f"Divergence at {where.key}: on record is {found.recorded}, "
        f"the program asks for {found.asked} now"
    )
    assert event.event is not None
    record = BugRecord(
        event.event,
        text,
        line,
        divergence=True,
        call=where.call,
        undo=where.undo,
        forget=where.forget,
        at=where.at_us,
    )
    error = Divergence(
        f"{event}: {text}" + (f" ({line})" if line else ""),
        hint="put the old code back to let it finish, or retry it and accept the divergence",
    )
    ended = Ended(event, handler, "stuck", text=text, line=line, divergence=True)
    return End(record, ended, error)


def _number(finished: Finished) -> int:
    assert finished.event.event is not None
    return finished.event.event
