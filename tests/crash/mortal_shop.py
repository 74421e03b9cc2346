"""A shop of the crash matrix: steps with retries, waits, questions, compensations; a workflow.

Its goods fail, hang, or kill their program as often as each attempt is told to; what each returns
is its own key, and gets the keys that were heard before.
"""

from __future__ import annotations

import asyncio
from typing import Any

from mortal_agents import Deeds, LivingDeeds

from agentctl import (
    Agent,
    Exponential,
    Fixed,
    NonRetryable,
    RetryPolicy,
    UnknownOutcome,
    WaitForInput,
    Workflow,
    attempt,
    call,
    handler,
    question,
    resume_input,
    step,
    workflow_step,
)

HOUR_S = 3600
AT_ONCE = RetryPolicy(max_attempts=3)
HOURLY = RetryPolicy(max_attempts=3, backoff=Fixed(HOUR_S), retry_on=(ConnectionError,))
GROWING = RetryPolicy(max_attempts=4, backoff=Exponential(base=60, cap=100), jitter=0.5)


class Goods(Deeds):
    """What the shop does to the world."""

    async def work(self, what: str, fails: int, heard: list[str]) -> str: ...

    async def count(self, amount: int, fails: int, heard: list[str]) -> str: ...

    async def long(self, heard: list[str]) -> str: ...

    async def hang(self, heard: list[str]) -> str: ...

    async def choose(self, answer: str | None, heard: list[str]) -> str: ...

    async def refused(self, what: str, heard: list[str]) -> str: ...

    async def risky(self, heard: list[str]) -> str: ...

    async def kill(self, what: str, heard: list[str]) -> str: ...

    async def post(self, key: str, heard: list[str]) -> str: ...

    @call(retry=GROWING)
    async def again(self, fails: int, heard: list[str]) -> str: ...

    @call(retry=HOURLY, repeat=False)
    async def careful(self, fails: int, heard: list[str]) -> str: ...


class LivingGoods(LivingDeeds, Goods):
    """The goods of one life."""

    posted: Any = None

    async def work(self, what: str, fails: int, heard: list[str]) -> str:
        key = self._life.enter("work", (what,), heard, in_step=True)
        await asyncio.sleep(0)
        return self._or_fail(key, fails)

    async def count(self, amount: int, fails: int, heard: list[str]) -> str:
        key = self._life.enter("count", (amount,), heard, in_step=True)
        who, _, event = key.rpartition("-")[0].rpartition("-")
        agent, _, of = who.partition("/")
        self._life.world_of(agent).amounts[int(event)] = (of, amount)
        await asyncio.sleep(0)
        return self._or_fail(key, fails)

    def _or_fail(self, key: str, fails: int) -> str:
        if (attempt() or 0) <= fails:
            raise ConnectionError(key)
        return key

    async def long(self, heard: list[str]) -> str:
        """Take until somebody has cancelled, if somebody wants to."""
        key = self._life.enter("long", (), heard, in_step=True)
        for _ in range(40):
            await asyncio.sleep(0)
        return key

    async def hang(self, heard: list[str]) -> str:
        self._life.enter("hang", (), heard, in_step=True)
        await asyncio.get_running_loop().create_future()
        raise AssertionError("its time is over before")

    async def choose(self, answer: str | None, heard: list[str]) -> str:
        key = self._life.enter("choose", (), heard, in_step=True)
        self._life.world.uses(key.rpartition(".")[0], answer)
        await asyncio.sleep(0)
        return key

    async def refused(self, what: str, heard: list[str]) -> str:
        key = self._life.enter("refused", (what,), heard, in_step=True)
        await asyncio.sleep(0)
        raise NonRetryable(key)

    async def risky(self, heard: list[str]) -> str:
        key = self._life.enter("risky", (), heard, in_step=True)
        await asyncio.sleep(0)
        if self._life.world.poisonous:
            raise ConnectionError(key)
        return key

    async def kill(self, what: str, heard: list[str]) -> str:
        key = self._life.enter("kill", (what,), heard, in_step=True)
        for _ in range(10):
            await asyncio.sleep(0)
        if self._life.world.poisonous:
            self._life.die()
        return key

    async def post(self, key: str, heard: list[str]) -> str:
        own = self._life.enter("post", (key,), heard)
        if self.posted is not None:
            while not self._life.is_up:  # a start waits until this code is entered
                await asyncio.sleep(0)
            await self.posted(self._life)
        return own

    @call(retry=GROWING)
    async def again(self, fails: int, heard: list[str]) -> str:
        key = self._life.enter("again", (), heard)
        await asyncio.sleep(0)
        return self._or_fail(key, fails)

    @call(retry=HOURLY, repeat=False)
    async def careful(self, fails: int, heard: list[str]) -> str:
        key = self._life.enter("careful", (), heard)
        attempts = [one for one, _ in self._life.world.entered[key]]
        if attempts.count(attempts[-1]) > 1:
            self._life.world.breaks(f"an attempt of {key} isn't to be repeated, and was")
        await asyncio.sleep(0)
        return self._or_fail(key, fails)


