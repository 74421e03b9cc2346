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
from typing import Any

from msgspec import Struct

from agentctl.core.retry import RetryPolicy
from agentctl.engines.local.events.made import Made, failed, succeeded
from agentctl.engines.local.events.slots import Slots
from agentctl.engines.local.events.within import within
from agentctl.errors import UsageError
from agentctl.sdk.capability import CallOptions, is_blocking, merged_options, options_of
from agentctl.sdk.context import CALL, CallContext
from agentctl.sdk.inputs import WaitForInput
from agentctl.sdk.ops import CallOp

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
        label = run.context.key, run.op.method.fn
        work = perform(run.method, (args, kwargs), label, run.threads)
        if timeout_us is None:
            value = await work
        else:
            value = await within(timeout_us, work, ": ".join(label))
    except WaitForInput:
        wrong = f"{run.op.method.fn} raised WaitForInput, which only a step may"
        return failed(UsageError(wrong, hint="call it in a step; a handler uses wait_for_input()"))
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
    label: tuple[str, str],
    threads: Callable[[], ThreadPoolExecutor],
) -> Awaitable[Any]:
    """Run a method's code, in a thread if it blocks; `label` is the call's key and name."""
    args, kwargs = given
    fn = method.fn
    if not method.blocks:
        return fn(*args, **kwargs)  # type: ignore[no-any-return]
    return in_thread(fn, given, label, threads)


async def in_thread(
    fn: Callable[..., Any],
    given: tuple[Sequence[Any], Mapping[str, Any]],
    label: tuple[str, str],
    threads: Callable[[], ThreadPoolExecutor],
) -> Any:
    """Run what blocks in a thread; a thread can't be stopped, only no longer waited for."""
    given_up = False
    args, kwargs = given
    ctx = contextvars.copy_context()

    def watched() -> Any:
        try:
            return ctx.run(fn, *args, **kwargs)
        except StopIteration as error:
            # A future can't hold it: whoever waits would wait for ever.
            raise RuntimeError(f"{label[1]} raised StopIteration") from error
        finally:
            if given_up:
                log.warning(
                    "%s: %s went on in its thread until now; nobody waits for it any more",
                    *label,
                )

    try:
        return await asyncio.get_running_loop().run_in_executor(threads(), watched)
    except asyncio.CancelledError:
        given_up = True
        raise
