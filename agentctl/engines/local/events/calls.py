"""Running a capability's own code for one call.

It runs on the ordinary loop, in a task of its own, or in a worker thread if it blocks. Its
outcome comes back as a record, and as the handler will see it: read back from that record.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct

from agentctl.core.lifecycle import Cancellation
from agentctl.core.retry import RetryPolicy
from agentctl.engines.local.events.slots import Slots
from agentctl.engines.local.events.within import within
from agentctl.errors import AgentctlError, NotRecordable, UnknownOutcome
from agentctl.record_steps import AnswerRecord
from agentctl.records import ErrorRecord, FiredRecord, OkRecord
from agentctl.sdk.agent import spec_of
from agentctl.sdk.capability import CallOptions, is_blocking, merged_options, options_of
from agentctl.sdk.context import CALL, CallContext
from agentctl.sdk.execution import (
    AskOp,
    CallOp,
    CancelOp,
    Failure,
    Fired,
    Op,
    Outcome,
    QuestionOp,
    Result,
    ResultOp,
    SendOp,
    StepOp,
    TimerOp,
)
from agentctl.sdk.inputs import WaitForInput
from agentctl.sdk.signature import CallSignature
from agentctl.values import Codec, RecordedError, codec, decode_error, encode_error

log = logging.getLogger("agentctl")


class BoundMethod:
    """An implementation's method, ready to be called."""

    __slots__ = ("blocks", "fn", "options", "slots")

    def __init__(
        self,
        fn: Callable[..., Any],
        interface_options: CallOptions,
        *,
        timeout_us: int | None = None,
        retry: RetryPolicy | None = None,
        slots: Slots | None = None,
    ) -> None:
        """Put the method's options together.

        Args:
            timeout_us, retry: go over what the code says.
            slots: shared by all methods of the capability.
        """
        options = merged_options(interface_options, options_of(fn))
        self.fn = fn
        self.blocks = is_blocking(fn)
        self.options = replace(
            options,
            timeout_us=options.timeout_us if timeout_us is None else timeout_us,
            retry=options.retry if retry is None else retry,
        )
        self.slots = slots


class CallName(Struct, frozen=True, gc=False):
    """Whose call it is, its key, its method (`Payments.refund`), and since when it is made."""

    agent: str
    key: str
    fn: str
    since_us: int


class CallRun(Struct, frozen=True):
    """One call about to be made.

    Attributes:
        take_turn: waits for a slot; a stop takes the call out of the queue.
        entered: called with the call's key and name when its code begins.
    """

    op: CallOp
    method: BoundMethod
    context: CallContext
    threads: Callable[[], ThreadPoolExecutor]
    take_turn: Callable[[Slots], Awaitable[None]]
    entered: Callable[[str, str], None]


class Made(Struct, frozen=True):
    """What came of a call, or of an attempt of it.

    Attributes:
        outcome: as the handler sees it.
        value: the result as recorded; None where there is an error.
        error: the error as recorded.
        raised: the error itself.
        state: of a step: the fields of the state that it changed, a JSON object.
        waits: of a step that is no further until there is an input.
    """

    outcome: Outcome
    value: bytes | None = None
    error: RecordedError | None = None
    raised: BaseException | None = None
    state: bytes | None = None
    waits: WaitForInput | None = None

    def record(self, call: str, at_us: int) -> OkRecord | ErrorRecord:
        """What goes on record."""
        error = self.error
        if error is None:
            assert self.value is not None
            state = UNSET if self.state is None else Raw(self.state)
            return OkRecord(call, Raw(self.value), state, at=at_us)
        args = UNSET if error.args is None else Raw(error.args)
        return ErrorRecord(call, error.type, args, error.text, at=at_us)


def run_call(run: CallRun) -> Coroutine[Any, Any, Made]:
    """Run the code; what it raises is an outcome too, unless it is the program's end.

    Raises:
        asyncio.CancelledError: the call was dropped from outside.
        BaseException: whatever ends the program: nothing is recorded (R7).
    """
    slots = run.method.slots
    # For every call: one coroutine less than one that chooses while it runs.
    return _make(run) if slots is None else _make_in_turn(run, slots)


async def _make_in_turn(run: CallRun, slots: Slots) -> Made:
    # Crash here: the call is on record and waits its turn; the next start makes it.
    await run.take_turn(slots)
    try:
        return await _make(run)
    finally:
        slots.give_back()


async def _make(run: CallRun) -> Made:
    token = CALL.set(run.context)
    try:
        args, kwargs = run.op.method.signature.decode(run.op.args, run.op.kwargs)
        timeout_us = run.method.options.timeout_us
        run.entered(run.context.key, run.op.method.fn)
        work = perform(run.method, (args, kwargs), run.context, run.threads)
        if timeout_us is None:
            value = await work
        else:
            value = await within(timeout_us, work, f"{run.context.key}: {run.op.method.fn}")
    except Exception as error:  # noqa: BLE001 - the handler gets it
        return failed(error)
    except asyncio.CancelledError as error:
        if is_dropped():
            raise
        return failed(error)
    finally:
        CALL.reset(token)
    return succeeded(run.op.method.signature, run.op.method.fn, value)


