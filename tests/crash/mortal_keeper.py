"""The agent of the crash matrix whose events are cancelled and retried: it sleeps, hangs, fails."""

from __future__ import annotations

import asyncio

from mortal_agents import Deeds, LivingDeeds

from agentctl import Agent, AgentError, handler, sleep


class Bugs:
    """Whether the program that runs has its bug; a person mends it."""

    there = True


class Risks(Deeds):
    """What the world may refuse for a while."""

    async def risk(self, heard: list[str]) -> str: ...


class Keeper(Agent):
    """One instance with a state, whose events hold it while they sleep."""

    deeds: Risks
    total: int = 0

    @handler
    async def hold(self, amount: int) -> list[str]:
        heard = [await self.deeds.add(amount, [])]
        self.total += amount
        try:
            await sleep(1000)
        finally:
            heard.append(await self.deeds.do("tidy up", list(heard)))
            heard.append(await self.deeds.do("lock up", list(heard)))
        return heard

    @handler
    async def hang(self, amount: int) -> list[str]:
        heard = [await self.deeds.add(amount, [])]
        self.total += amount
        try:
            await self.deeds.slow(0.0, list(heard))
        finally:
            heard.append(await self.deeds.do("tidy up", list(heard)))
        return heard

    @handler
    async def deaf(self, amount: int) -> None:
        await self.deeds.add(amount, [])
        self.total += amount
        while True:
            try:
                await sleep(1000)
            except asyncio.CancelledError:
                pass

    @handler
    async def deaf_in_a_call(self) -> None:
        while True:
            try:
                await self.deeds.slow(0.0, [])
            except asyncio.CancelledError:
                pass

    @handler
    async def add(self, amount: int) -> list[str]:
        heard = [await self.deeds.add(amount, [])]
        self.total += amount
        return heard

    @handler
    async def stumble(self, amount: int) -> list[str]:
        heard = [await self.deeds.add(amount, [])]
        if Bugs.there:
            raise KeyError("a bug")
        heard.append(await self.deeds.do("after", list(heard)))
        self.total += amount
        return heard

    @handler
    async def fail(self, amount: int) -> list[str]:
        heard = [await self.deeds.add(amount, [])]
        heard.append(await self.deeds.risk(list(heard)))
        self.total += amount
        return heard


class Risky(AgentError):
    """What the world refuses for a while."""


class LivingRisks(LivingDeeds, Risks):
    """The deeds of one life, and one whose outcome a person changes."""

    async def risk(self, heard: list[str]) -> str:
        key = self._life.enter("risk", (), heard)
        await asyncio.sleep(0)
        if self._life.world.poisonous:
            raise Risky(key)
        return key
