"""What unlucky users do: each time one event has the trouble, and no other."""

from __future__ import annotations

import asyncio
import json

import pytest

from agentctl import Agent, Capability, bind, handler
from agentctl.errors import JournalDamaged, Stuck, UsageError
from agentctl.testing import Durable

LOCK = asyncio.Lock()


class Api(Capability):
    async def do(self, what: str) -> str:
        await asyncio.sleep(0)
        return what

    async def cancels_itself(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)


class Bot(Agent):
    api: Api

    @handler
    async def shares(self, what: str) -> str:
        async with asyncio.timeout(60), LOCK:
            return await self.api.do(what)

    @handler
    async def waits_for_the_cancelled(self) -> None:
        await self.api.cancels_itself()

    @handler
    async def deep(self) -> None:
        error: Exception = ValueError("at the bottom")
        for _ in range(2000):
            error = ExceptionGroup("deeper", [error])
        raise error

    @handler
    async def well(self) -> str:
        return "well"


class Named(Agent):
    name: str

    @handler
    async def well(self) -> str:
        return self.name


def test_a_lock_that_two_events_share_is_refused_and_the_program_goes_on(world):
    async def life():
        async with world.program(bind(Bot, api=Api())) as host:
            bot = host.reference(Bot)
            other = asyncio.ensure_future(bot.shares("b"))
            with pytest.raises(Stuck, match="can't wake another event"):
                await bot.shares("a")
            other.cancel()
            return await bot.well()

    assert asyncio.run(life()) == "well"


def test_a_call_that_cancels_itself_has_an_error_and_holds_nobody_up(world):
    ended = world.invoke(bind(Bot, api=Api()), "waits_for_the_cancelled")
    assert ended.status == "failed"
    assert "CancelledError" in ended.text


def test_an_end_that_cant_be_told_is_the_event_s_own_bug(world):
    ended = world.invoke(bind(Bot, api=Api()), "deep")
    assert ended.status == "stuck"
    assert world.run(Bot, "well", api=Api()) == "well"


def test_an_identity_that_no_file_can_hold_is_refused_to_its_caller_alone(world):
    async def life():
        async with world.program(bind(Named)):
            with pytest.raises(UsageError, match="UTF-8"):
                await Named.ref("\ud800").well()
            return await Named.ref("eu").well()

    assert asyncio.run(life()) == "eu"


def cut_after(world, lines):
    path = "/memory/agents/Bot/journal"
    content = world.disk.read_file(path).splitlines(keepends=True)
    world.disk.put_file(path, b"".join(content[:lines]))


def test_r13_a_rewritten_journal_that_is_shorter_than_its_header_says_is_damaged(world):
    class Bot(Agent):
        @handler
        async def sleeps(self) -> None:
            await asyncio.sleep(3600)

    async def life():
        async with world.program(bind(Bot)) as host:
            asyncio.ensure_future(host.reference(Bot).sleeps()).add_done_callback(
                lambda done: done.exception()
            )
            await asyncio.sleep(0.01)

    asyncio.run(life())
    asyncio.run(restart(world, Bot))
    header = json.loads(world.disk.read_file("/memory/agents/Bot/journal").splitlines()[0])
    assert header["kept"] > 1
    cut_after(world, 2)
    with pytest.raises(JournalDamaged, match="the header says") as caught:
        asyncio.run(restart(world, Bot))
    assert caught.value.line == 3


async def restart(world: Durable, agent):
    async with world.program(bind(agent)):
        return
