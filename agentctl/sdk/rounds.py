"""Again and again: rounds on a grid, the occurrence that an event stands for, and backoff.

All of it follows from what the handler heard, so that a replay has the same rounds.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from agentctl.errors import UsageError
from agentctl.sdk.context import handler_loop
from agentctl.sdk.moments import period_us
from agentctl.times import to_datetime

if TYPE_CHECKING:
    import asyncio

    from agentctl.sdk.loop import HandlerLoop


@dataclass(frozen=True)
class Tick:
    """One round of `every`.

    Attributes:
        due: when it was due, in UTC.
        missed: how many due times it stands for, its own included, if it was missed; 0 in its turn.
    """

    due: datetime
    missed: int


@dataclass(frozen=True)
class Occurrence:
    """One firing of a schedule; its attributes are as those of a `Tick`."""

    due: datetime
    missed: int


def every(period: timedelta, /) -> AsyncGenerator[Tick, None]:
    """Go round on a grid, in a handler; the first round is one period after the start.

    Rounds that passed meanwhile, be it that the handler's own work took long or that no program
    ran, are one.

    Raises:
        UsageError: the period isn't a timedelta above zero.
    """
    handler_loop("every()")
    return _rounds(period_us(period))


async def _rounds(step_us: int) -> AsyncGenerator[Tick, None]:
    loop = handler_loop("every()")
    origin_us, over = loop.now_us, 0
    while True:
        await _until(loop, origin_us + (over + 1) * step_us)
        passed = (loop.now_us - origin_us) // step_us
        count, over = passed - over, passed
        yield Tick(to_datetime(origin_us + passed * step_us), count if count > 1 else 0)


async def _until(loop: HandlerLoop, due_us: int) -> None:
    if due_us <= loop.now_us:
        return
    woken = loop.create_future()
    timer = loop.call_at_us(due_us, _wake, woken)
    try:
        await woken
    finally:
        timer.cancel()


def _wake(future: asyncio.Future[None]) -> None:
    if not future.cancelled():
        future.set_result(None)


def occurrence() -> Occurrence | None:
    """The firing of a schedule that this event is, in a handler; None: it is none's."""
    found = handler_loop("occurrence()").execution.occurrence
    return None if found is None else Occurrence(to_datetime(found[0]), found[1])


def backoff(base: float, failures: int, /, *, cap: float, factor: float = 2.0) -> float:
    """Seconds to wait after so many failures: `base` after none, `factor` times it after each.

    Raises:
        UsageError: numbers that make no delay.
    """
    for what, number, least in (("base", base, 0), ("cap", cap, 0), ("factor", factor, 1)):
        if not (least <= number < float("inf")):
            raise UsageError(f"backoff: {what} is {number}, and must be at least {least}")
    if failures < 0:
        raise UsageError(f"backoff: there were {failures} failures")
    try:
        return float(min(base * factor**failures, cap))
    except OverflowError:
        return float(cap) if base else 0.0
