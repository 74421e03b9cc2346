"""What happens while a program runs: one invocation to its end, or serving until stopped.

Invariant: an answer that is returned is durable; an event without one stays on record and goes on
at the next start. Never handles signals and never prints: `stop_asked` says when to stop.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from agentctl.engines.port import Ended, Engine, InvokeRequest, Stopped
from agentctl.names import Address

if TYPE_CHECKING:
    import asyncio

_A_WHILE_S: Final = 0.5

How: TypeAlias = Literal["ended", "timeout", "stopped"]


@dataclass(frozen=True)
class Answer:
    """What came of an invocation.

    Attributes:
        ended: with `how == "ended"`.
    """

    how: How
    event: Address
    ended: Ended | None = None


@dataclass(frozen=True)
class Served:
    """How serving came to its end.

    Attributes:
        stuck: events that are stuck, where it ended since all was idle.
        asked: somebody asked for the stop.
    """

    stuck: Sequence[Address]
    stopped: Stopped
    asked: bool


async def invoke(
    engine: Engine,
    request: InvokeRequest,
    *,
    stop_asked: asyncio.Event,
    timeout_s: float | None = None,
    accepted: Callable[[Address], None] = lambda _: None,
    answered: Callable[[Answer], None] = lambda _: None,
    staying: Callable[[], None] = lambda: None,
) -> Answer:
    """Run one event to its end; in any case stop the program gracefully then.

    It is answered as soon as it has ended; the program ends when those that joined it meanwhile
    have their answers, too.

    Args:
        answered: hears the answer.
        staying: hears that the program goes on for others, if that takes a while.

    Raises:
        AgentctlError: it wasn't accepted, or the program can't go on.
    """
    event = await engine.submit(request)
    accepted(event)
    ended, how = await _first(engine, engine.ended(event), stop_asked, timeout_s)
    answer = Answer(how, event, ended)
    answered(answer)
    if how == "ended":
        _, others = await _first(engine, engine.others(), stop_asked, _A_WHILE_S)
        if others == "timeout":
            staying()
            await _first(engine, engine.others(), stop_asked, None)
    await engine.stop()
    return answer


async def serve(
    engine: Engine, *, stop_asked: asyncio.Event, idle_within_s: float | None = None
) -> Served:
    """Serve until somebody asks for the stop, or until all is idle.

    Idle: nothing is queued, running, or due within `idle_within_s`; None never asks.

    Raises:
        AgentctlError: the program can't go on.
    """
    if idle_within_s is None:
        found, how = await _first(engine, None, stop_asked, None)
    else:
        found, how = await _first(engine, engine.idle(idle_within_s), stop_asked, None)
    return Served(found or (), await engine.stop(), how == "stopped")


async def _first(
    engine: Engine,
    wanted: Coroutine[Any, Any, Any] | None,
    stop_asked: asyncio.Event,
    timeout_s: float | None,
) -> tuple[Any, How]:
    """Wait for what is wanted, the stop, the time, or the end of all; whichever is first."""
    import asyncio

    stop = asyncio.ensure_future(stop_asked.wait())
    broken = asyncio.ensure_future(engine.broken())
    work = asyncio.ensure_future(wanted) if wanted is not None else None
    tasks = [task for task in (work, broken, stop) if task is not None]
    try:
        await asyncio.wait(tasks, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        if work is not None and work.done():
            return work.result(), "ended"
        if broken.done():
            raise broken.result()
        return None, "stopped" if stop.done() else "timeout"
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
