"""The agent that is measured: ten calls an event, with arguments and results of 50 bytes."""

from __future__ import annotations

from abc import abstractmethod

from agentctl import Agent, Capability, handler

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