def is_dropped() -> bool:
    """Whether the call was cancelled from outside, and not by its own code."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def perform(
    method: BoundMethod,
    given: tuple[Sequence[Any], Mapping[str, Any]],
    context: CallContext,
    threads: Callable[[], ThreadPoolExecutor],
) -> Awaitable[Any]:
    """Run a method's code, in a thread if it blocks."""
    args, kwargs = given
    fn = method.fn
    if not method.blocks:
        return fn(*args, **kwargs)  # type: ignore[no-any-return]
    return in_thread(fn, given, context.key, threads)


async def in_thread(
    fn: Callable[..., Any],
    given: tuple[Sequence[Any], Mapping[str, Any]],
    key: str,
    threads: Callable[[], ThreadPoolExecutor],
) -> Any:
    """Run what blocks in a thread; a thread can't be stopped, only no longer waited for."""
    given_up = False
    args, kwargs = given
    ctx = contextvars.copy_context()
    name = getattr(fn, "__qualname__", repr(fn))

    def watched() -> Any:
        try:
            return ctx.run(fn, *args, **kwargs)
        except StopIteration as error:
            # A future can't hold it: whoever waits would wait for ever.
            raise RuntimeError(f"{name} raised StopIteration") from error
        finally:
            if given_up:
                log.warning(
                    "%s: %s went on in its thread until now; nobody waits for it any more",
                    key,
                    name,
                )

    try:
        return await asyncio.get_running_loop().run_in_executor(threads(), watched)
    except asyncio.CancelledError:
        given_up = True
        raise


def succeeded(signature: CallSignature, fn: str, value: object) -> Made:
    """What came of a call that returned; what can't be recorded is its error."""
    codec = signature.result
    try:
        raw = codec.encode(value)
        return Made(Result(codec.decode(raw)), raw)
    except NotRecordable as error:
        # The call was made, and the record says so; the handler gets why its result is lost.
        return failed(NotRecordable(f"{fn} returned {error.message}", path=error.path))
    except Exception as error:  # noqa: BLE001 - whatever the value's own code raises
        return failed(NotRecordable(f"{fn} returned a value that can't be read: {error}"))


def failed(error: BaseException) -> Made:
    """What came of a call that raised."""
    recorded = encode_error(error)
    return Made(Failure(decode_error(recorded)), error=recorded, raised=error)


def unknown_outcome(key: str, op: CallOp) -> UnknownOutcome:
    """The error of a call that a crash cut off and that isn't repeated (R9)."""
    return UnknownOutcome(
        f"{key} ({op.method.fn}) was cut off by a crash, and isn't repeated",
        hint="find out whether it happened, or ask a person",
    )


def result_codec(op: Op) -> Codec[Any]:
    """How the result of a call, or of another agent's handler, is recorded."""
    match op:
        case CallOp():
            return op.method.signature.result
        case StepOp():
            return op.body.signature.result
        case QuestionOp():
            return op.codec
        case AskOp():
            spec, name = spec_of(op.cls), op.target.name
            return (spec.queries[name] if op.query else spec.handlers[name].signature).result
        case SendOp():
            return codec(op.returns)
        case CancelOp():
            return codec(Cancellation)
        case ResultOp():
            handler = None if op.cls is None else spec_of(op.cls).handlers.get(op.sent.handler)
            return codec(Any) if handler is None else handler.signature.result
        case _:
            raise AssertionError("a timer has no result")


def outcome_of(
    record: OkRecord | ErrorRecord | FiredRecord, op: Op, answer: AnswerRecord | None = None
) -> Outcome:
    """A recorded outcome as the handler sees it.

    Args:
        answer: of a question: how it was answered; None: its time was over.

    Raises:
        AgentctlError: the recorded value no longer fits the annotation.
    """
    if isinstance(record, FiredRecord):
        return Fired() if isinstance(op, TimerOp) else answered(op, answer)
    if isinstance(record, OkRecord):
        state = members_of(record.state) if isinstance(record.state, Raw) else None
        return Result(_read(op, record.value), state)
    args = bytes(record.args) if isinstance(record.args, Raw) else None
    return Failure(decode_error(RecordedError(record.type, args, record.text)))


def answered(op: Op, answer: AnswerRecord | None) -> Outcome:
    """What comes of a question.

    Raises:
        AgentctlError: the answer doesn't fit the question's type any more.
    """
    if answer is None:
        return Failure(TimeoutError("nobody answered in time"))
    return Result(_read(op, answer.value))


def _read(op: Op, value: Raw) -> Any:
    try:
        return result_codec(op).decode(bytes(value))
    except NotRecordable as error:
        raise AgentctlError(f"the recorded result no longer fits: {error.message}") from None


def members_of(state: Raw) -> dict[str, bytes]:
    """A state, or a part of one, field by field."""
    return {name: bytes(raw) for name, raw in _split(state).items()}


_split: Final[Callable[[Raw], Mapping[str, Raw]]] = msgspec.json.Decoder(dict[str, Raw]).decode
