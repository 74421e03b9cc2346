"""A sleep of any length: nothing early, nothing raised, nothing lost."""

from __future__ import annotations

import time

import pytest

from .shop import make_agents
from .support import Project

NAPS = """
from __future__ import annotations

import asyncio
from abc import abstractmethod
from datetime import timedelta

from agentctl import Agent, Capability, handler, sleep
from ledger import note


class World(Capability):
    @abstractmethod
    async def wake(self, days: float) -> None: ...


class Real(World):
    async def wake(self, days: float) -> None:
        note("awake", days)


class Bot(Agent):
    world: World

    @handler
    async def nap(self, days: float) -> float:
        await asyncio.sleep(days * 86400)
        await self.world.wake(days)
        return days

    @handler
    async def rest(self, days: float) -> float:
        await sleep(timedelta(days=days))
        await self.world.wake(days)
        return days
"""

SLEEPERS = """
import asyncio

from agentctl import start
from crew import Bot, Real


async def main() -> None:
    async with start(Bot, world=Real()) as bot:
        naps = [asyncio.ensure_future(n) for n in (bot.nap(45), bot.rest(45), bot.rest(3650))]
        done, _ = await asyncio.wait(naps, timeout=0.8)
        print("ended early:", [task.exception() or task.result() for task in done])
        for task in naps:
            task.cancel()


asyncio.run(main())
"""


@pytest.mark.parametrize("days", ["0", "-1"])
@pytest.mark.parametrize("handler", ["nap", "rest"])
def test_c11_a_sleep_of_nothing_or_less_returns_at_once(
    project: Project, handler: str, days: str
) -> None:
    project.write("crew.py", NAPS)
    make_agents(project, Bot="crew:Bot")
    result = project.agentctl("invoke", "Bot", handler, "--", days, timeout=10).expect(0)
    assert float(result.out) == float(days)
    assert len(project.ledger("awake")) == 1


def test_c11_a_sleep_of_45_days_neither_raises_nor_ends_early(project: Project) -> None:
    project.write("crew.py", NAPS)
    project.write("sleepers.py", SLEEPERS)
    make_agents(project, Bot="crew:Bot")
    slept = project.python("sleepers.py").expect(0)
    assert slept.out == "ended early: []\n", slept.err
    timers = [record for record in project.records() if record.get("fn") == "timer"]
    day = 86_400_000_000
    rest = sorted(round((timer["until"] - time.time() * 1_000_000) / day) for timer in timers)
    assert rest == [45, 45, 3650]
    again = project.agentctl("run", "--until-idle").expect(0)
    assert project.ledger("awake") == [], again.both
