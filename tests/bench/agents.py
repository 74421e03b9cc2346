"""The agents that are measured: ten calls an event, with arguments and results of 50 bytes."""

from __future__ import annotations

from abc import abstractmethod
from types import FunctionType
from typing import Any

from agentctl import Agent, Capability, Workflow, handler, sleep, wait_for_input, workflow_step

CALLS = 10


class World(Capability):
    """A world that answers at once."""

    @abstractmethod
    async def act(self, what: str) -> str: ...


class Instant(World):
    """Answers at once."""

    async def act(self, what: str) -> str:
        return what


class Worker(Agent):
    """Makes ten calls, one after the other."""

    world: World

    @handler
    async def work(self, number: int) -> str:
        said = ""
        for i in range(CALLS):
            said = await self.world.act(f"event {number}, call {i}, and some words to fill it up")
        return said


class Clerk(Agent):
    """Answers without a call; or waits, and keeps others of its instance waiting."""

    @handler
    async def echo(self, text: str) -> str:
        return text

    @handler
    async def nap(self) -> None:
        await sleep(3600)

    @handler(exclusive=True)
    async def rest(self, hours: float) -> None:
        await sleep(hours * 3600)


class Asker(Agent):
    """Asks the clerk ten times, one after the other."""

    @handler
    async def ask(self, number: int) -> str:
        said, clerk = "", Clerk.ref()
        for i in range(CALLS):
            said = await clerk.echo(f"event {number}, call {i}, and some words to fill it up")
        return said


class Sleeper(Agent):
    """Rings when it is due."""

    name: str

    @handler
    async def ring(self, number: int) -> None: ...


class Ticker(Agent):
    """Schedules itself anew at every tick."""

    ticks: int = 0

    @handler
    async def tick(self) -> None:
        self.ticks += 1
        await self.tick.after(60, name="tick")()


def _steps() -> dict[str, object]:
    async def one(self: Flow) -> str:
        return await self.world.act("some words to fill it up, as many as a call has elsewhere")

    return {f"step_{i}": workflow_step(_named(one, f"step_{i}")) for i in range(CALLS)}


def _named(fn: Any, name: str) -> Any:
    made = FunctionType(fn.__code__, fn.__globals__, name, fn.__defaults__, fn.__closure__)
    made.__annotations__ = {"return": str}
    return made


class Flow(Workflow):
    """Ten steps of one call each."""

    number: int
    world: World

    locals().update(_steps())


class Desk(Agent):
    """Asks a person, and waits."""

    @handler
    async def ask(self, number: int) -> bool:
        return await wait_for_input(f"refund of order {number}?", bool)
