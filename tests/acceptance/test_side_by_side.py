"""Events side by side: each hears its own results again, whoever slept or ran tasks."""

from __future__ import annotations

from .shop import make_agents
from .support import CRASH, Project, wait_until

SIDE_BY_SIDE = """
from __future__ import annotations

import asyncio
import os
from abc import abstractmethod

from agentctl import Agent, Capability, handler
from ledger import note, noted


class World(Capability):
    @abstractmethod
    async def fetch(self, name: str) -> str: ...

    @abstractmethod
    async def report(self, name: str, values: list[str]) -> None: ...


class Real(World):
    async def fetch(self, name: str) -> str:
        note("fetch", name)
        if os.environ.get("CUT") and name == "last":
            while not {"fetch nap-1", "fetch task-0", "fetch task-1"} <= set(noted()):
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.3)
            os._exit(9)
        return name.upper()

    async def report(self, name: str, values: list[str]) -> None:
        note("report", name, *values)


class Bot(Agent):
    world: World

    @handler
    async def nap(self) -> None:
        first = await self.world.fetch("nap-1")
        await asyncio.sleep(1.5)
        second = await self.world.fetch("nap-2")
        await self.world.report("nap", [first, second])

    @handler
    async def tasks(self) -> None:
        tasks = [asyncio.create_task(self.world.fetch(f"task-{n}")) for n in range(2)]
        values = [await task for task in reversed(tasks)]
        await asyncio.sleep(1.5)
        await self.world.report("tasks", values)

    @handler
    async def cut(self) -> None:
        first = await self.world.fetch("cut-1")
        last = await self.world.fetch("last")
        await self.world.report("cut", [first, last])
"""

SUBMIT_THREE = """
import asyncio

from agentctl import start
from crew import Bot, Real


async def main() -> None:
    async with start(Bot, world=Real()) as bot:
        await asyncio.gather(bot.nap(), bot.tasks(), bot.cut())


asyncio.run(main())
"""


def test_k10_events_side_by_side_each_get_their_own_results(project: Project) -> None:
    project.write("crew.py", SIDE_BY_SIDE)
    project.write("submit.py", SUBMIT_THREE)
    make_agents(project, Bot="crew:Bot")
    assert project.python("submit.py", env={"CUT": "1"}).code == CRASH
    assert project.ledger("report") == []
    project.agentctl("run", "--until-idle=10s").expect(0)
    assert sorted(project.ledger("report")) == [
        "report cut CUT-1 LAST",
        "report nap NAP-1 NAP-2",
        "report tasks TASK-1 TASK-0",
    ]
    for name in ("nap-1", "cut-1", "task-0", "task-1", "nap-2"):
        assert project.ledger("fetch").count(f"fetch {name}") == 1, f"{name} was fetched twice"


def test_k10_kill_9_while_events_sleep_loses_none(project: Project) -> None:
    project.write("crew.py", SIDE_BY_SIDE)
    project.write("submit.py", SUBMIT_THREE)
    make_agents(project, Bot="crew:Bot")
    program = project.start_python("submit.py")
    wait_until(lambda: project.ledger("report cut"), "the event that doesn't sleep to end")
    program.cut_power()
    project.agentctl("run", "--until-idle=10s").expect(0)
    assert project.ledger("report nap") == ["report nap NAP-1 NAP-2"]
    assert project.ledger("report tasks") == ["report tasks TASK-1 TASK-0"]
    assert project.ledger("fetch").count("fetch nap-1") == 1
