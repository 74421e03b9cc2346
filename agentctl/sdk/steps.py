"""`step`: a piece of a handler's work that is one call, tried as often as its policy says.

Its code runs like a capability's, on the ordinary loop; only its end is on record, with the state
that it changed. What undoes done steps runs when the event fails for good or is cancelled.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, TypeVar, TypeVarTuple

from agentctl.core.retry import ONCE, RetryPolicy
from agentctl.errors import BadArguments, StepFailed, UsageError
from agentctl.sdk.capability import DEFAULT_OPTIONS, CallOptions, Duration, options_of
from agentctl.sdk.context import handler_loop
from agentctl.sdk.moments import wait_us
from agentctl.sdk.ops import StepOp
from agentctl.sdk.step_body import StepBody
from agentctl.sdk.stubs import CallStub, method_of

if TYPE_CHECKING:
    from agentctl.sdk.loop import HandlerLoop

R = TypeVar("R")
Ts = TypeVarTuple("Ts")

LONGEST_NAME: Final = 128
"""Of a step, in characters."""

_ELSEWHERE: Final = "out here just await the function itself"


@dataclass(frozen=True)
class StepDef:
    """A step of a plan that came in as data.

    Attributes:
        name: what it is called, and which body it has.
        timeout: seconds that one attempt may take.

    Raises:
        UsageError: it makes no sense.
    """

    name: str
    retry: RetryPolicy | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        check_step(self.name, self.timeout)


@dataclass(frozen=True)
class Undoing:
    """What undoes a step that is done.

    Attributes:
        path: of the step.
    """

    name: str
    path: str
    fn: Callable[[Any], Awaitable[object]]
    result: Any
    retry: RetryPolicy | None


def step(
    name: str,
    fn: Callable[[*Ts], Awaitable[R]],
    /,
    *args: *Ts,
    retry: RetryPolicy | None = None,
    timeout: Duration | None = None,
    compensate: Callable[[R], Awaitable[object]] | None = None,
    compensate_retry: RetryPolicy | None = None,
) -> Coroutine[Any, Any, R]:
    """Run a step: one call, whose code may use the agent's capabilities and change its state.

    Args:
        name: of the step, for people.
        fn: its code; a method of the agent gets a working copy as its `self`.
        args: recorded by the annotations of `fn`.
        retry: how often it is tried; default: what `@call(retry=…)` says of a capability's
            method, else once.
        timeout: how long one attempt may take; then it has failed with `TimeoutError`.
        compensate: undoes it, given its result, if the event fails for good or is cancelled
            later; a step, too.
        compensate_retry: how often that is tried.

    Raises:
        UsageError: it isn't used in a handler, or an argument makes no sense.
        BadArguments, NotRecordable: the arguments don't fit the code.
    """
    loop = handler_loop("step()", _ELSEWHERE)
    loop.refuse_once_closed()
    check_step(name, timeout)
    op = _op(loop, name, (fn, args), (retry, timeout))
    stub = CallStub(loop, op, f"step {name}", _caller())
    if compensate is None:
        return stub
    _check_undoing(name, compensate)
    undoing = compensate, compensate_retry
    return _undoable(loop, stub, (name, op.path), undoing)


def _caller() -> FrameType:
    return sys._getframe(2)


def check_step(name: object, timeout: Duration | None) -> None:
    """Refuse what can't be a step.

    Raises:
        UsageError: the name or the timeout makes no sense.
    """
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise UsageError(f"{name!r} can't be a step's name", hint="give it a short text")
    if timeout is not None and wait_us("the timeout", timeout) <= 0:
        raise UsageError(f"a timeout of {timeout} leaves the step {name!r} no time")


def _check_undoing(name: str, compensate: Callable[[Any], Awaitable[object]]) -> None:
    try:
        StepBody(compensate).signature.bind((None,), {})
    except BadArguments as error:
        raise UsageError(
            f"what undoes the step {name!r} doesn't take its result: {error.message}",
            hint="it is called with what the step returned, and nothing else",
        ) from None


def _op(
    loop: HandlerLoop,
    name: str,
    work: tuple[Callable[..., Any], Sequence[Any]],
    how: tuple[RetryPolicy | None, Duration | None],
    *,
    undoing: tuple[str, str] | None = None,
) -> StepOp:
    fn, args = work
    retry, timeout = how
    if retry is not None and not isinstance(retry, RetryPolicy):
        raise UsageError(f"retry is {retry!r}", hint="give a RetryPolicy(…)")
    body, options = StepBody(fn), _own_options(fn)
    listed, _ = body.signature.encode(args, {})
    path, undoes = undoing or (loop.branch().next_path(), None)
    return StepOp(
        path,
        name,
        body,
        listed,
        retry or options.retry or ONCE,
        None if timeout is None else wait_us("the timeout", timeout),
        undoes,
        options.repeat,
    )


def _own_options(fn: Callable[..., Any]) -> CallOptions:
    """What a capability's method says of itself; how it is bound says no more here."""
    method = method_of(fn)
    if method is None:
        return DEFAULT_OPTIONS
    return options_of(getattr(method.interface, method.name))


