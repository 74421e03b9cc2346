"""What goes on record of each thing that a handler asks for.

`event` is the beginning of the call's key as records have it, `17-`.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Raw, UnsetType

from agentctl.names import format_instance
from agentctl.records import CallRecord
from agentctl.sdk.capability import CallOptions
from agentctl.sdk.ops import AskOp, CallOp, CancelOp, QuestionOp, ResultOp, SendOp, StepOp, TimerOp
from agentctl.times import Uptime
from agentctl.values import digest


def call(event: str, op: CallOp, options: CallOptions, at_us: int) -> CallRecord:
    """A capability's call."""
    name, fn = event + op.path, op.method.fn
    if options.record == "digest":
        whole = digest(op.args + (op.kwargs or b""))
        return CallRecord(name, fn, digest=whole, repeat=options.repeat, at=at_us)
    args, kwargs = Raw(op.args), UNSET if op.kwargs is None else Raw(op.kwargs)
    return CallRecord(name, fn, args=args, kwargs=kwargs, repeat=options.repeat, at=at_us)


def timer(event: str, op: TimerOp, up: Uptime | None, at_us: int) -> CallRecord:
    """A wait for time."""
    since = None if up is None else str(up)
    return CallRecord(event + op.path, "timer", until=op.until_us, up=since, at=at_us)


def step(event: str, op: StepOp, at_us: int) -> CallRecord:
    """A step, or what undoes one."""
    undoes = None if op.undoes is None else event + op.undoes
    args = UNSET if op.args == b"[]" else Raw(op.args)
    name, repeat = event + op.path, op.repeat
    return CallRecord(name, "step", op.name, undoes, args=args, repeat=repeat, at=at_us)


def question(event: str, op: QuestionOp, up: Uptime | None, at_us: int) -> CallRecord:
    """A question to a person."""
    schema, until_us = op.type.description, op.until_us
    return CallRecord(
        event + op.path,
        "question",
        text=op.text,
        type=op.type.name,
        schema=UNSET if schema is None else Raw(schema),
        until=until_us,
        up=None if up is None or until_us is None else str(up),
        at=at_us,
    )


def other(event: str, op: AskOp | SendOp | CancelOp | ResultOp, at_us: int) -> CallRecord:
    """What concerns another event: a question, a timing, what one made."""
    path = event + op.path
    timing: Raw | UnsetType = UNSET
    match op:
        case CancelOp():
            return CallRecord(path, "cancel", to=op.sent.shown, at=at_us)
        case ResultOp():
            return CallRecord(path, "result", to=op.sent.shown, handler=op.sent.handler, at=at_us)
        case AskOp():
            fn = "query" if op.query else "ask"
        case SendOp():
            fn = "trigger" if op.timing.due_us is None and not op.timing.recurs else "schedule"
            timing = Raw(msgspec.json.encode(op.timing))
    return CallRecord(
        path,
        fn,
        args=Raw(op.args),
        kwargs=UNSET if op.kwargs is None else Raw(op.kwargs),
        to=format_instance(op.target.agent, op.target.identity),
        handler=op.target.name,
        timing=timing,
        at=at_us,
    )
