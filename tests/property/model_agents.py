"""The agents of the model, and the world that they act on; bugs and refusals come and go."""

from __future__ import annotations

import asyncio

from agentctl import Agent, AgentError, Cancelled, Capability, call_key, handler, sleep
from agentctl.storage.faulty import SimulatedDeath


class Shop(Capability):
    async def pay(self, event: int, place: int) -> str: ...


class World(Shop):
    """The outside world: every call that was made, by its key, and what it answered."""

    def __init__(self) -> None:
        self.made: dict[str, int] = {}
        self.places: dict[str, tuple[int, int]] = {}
        self.deadly: set[tuple[int, int]] = set()
        self.finished: set[str] = set()

    async def pay(self, event: int, place: int) -> str:
        key = call_key()
        assert key is not None
        assert self.places.setdefault(key, (event, place)) == (event, place)
        self.made[key] = self.made.get(key, 0) + 1
        if (event, place) in self.deadly:
            raise SimulatedDeath
        await asyncio.sleep(0)
        self.finished.add(key)
        return f"{event}.{place}"


BUGGY: set[int] = set()
"""Events whose handler has a bug just now."""


REFUSED: set[int] = set()
"""Events whose handler fails just now."""


class Refused(AgentError):
    """What such an event fails with."""


class Bot(Agent):
    shop: Shop
    total: int = 0

    @handler
    async def line(self, event: int, calls: int) -> list[str]:
        done = []
        for place in range(calls):
            done.append(await self.shop.pay(event, place))
            if event in BUGGY:
                raise KeyError("a bug")
        self.total += calls
        return done

    @handler(exclusive=False)
    async def branches(self, event: int, calls: int) -> list[str]:
        async def one(place: int) -> str:
            if place % 2:
                await sleep(place)
            return await self.shop.pay(event, place)

        done = await asyncio.gather(*(one(place) for place in range(calls)))
        if event in BUGGY:
            raise KeyError("a bug")
        return list(done)

    @handler(exclusive=False)
    async def fragile(self, event: int, calls: int) -> list[str]:
        done = [await self.shop.pay(event, place) for place in range(calls)]
        if event in REFUSED:
            raise Refused(event)
        return done


class Front(Agent):
    shop: Shop

    @handler
    async def ask(self, event: int, calls: int) -> list[str]:
        await self.shop.pay(event, 100)
        try:
            answer = await Bot.ref().line(event, calls)
        except Cancelled:
            answer = ["cancelled"]
        await self.shop.pay(event, 101)
        return answer


KEYS = ("a", "b")
KINDS = ("line", "branches", "fragile")
