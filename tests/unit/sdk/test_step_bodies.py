"""What a step runs: methods, closures, partials, and what each of them knows of the agent."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import pytest

from agentctl import Agent, Capability, Fixed, RetryPolicy, blocking, call, handler, step
from agentctl.testing import Durable


@dataclass
class Paid:
    cost: int


class Till(Capability):
    @call(retry=RetryPolicy(2, Fixed(0)))
    async def pay(self, cost: int, tip: int) -> Paid: ...


class Real(Till):
    def __init__(self) -> None:
        self.fails = 1

    async def pay(self, cost: int, tip: int) -> Paid:
        self.fails -= 1
        if self.fails >= 0:
            raise OSError("the till is stuck")
        return Paid(cost + tip)


class Bot(Agent):
    till: Till
    total: int = 0

    async def add(self, cost: int, tip: int) -> Paid:
        self.total += cost + tip
        return Paid(self.total)

    @handler
    async def functions_that_know_each_other(self, number: int) -> list[int]:
        async def even(left: int) -> int:
            self.total += 1
            return await odd(left - 1) if left else 0

        async def odd(left: int) -> int:
            return await even(left - 1) if left else 1

        return [await step("parity", even, number), self.total]

    @handler
    async def function_that_knows_itself(self, number: int) -> list[int]:
        async def down(left: int) -> None:
            self.total += 1
            if left:
                await down(left - 1)

        await step("down", down, number)
        return [self.total]

    @handler
    async def counts_outside(self, number: int) -> list[int]:
        rounds = 0

        async def count() -> None:
            nonlocal rounds
            rounds += number
            self.total += 1

        await step("count", count)
        return [rounds, self.total]

    @handler
    async def blocks(self, number: int) -> list[int]:
        @blocking
        def work(more: int) -> int:
            self.total += number + more
            return more

        done = [await step("work", work, 1), await step("more", functools.partial(work, 2))]
        return [*done, self.total]

    @handler
    async def partials(self, number: int) -> list[int]:
        added = await step("add", functools.partial(self.add, number), 1)
        paid = await step("pay", functools.partial(self.till.pay, number, tip=2))
        return [added.cost, paid.cost, self.total]


@pytest.mark.parametrize(
    ("how", "got"),
    [
        ("functions_that_know_each_other", [1, 3]),
        ("function_that_knows_itself", [6]),
        ("counts_outside", [5, 1]),
        ("blocks", [1, 2, 13]),
        ("partials", [6, 7, 6]),
    ],
)
def test_the_code_of_a_step_works_on_the_copy_however_it_knows_the_agent(how, got):
    durable, till = Durable(), Real()
    assert durable.run(Bot, how, 5, till=till) == got
    assert f'"total":{got[-1]}' in durable.journals["Bot"].decode()
