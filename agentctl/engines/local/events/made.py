"""Made: what came of a call; as it goes on record, and as the handler gets it from there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct

from agentctl.core.lifecycle import Cancellation
from agentctl.errors import AgentctlError, NotRecordable, UnknownOutcome
from agentctl.record_steps import AnswerRecord
from agentctl.records import ErrorRecord, FiredRecord, OkRecord
from agentctl.sdk.agent import spec_of
from agentctl.sdk.execution import Failure, Fired, Outcome, Result
from agentctl.sdk.inputs import WaitForInput
from agentctl.sdk.ops import (
    AskOp,
    CallOp,
    CancelOp,
    Op,
    QuestionOp,
    ResultOp,
    SendOp,
    StepOp,
    TimerOp,
)
from agentctl.sdk.signature import CallSignature
from agentctl.values import Codec, RecordedError, codec, decode_error, encode_error


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

    @property
    def is_final(self) -> bool:
        """Whether it is its call's outcome, whatever the policy says."""
        return self.raised is None and self.waits is None

    def record(self, call: str, at_us: int) -> OkRecord | ErrorRecord:
        """What goes on record."""
        error = self.error
        if error is None:
            assert self.value is not None
            state = UNSET if self.state is None else Raw(self.state)
            return OkRecord(call, Raw(self.value), state, at=at_us)
        args = UNSET if error.args is None else Raw(error.args)
        return ErrorRecord(call, error.type, args, error.text, at=at_us)


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


def unknown_outcome(key: str, name: str) -> UnknownOutcome:
    """The error of a call that a crash cut off and that isn't repeated (R9)."""
    return UnknownOutcome(
        f"{key} ({name}) was cut off by a crash, and isn't repeated",
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
