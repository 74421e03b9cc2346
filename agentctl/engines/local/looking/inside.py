"""A look into a running program: what executes, which calls are made, where their code stands."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import FrameType

from agentctl.engines.local.running.agent import AgentRuntime
from agentctl.engines.local.running.program import ProgramCore
from agentctl.engines.port import Warned
from agentctl.engines.views import Inside, RunningCall
from agentctl.frames import is_users, short_path


def look(agent: AgentRuntime, program: ProgramCore, warnings: Sequence[Warned]) -> Inside:
    """Look at one agent of the program."""
    calls = [
        RunningCall(name.key, name.fn, name.since_us, _where(task))
        for task, name in program.tasks.items()
        if name.agent == agent.name and not task.done()
    ]
    return Inside(
        program.now_us(),
        sorted(agent.events.executing),
        agent.ends.unable,
        calls,
        [(one.at_us, one.text) for one in warnings],
        sorted(agent.instances.holding() | agent.calendar.holding()),
    )


def _where(task: asyncio.Task[None]) -> str | None:
    """File and line of the user's code that a call waits in; a thread's can't be seen."""
    frames = [f for f in task.get_stack() if is_users(f.f_code.co_filename)]
    if not frames:
        frames = [f for f in _awaited(task) if is_users(f.f_code.co_filename)]
    if not frames:
        return None
    frame = frames[-1]
    return f"{short_path(frame.f_code.co_filename)}:{frame.f_lineno}"


def _awaited(task: asyncio.Task[None]) -> list[FrameType]:
    """The frames that a task's coroutine waits in, from the outside in."""
    found: list[FrameType] = []
    current: object = task.get_coro()
    while current is not None:
        frame = getattr(current, "cr_frame", None)
        if frame is not None:
            found.append(frame)
        current = getattr(current, "cr_await", None)
    return found
