"""Running a handler to its end, and undoing its done steps if it failed for good or was cancelled.

A bug undoes nothing: the event runs on from its record once the program is mended.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from typing import Any

from agentctl.sdk.loop import HandlerLoop, leave_standing
from agentctl.sdk.steps import undo_all


async def undone_if_failed(
    handler: Callable[[], Coroutine[Any, Any, Any]],
    loop: HandlerLoop,
    is_failure: Callable[[BaseException], bool],
) -> Any:
    """Run a handler; undo what it did in steps if it doesn't complete.

    Raises:
        BaseException: what the handler raised; in a group with what failed while it was undone.
    """
    coro = handler()
    try:
        value = await coro
    except BaseException as error:
        if inspect.getcoroutinestate(coro) != inspect.CORO_CLOSED:
            leave_standing(coro)  # it was to be closed, and wouldn't
        # Where it ends cancelled, also a clean-up that raised leaves the rest to be undone.
        ends = is_failure(error) or (_is_cancelled(loop) and _is_its_own(loop, error))
        if not loop.undoing or not ends:
            raise
        failed = await _undo(loop)
        if failed:
            raise _not_all_undone(loop, error, failed) from None
        raise
    if loop.undoing and _is_cancelled(loop):
        # It swallowed the cancellation, or had returned before it came; it ends by it anyway.
        failed = await _undo(loop)
        if failed:
            raise _not_all_undone(loop, None, failed)
    return value


def _is_cancelled(loop: HandlerLoop) -> bool:
    return loop.cancelling or loop.execution.cancelled


def _is_its_own(loop: HandlerLoop, error: BaseException) -> bool:
    """Whether the handler came to this; else its program lets go of it."""
    own = isinstance(error, Exception | asyncio.CancelledError | BaseExceptionGroup)
    return own and not loop.closed


def _not_all_undone(
    loop: HandlerLoop, error: BaseException | None, failed: list[Exception]
) -> BaseException:
    first = [] if error is None or isinstance(error, asyncio.CancelledError) else [error]
    what = "it was cancelled" if _is_cancelled(loop) else "it failed"
    return BaseExceptionGroup(f"{what}, and what it had done wasn't all undone", [*first, *failed])


async def _undo(loop: HandlerLoop) -> list[Exception]:
    """Undo it in a task of its own: a cancellation that comes meanwhile breaks nothing off."""
    task = loop.create_task(undo_all(loop), name="undoing")
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            continue
    found: list[Exception] = task.result()
    return found
