"""What follows an attempt, when others come in between: answers, cancellations, a crash."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from itertools import count

from msgspec import Raw

from agentctl import Agent, Capability, WaitForInput, bind, handler, resume_input, step
from agentctl.engines.changes import ResumeRequest
from agentctl.sdk.settings import AgentSettings

IDS = map("id-{}".format, count())


class World(Capability):
    @abstractmethod
    async def busy(self) -> None: ...


class Real(World):
    def __init__(self) -> None:
        self.free = asyncio.Event()

    async def busy(self) -> None:
        await self.free.wait()


class Bot(Agent):
    world: World

    @handler
    async def signs(self) -> str:
        return await step("sign", self.signed)

    async def signed(self) -> str:
        match resume_input(str):
            case None:
                raise WaitForInput("who signs?", str, timeout=10)
            case "ana":
                raise WaitForInput("and who else?", str, timeout=10)
            case other:
                return other

    @handler
    async def busy(self) -> None:
        await self.world.busy()


def answer(value: bytes) -> ResumeRequest:
    return ResumeRequest("Bot", next(IDS), event=1, value=Raw(value), by="ana")


def test_r21_an_answer_that_comes_when_the_time_is_over_but_for_a_permit_counts_once(
    world, request_of
):
    async def life() -> object:
        real = Real()
        bot = bind(Bot, world=real, settings=AgentSettings(concurrency=2))
        async with world.program(bot) as host:
            event = await host.submit(request_of(Bot, "signs"))
            await host.idle()
            for _ in range(2):
                await host.submit(request_of(Bot, "busy"))
            while len(world.heard.calls) < 3:
                await asyncio.sleep(0)
            world.clock.advance(20)
            await asyncio.sleep(0)
            await host.carry_out(answer(b'"ana"'))
            real.free.set()
            await host.idle()
            await host.carry_out(answer(b'"bob"'))
            return (await host.ended(event)).result

    assert asyncio.run(life()) == b'"bob"'