async def _undoable(
    loop: HandlerLoop,
    stub: CallStub,
    at: tuple[str, str],
    undoing: tuple[Callable[[Any], Awaitable[object]], RetryPolicy | None],
) -> Any:
    result = await stub
    name, path = at
    loop.undoing.append(Undoing(name, path, undoing[0], result, undoing[1]))
    return result


async def undo_all(loop: HandlerLoop) -> list[Exception]:
    """Undo the steps that are done, the last one first; return what failed for good.

    One that can't be undone keeps none before it from being undone. Retried, it comes last.
    """
    import asyncio

    for task in loop.unfinished:
        if task is not asyncio.current_task(loop):
            task.cancel()
    failed: list[Exception] = []
    while loop.undoing:
        done: list[Undoing] = list(reversed(loop.undoing))
        loop.undoing.clear()
        undoings = {loop.branch().next_path(): undoing for undoing in done}
        for path in loop.execution.as_recorded(list(undoings)):
            try:
                await _undo(loop, path, undoings[path])
            except Exception as error:  # noqa: BLE001 - told with what the event failed of
                failed.append(error)
    return failed


async def _undo(loop: HandlerLoop, path: str, undoing: Undoing) -> None:
    work, how = (undoing.fn, (undoing.result,)), (undoing.retry, None)
    op = _op(loop, undoing.name, work, how, undoing=(path, undoing.path))
    await CallStub(loop, op, f"undo {undoing.name}", sys._getframe())


async def run_steps(
    plan: Sequence[StepDef], bodies: Mapping[str, Callable[[], Awaitable[object]]], /
) -> dict[str, object]:
    """Run a plan that came in as data, in its order; return each step's result by name.

    Raises:
        StepFailed: a step of the plan has no body, or is there twice; none was run.
    """
    loop = handler_loop("run_steps()", _ELSEWHERE)
    for one in plan:
        if not isinstance(one, StepDef):
            raise UsageError(f"the plan has {one!r:.80}", hint="a plan is a list of StepDef(…)")
    names = [one.name for one in plan]
    for name in names:
        if name not in bodies:
            known = ", ".join(bodies) or "none"
            raise StepFailed(f"the plan's step {name!r} has no body; there are: {known}")
        if names.count(name) > 1:
            raise StepFailed(f"the plan's step {name!r} is there twice")
    results: dict[str, object] = {}
    for one in plan:
        check_cancelled(loop)
        results[one.name] = await step(
            one.name, bodies[one.name], retry=one.retry, timeout=one.timeout
        )
    return results


def check_cancelled(loop: HandlerLoop) -> None:
    """Begin no further step once a cancellation is on record.

    Raises:
        asyncio.CancelledError: there is one.
    """
    if loop.cancelling:
        import asyncio

        raise asyncio.CancelledError
