"""One bad event takes no neighbour with it."""

from __future__ import annotations

import time

from .shop import make_agents
from .support import CRASH, Project, wait_until

CREW = """
from __future__ import annotations

import asyncio
import os
from abc import abstractmethod

from agentctl import Agent, Capability, handler
from ledger import note, noted

POISON = 20
RUN = os.environ["RUN"]


class World(Capability):
    @abstractmethod
    async def work(self, order: int) -> int: ...

    @abstractmethod
    async def finish(self, order: int, value: int) -> None: ...


class Real(World):
    async def work(self, order: int) -> int:
        note(f"run-{RUN} begins", order)
        if order == POISON:
            await self.neighbours_at_work()
            os._exit(9)
        if "HANG" in os.environ:
            await asyncio.sleep(60)
        return order * 2

    async def neighbours_at_work(self) -> None:
        if "HANG" not in os.environ:
            return
        for _ in range(1000):
            if len([line for line in noted() if line.startswith(f"run-{RUN} begins")]) == 64:
                return
            await asyncio.sleep(0.01)
        os._exit(8)

    async def finish(self, order: int, value: int) -> None:
        note("finish", order, value)


class Bot(Agent):
    world: World

    @handler
    async def request(self, order: int) -> int:
        value = await self.world.work(order)
        await self.world.finish(order, value)
        return value


class Clerk(Agent):
    world: World

    @handler
    async def request(self, order: int) -> int:
        value = await self.world.work(order)
        await self.world.finish(order, value)
        return value
"""

SUBMIT = """
import asyncio

from agentctl import Host, bind
from crew import Bot, Clerk, Real


async def main() -> None:
    async with Host(bind(Bot, world=Real()), bind(Clerk, world=Real())):
        await asyncio.gather(
            *(Bot.ref().request(order) for order in range(32)),
            *(Clerk.ref().request(order) for order in range(32, 64)),
        )


asyncio.run(main())
"""


def test_p1_the_event_that_kills_the_program_is_set_aside_alone(project: Project) -> None:
    project.write("crew.py", CREW)
    project.write("submit.py", SUBMIT)
    make_agents(project, Bot="crew:Bot", Clerk="crew:Clerk")
    assert project.python("submit.py", env={"RUN": "1", "HANG": "1"}).code == CRASH
    # After the first death all start together: 64 are at work when the program dies again.
    project.agentctl("run", "--until-idle", env={"RUN": "2", "HANG": "1"}).expect(CRASH)
    codes = []
    while 0 not in codes and len(codes) < 5:
        number = str(3 + len(codes))
        codes.append(project.agentctl("run", "--until-idle", env={"RUN": number}).code)
    assert codes[-1] == 0, f"the project never got past its bad event: {codes}"
    assert set(codes[:-1]) <= {CRASH}, codes
    aside = [line for line in project.set_aside("Bot") if line.startswith('{"event":')]
    assert len(aside) == 1
    assert '"args":[20]' in aside[0]
    assert project.set_aside("Clerk") == []
    finished = [line.split() for line in project.ledger("finish")]
    orders = sorted({int(order) for _, order, _ in finished})
    assert orders == [order for order in range(64) if order != 20]
    assert all(int(value) == 2 * int(order) for _, order, value in finished)


def test_p1_two_deaths_are_enough_to_make_suspects_take_turns(project: Project) -> None:
    project.write("crew.py", CREW)
    project.write("submit.py", SUBMIT)
    make_agents(project, Bot="crew:Bot", Clerk="crew:Clerk")
    project.python("submit.py", env={"RUN": "1", "HANG": "1"})
    project.agentctl("run", "--until-idle", env={"RUN": "2", "HANG": "1"}).expect(CRASH)
    third = project.start_agentctl("run", env={"RUN": "3", "HANG": "1"})
    wait_until(lambda: project.ledger("run-3 begins"), "the first suspect to have its turn")
    time.sleep(0.5)  # long enough for a second one to begin, if it may
    third.cut_power()
    begun = project.ledger("run-3 begins")
    assert len(begun) == 1, f"suspects ran side by side after two deaths in a row: {begun}"
