"""Running one attempt of a step: code of the project, on the ordinary loop, on a copy of the state.

What the attempt changes of the state comes back with its result, and with nothing else. It calls
capabilities directly: what is denied, time limits and turns hold for these calls as for any, but
none of them is tried again by itself. Code that goes on behind its attempt's end calls nothing.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from msgspec import Struct, structs

from agentctl.engines.local.events.calls import BoundMethod, in_thread, is_dropped, perform
from agentctl.engines.local.events.endings import join_members
from agentctl.engines.local.events.made import Made, failed, succeeded
from agentctl.engines.local.events.slots import Slots
from agentctl.engines.local.events.within import within
from agentctl.errors import Denied, Dropped, NotRecordable, UsageError
from agentctl.sdk.capability import MethodSpec, is_blocking
from agentctl.sdk.context import CALL, CallContext
from agentctl.sdk.execution import Failure, Result
from agentctl.sdk.inputs import WaitForInput
from agentctl.sdk.loop import HandlerLoop
from agentctl.sdk.ops import StepOp
from agentctl.sdk.scope import SCOPE
from agentctl.sdk.step_state import changes, working_copy
from agentctl.sdk.workflow import share_results

_NO_ARGS: Final = b"[]"


class StepRun(Struct, frozen=True):
    """One attempt about to be made.

    Attributes:
        state: what the attempt begins with, each field as JSON.
        loop: the handler's.
        method: finds a capability's bound method; `denied` says why policy forbids it, or None.
        take_turn: waits for a slot.
        entered: called with the step's key and name when its code begins.
    """

    op: StepOp
    state: Mapping[str, bytes]
    loop: HandlerLoop
    context: CallContext
    method: Callable[[str, str], BoundMethod]
    denied: Callable[[str, str], str | None]
    threads: Callable[[], ThreadPoolExecutor]
    take_turn: Callable[[Slots], Awaitable[None]]
    entered: Callable[[str, str], None]


class Attempt:
    """One attempt, as its code sees it; implements `StepScope`.

    Attributes:
        over: it has its outcome, or nobody waits for one.
    """

    def __init__(self, run: StepRun) -> None:
        self._run = run
        self._calls = 0
        self.over = False
        self.loop = run.loop
        self.original = run.loop.agent

    def call(
        self,
        field: str,
        method: MethodSpec,
        given: tuple[Sequence[Any], Mapping[str, Any]],
        denied: str | None,
    ) -> Coroutine[Any, Any, Any]:
        """Call a capability's method; its key is below the step's, the same in every attempt.

        Raises:
            BadArguments: they don't fit the method.
            Dropped: the attempt is over; another may be under way.
        """
        if self.over:
            raise Dropped(f"{self._run.context.key}: this attempt is over")
        method.signature.bind(*given)
        self._calls += 1
        key = f"{self._run.context.key}.{self._calls}"
        return self._made(key, (field, method), given, denied)

    async def _made(
        self,
        key: str,
        what: tuple[str, MethodSpec],
        given: tuple[Sequence[Any], Mapping[str, Any]],
        denied: str | None,
    ) -> Any:
        field, spec = what
        refused = denied or self._run.denied(field, spec.name)
        if refused is not None:
            raise Denied(refused)
        method = self._run.method(field, spec.name)
        if method.slots is not None:
            await self._run.take_turn(method.slots)
        whole = self._run.context
        context = CallContext(key, whole.nonce, whole.attempt, whole.clock)
        call = CALL.set(context)
        scope = SCOPE.set(None)  # what the capability does is no part of the step
        try:
            work = perform(method, given, (key, spec.fn), self._run.threads)
            if method.options.timeout_us is None:
                return await work
            return await within(method.options.timeout_us, work, f"{key}: {spec.fn}")
        finally:
            SCOPE.reset(scope)
            CALL.reset(call)
            if method.slots is not None:
                method.slots.give_back()


async def run_step(run: StepRun) -> Made:
    """Make one attempt; what its code raises is an outcome too, unless it is the program's end.

    Raises:
        asyncio.CancelledError: the step was dropped from outside.
        BaseException: whatever ends the program: nothing is recorded (R7).
    """
    attempt, op = Attempt(run), run.op
    tokens = CALL.set(run.context), SCOPE.set(attempt)
    try:
        copy = working_copy(attempt.original, run.state)
        share_results(attempt.original, copy)
        value = await _worked(run, copy)
        made = succeeded(op.body.signature, f"the step {op.name}", value)
        return made if isinstance(made.outcome, Failure) else _with_state(made, run, copy)
    except WaitForInput as waits:
        return Made(Failure(TimeoutError("no input came in time")), waits=waits)
    except Exception as error:  # noqa: BLE001 - the handler gets it
        return failed(error)
    except asyncio.CancelledError as error:
        if is_dropped():
            raise
        return failed(error)
    finally:
        attempt.over = True
        CALL.reset(tokens[0])
        SCOPE.reset(tokens[1])


async def _worked(run: StepRun, copy: Any) -> Any:
    op, key = run.op, run.context.key
    args = op.body.signature.decode(op.args, None)[0] if op.args != _NO_ARGS else []
    fn = op.body.on(run.loop.agent, copy)
    name = f"step {op.name}"
    run.entered(key, name)
    if is_blocking(fn):
        work: Any = in_thread(fn, (args, {}), (key, name), run.threads)
    else:
        work = fn(*args)
        if not inspect.isawaitable(work):
            raise UsageError(
                f"the {name} isn't async", hint="write `async def`, or mark it @blocking"
            )
    if op.timeout_us is None:
        return await work
    return await within(op.timeout_us, work, f"{key}: {name}")


def _with_state(made: Made, run: StepRun, copy: Any) -> Made:
    """Add what the attempt changed of the state; if that can't be recorded, the step failed."""
    try:
        changed = changes(copy, run.state)
    except NotRecordable as error:
        return failed(NotRecordable(f"the step {run.op.name}: {error.message}", path=error.path))
    if not changed:
        return made
    outcome = made.outcome
    assert isinstance(outcome, Result)
    return structs.replace(
        made, state=join_members(changed), outcome=Result(outcome.value, changed)
    )
