"""The end of the calls of a program that stops: what they get of time, and who is cut off (R12).

Invariant: each agent's calls get that agent's grace and no more; whoever waits for them is told
what for. Never puts anything on record.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Final

from agentctl.engines.local.running.program import ProgramCore

_CLEAN_UP_S: Final = 0.5
"""What calls that are cut off get for their own clean-up; a thread is not waited for."""


def shorter(one: timedelta | None, other: timedelta | None) -> timedelta | None:
    """The shorter of two graces; None has no end."""
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


async def end_calls(program: ProgramCore, graces: Mapping[str, timedelta | None]) -> int:
    """Let running calls end, each as long as its agent's grace lasts; None waits for them.

    Returns:
        How many were cut off.
    """
    for waiting in program.asks:
        waiting.cancel()  # the answer is there at the next start, too
    by_agent: dict[str, list[asyncio.Task[None]]] = {}
    for task, name in program.tasks.items():
        if not task.done():
            by_agent.setdefault(name.agent, []).append(task)
    for agent, tasks in by_agent.items():
        names = [program.tasks[task] for task in tasks]
        program.listener.waiting([(name.key, name.fn) for name in names], graces[agent])
    each = (_end(tasks, graces[agent]) for agent, tasks in by_agent.items())
    return sum(await asyncio.gather(*each))


async def _end(tasks: Iterable[asyncio.Task[None]], grace: timedelta | None) -> int:
    timeout_s = None if grace is None else grace.total_seconds()
    _, running = await asyncio.wait(tasks, timeout=timeout_s)
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running, timeout=_CLEAN_UP_S)
    return len(running)
