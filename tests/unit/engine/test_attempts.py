"""What follows an attempt, when others come in between: answers, cancellations, a crash."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from itertools import count

from msgspec import Raw

from agentctl import (
    Agent,
    Capability,
    Fixed,
    RetryPolicy,
    WaitForInput,
    Workflow,
    bind,
    call,
    handler,
    resume_input,
    step,
    workflow_step,
)
from agentctl.engines.changes import CancelRequest, ResumeRequest
from agentctl.errors import UnknownOutcome
from agentctl.sdk.settings import AgentSettings
from agentctl.storage.faulty import SimulatedDeath

IDS = map("id-{}".format, count())


class World(Capability):
    @abstractmethod
    async def busy(self) -> None: ...
    @abstractmethod
    async def undo(self) -> None: ...
    @abstractmethod
    @call(repeat=False)
    async def pay(self) -> str: ...


class Real(World):
    def __init__(self) -> None:
        self.free = asyncio.Event()
        self.fails = 0
        self.dies = False
        self.made: list[str] = []

    async def busy(self) -> None:
        await self.free.wait()

    async def undo(self) -> None:
        self.made.append("undo")
        if self.fails:
            self.fails -= 1
            raise OSError("down")

    async def pay(self) -> str:
        self.made.append("pay")
        if self.dies:
            raise SimulatedDeath
        return "paid"


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

    @handler
    async def pay(self) -> str:
        try:
            return await step("pay", self.world.pay, retry=RetryPolicy(max_attempts=3))
        except UnknownOutcome as error:
            return error.message

    @handler
    async def stumbles(self) -> None:
        try:
            await step("undone", self.nothing, compensate=self.undo)
            await self.world.busy()
        finally:
            raise KeyError("in the clean-up")

    async def nothing(self) -> None:
        return

    async def undo(self, _result: None) -> None:
        await self.world.undo()


class Trip(Workflow):
    world: World

    async def undo(self, _result: None) -> None:
        await self.world.undo()

    @workflow_step(compensate=undo, compensate_retry=RetryPolicy(3, Fixed(1)))
    async def first(self) -> None:
        return

    @workflow_step
    async def second(self) -> None:
        await self.world.busy()

    @workflow_step
    async def third(self) -> None:
        raise AssertionError("no step follows a cancellation")


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


def cancelled(world, bot, request, real, **how):
    """Cancel an event while `busy` runs, and let it end."""

    async def life() -> object:
        async with world.program(bot, jumps=True) as host:
            event = await host.submit(request)
            while not any("second" in fn or "busy" in fn for _, fn in world.heard.calls):
                await asyncio.sleep(0)
            await host.carry_out(CancelRequest(bot.spec.name, next(IDS), event=1, **how))
            real.free.set()
            return (await host.ended(event)).status

    return asyncio.run(life())


def test_r20_what_undoes_a_cancelled_workflow_is_tried_as_its_own_policy_says(world, request_of):
    real = Real()
    real.fails = 2
    trip = bind(Trip, world=real)
    assert cancelled(world, trip, request_of(Trip, "run"), real) == "cancelled"
    assert real.made == ["undo"] * 3


def test_r20_what_a_cancelled_event_did_is_undone_also_where_its_clean_up_raises(world, request_of):
    real = Real()
    bot = bind(Bot, world=real)
    request = request_of(Bot, "stumbles")
    assert cancelled(world, bot, request, real, running=True) == "cancelled"
    assert real.made == ["undo"]


def test_r9_a_step_that_is_a_call_which_must_not_be_repeated_is_not(world, request_of):
    real = Real()
    real.dies = True
    bot = bind(Bot, world=real)
    world.dies(bot, requests=[request_of(Bot, "pay")])
    real.dies = False
    twin = world.after_kill()
    twin.start(bot)
    assert real.made == ["pay"]
    (done,) = [one for one in twin.records() if "done" in one]
    assert done["value"] == "Bot-1-1 (step pay) was cut off by a crash, and isn't repeated"
