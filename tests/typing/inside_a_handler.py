"""What stands inside a handler: time, chance, people, and ordinary asyncio."""

from __future__ import annotations

import asyncio
import uuid
from abc import abstractmethod
from contextlib import aclosing
from datetime import date, datetime, timedelta
from typing import assert_type

from agentctl import (
    Agent,
    Capability,
    Occurrence,
    Question,
    Tick,
    every,
    handler,
    now,
    occurrence,
    question,
    random,
    replaying,
    sleep,
    timeout,
    today,
    uuid4,
    wait_for_input,
)


class Payments(Capability):
    @abstractmethod
    async def charge(self, order_id: int) -> str: ...


class Bot(Agent):
    payments: Payments

    @handler
    async def time_and_chance(self) -> float:
        assert_type(now(), datetime)
        assert_type(today("Europe/Berlin"), date)
        assert_type(random(), float)
        assert_type(uuid4(), uuid.UUID)
        assert_type(replaying(), bool)
        assert_type(occurrence(), Occurrence | None)
        if (firing := occurrence()) is not None:
            assert_type(firing.due, datetime)
            assert_type(firing.missed, int)
        await sleep(timedelta(days=1))
        await sleep(0.5)
        async with timeout(timedelta(hours=1)):
            await sleep(1)
        async for tick in every(timedelta(minutes=5)):
            assert_type(tick, Tick)
            assert_type(tick.due, datetime)
            assert_type(tick.missed, int)
            break
        async with aclosing(every(timedelta(minutes=5))) as rounds:
            assert_type(await anext(rounds), Tick)
        return random()

    @handler
    async def people(self) -> bool:
        answer = await wait_for_input("refund 900?", bool, timeout=timedelta(days=3))
        assert_type(answer, bool)
        ask = await question("refund 900?", str)
        assert_type(ask, Question[str])
        assert_type(ask.key, str)
        assert_type(await ask, str)
        return answer

    @handler
    async def side_by_side(self, order_id: int) -> list[str]:
        first, second = await asyncio.gather(self.payments.charge(1), self.payments.charge(2))
        assert_type(first, str)
        assert_type(second, str)
        task = asyncio.create_task(self.payments.charge(3))
        assert_type(task, asyncio.Task[str])
        done, _ = await asyncio.wait({task})
        assert_type(done, set[asyncio.Task[str]])
        async with asyncio.TaskGroup() as group:
            charged = group.create_task(self.payments.charge(4))
            doubled = group.create_task(self.double(4))
        assert_type(charged.result(), str)
        assert_type(doubled.result(), int)
        for one in asyncio.as_completed([self.payments.charge(5), self.payments.charge(6)]):
            assert_type(await one, str)
        assert_type(await asyncio.wait_for(self.payments.charge(order_id), 5), str)
        return [first, second]

    @handler
    async def double(self, number: int) -> int:
        return 2 * number

    @handler
    async def another_handler(self) -> int:
        # A plain method call inside the same event.
        assert_type(await self.double(1), int)
        return await self.double(2)