class Shop(Agent):
    goods: Goods
    total: int = 0

    @handler
    async def order(self, amount: int) -> list[str]:
        """Two steps with retries; the second proves what the first left."""

        async def send() -> str:
            return await self.goods.work(f"send for {self.total}", 1, [])

        paid = await step("charge", self.charge, amount, retry=HOURLY)
        sent = await step("send", send, retry=AT_ONCE)
        return [paid, sent]

    async def charge(self, amount: int) -> str:
        before = self.total
        self.total = -1  # a failed attempt leaves nothing of this
        key = await self.goods.count(amount, 2, [])
        self.total = before + amount
        return key

    @handler(exclusive=False)
    async def calls(self) -> list[str]:
        first = await self.goods.again(3, [])
        try:
            second = await self.goods.careful(1, [first])
        except UnknownOutcome:
            second = await self.goods.do("ask a person", [first])
        return [first, second]

    @handler(exclusive=False)
    async def slowly(self) -> list[str]:
        """A step that takes too long, each time."""

        async def hang() -> str:
            return await self.goods.hang([])

        try:
            await step("hang", hang, timeout=0.001, retry=RetryPolicy(2, Fixed(60)))
        except TimeoutError:
            pass
        return [await self.goods.do("after", [])]

    @handler(exclusive=False)
    async def colour(self) -> list[str]:
        """A step that waits, and one behind it."""
        chosen = await step("choose", self.choose, retry=HOURLY)
        return [await step("paint", self.paint, chosen), chosen]

    async def choose(self) -> str:
        answer = resume_input(str)
        await self.goods.choose(answer, [])
        if answer is None:
            raise WaitForInput("which colour?", str)
        return answer

    async def paint(self, colour: str) -> str:
        return await self.goods.work(f"paint {colour}", 0, [])

    @handler(exclusive=False)
    async def asked(self, seconds: float | None = None) -> list[str]:
        """A question whose key is posted before it is awaited."""
        ask = await question("which colour?", str, timeout=seconds)
        posted = await self.goods.post(ask.key, [])
        try:
            colour = await ask
        except TimeoutError:
            colour = "none"
        return [posted, await self.goods.do(f"paint {colour}", [posted]), colour]

    @handler(exclusive=False)
    async def both(self) -> list[str]:
        """Steps at once: one was tried, one waits, one has its input and kills its program."""
        async with asyncio.TaskGroup() as group:
            tried = group.create_task(step("try", self.try_twice, retry=HOURLY))
            waits = group.create_task(step("choose", self.choose_more))
            kills = group.create_task(step("kill", self.kill))
        return [tried.result(), waits.result(), kills.result()]

    async def try_twice(self) -> str:
        return await self.goods.work("try", 1, [])

    async def choose_more(self) -> str:
        if (answer := resume_input(str)) is None:
            raise WaitForInput("which colour?", str)
        return answer

    async def kill(self) -> str:
        if (answer := resume_input(str)) is None:
            raise WaitForInput("kill?", str)
        await self.goods.kill(answer, [])
        return answer

    @handler(exclusive=False)
    async def nothing(self, padding: str) -> list[str]:
        return []


