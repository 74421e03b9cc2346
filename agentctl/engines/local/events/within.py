"""One attempt's time: what isn't over by then is stopped, and what can't be stopped is left behind.

Code that goes on although it was cancelled, and a thread, which can't be, run on by themselves;
what they come to is dropped, and said so.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import Any, Final

from agentctl.times import SECOND_US

log = logging.getLogger("agentctl")

STOPS_WITHIN_S: Final = 5.0
"""So long code that was cancelled may clean up before it is left behind."""


async def within(timeout_us: int, work: Awaitable[Any], what: str) -> Any:
    """Wait for an attempt's code as long as it may take.

    Args:
        what: the call's key and name, for the warning.

    Raises:
        TimeoutError: it took longer.
        asyncio.CancelledError: the call was dropped from outside.
        BaseException: whatever ends the program, as the code raised it.
    """
    task = asyncio.ensure_future(_awaited(work))
    try:
        await asyncio.wait({task}, timeout=timeout_us / SECOND_US)
        if task.done():
            return _came_of(task)
    except asyncio.CancelledError:
        await _stop(task, what)
        raise
    await _stop(task, what)
    if task.done() and not task.cancelled() and task.exception() is None:
        _came_of(task)  # only what ends the program is of interest
    raise TimeoutError(f"it took longer than {timeout_us / SECOND_US:g} s")


async def _awaited(work: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    try:
        return await work, None
    except (SystemExit, KeyboardInterrupt) as error:
        # A task that raised it would stop the loop as a person does; it is the program's death.
        return None, error


def _came_of(task: asyncio.Task[tuple[Any, BaseException | None]]) -> Any:
    value, error = task.result()
    if error is not None:
        raise error
    return value


async def _stop(task: asyncio.Task[Any], what: str) -> None:
    task.cancel()
    await asyncio.wait({task}, timeout=STOPS_WITHIN_S)
    if not task.done():
        task.add_done_callback(lambda late: _say_late(late, what))
    elif not task.cancelled() and task.exception() is None:
        _say_late(task, what)


def _say_late(task: asyncio.Task[Any], what: str) -> None:
    if not task.cancelled():
        task.exception()  # nobody else asks for it
    log.warning("%s went on after its time was over; what came of it is dropped", what)