class Tour(Workflow):
    """Two steps that can be undone, and one that takes long."""

    goods: Goods
    total: int = 0

    async def undo_book(self, key: str) -> str:
        return await self.goods.work(f"undo the booking of {self.total}", 0, [])

    @workflow_step(compensate=undo_book)
    async def book(self) -> str:
        key = await self.goods.count(4, 0, [])
        self.total += 4
        return key

    async def undo_pay(self, key: str) -> str:
        return await self.goods.work("undo the payment", 1, [])

    @workflow_step(retry=HOURLY, compensate=undo_pay, compensate_retry=AT_ONCE)
    async def pay(self) -> str:
        return await self.goods.work(f"pay {self.total}", 1, [self.result(Tour.book)])

    @workflow_step
    async def confirm(self) -> list[str]:
        key = await self.goods.long([self.result(Tour.pay)])
        return [key]


class Doomed(Workflow):
    """It fails for good, and what it did is undone; the first undoing takes two attempts."""

    goods: Goods
    total: int = 0

    async def unbook(self, key: str) -> str:
        return await self.goods.work("undo the booking", 0, [])

    @workflow_step(compensate=unbook)
    async def book(self) -> str:
        return await self.goods.count(4, 0, [])

    async def unpay(self, key: str) -> str:
        return await self.goods.work("undo the payment", 1, [])

    @workflow_step(compensate=unpay, compensate_retry=HOURLY)
    async def pay(self) -> str:
        self.total += 4
        return await self.goods.work("pay", 0, [])

    @workflow_step
    async def confirm(self) -> list[str]:
        return [await self.goods.refused("confirm", [])]


class Torn(Workflow):
    """What it did can't all be undone, as long as the world is poisonous."""

    goods: Goods
    total: int = 0

    async def unbook(self, key: str) -> str:
        return await self.goods.work("undo the booking", 0, [])

    @workflow_step(compensate=unbook)
    async def book(self) -> str:
        return await self.goods.work("book", 0, [])

    async def unpay(self, key: str) -> str:
        return await self.goods.risky([])

    @workflow_step(compensate=unpay, compensate_retry=AT_ONCE)
    async def pay(self) -> str:
        return await self.goods.work("pay", 0, [])

    @workflow_step
    async def confirm(self) -> list[str]:
        return [await self.goods.refused("confirm", [])]


class Errand(Workflow):
    """Nothing of it is undone; its second step fails as long as the world is poisonous."""

    goods: Goods
    total: int = 0

    @workflow_step
    async def fetch(self) -> str:
        self.total += 4
        return await self.goods.count(4, 0, [])

    @workflow_step(retry=AT_ONCE)
    async def risk(self) -> str:
        return await self.goods.risky([self.result(Errand.fetch)])

    @workflow_step
    async def bring(self) -> list[str]:
        return [await self.goods.work(f"bring {self.total}", 0, [self.result(Errand.risk)])]


class Visit(Workflow):
    """It is booked, and then waits for somebody."""

    goods: Goods
    total: int = 0

    async def unbook(self, key: str) -> str:
        return await self.goods.work("undo the booking", 0, [])

    @workflow_step(compensate=unbook)
    async def book(self) -> str:
        return await self.goods.work("book", 0, [])

    @workflow_step
    async def approve(self) -> list[str]:
        if (answer := resume_input(str)) is None:
            raise WaitForInput("may it be?", str)
        return [await self.goods.work(f"approved {answer}", 0, [])]
