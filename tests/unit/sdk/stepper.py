"""An agent that does things in steps, and a world that fails as often as it is told."""

from __future__ import annotations

import asyncio
import functools
from abc import abstractmethod
from contextlib import suppress
from dataclasses import dataclass

from agentctl import (
    Agent,
    Capability,
    Exponential,
    Fixed,
    RetryPolicy,
    StepDef,
    attempt,
    blocking,
    call,
    call_key,
    handler,
    question,
    random,
    run_steps,
    service_key,
    step,
    uses,
)
from agentctl.errors import AgentError


@dataclass
class Receipt:
    id: str


class Declined(AgentError): ...


class World(Capability):
    @abstractmethod
    async def charge(self, order: int) -> Receipt: ...
    @abstractmethod
    async def refund(self, receipt: Receipt) -> None: ...
    @call(retry=RetryPolicy(max_attempts=3, backoff=Fixed(10)))
    async def flaky(self, name: str) -> str: ...
    @call(timeout=0.01)
    async def slow(self) -> None: ...
    @blocking
    def blocks(self, order: int) -> int: ...


class Real(World):
    """Fails as often as it is told, and notes what was asked of it."""

    def __init__(self, fails: int = 0, error: Exception | None = None) -> None:
        self.fails = fails
        self.error = error or OSError("down")
        self.made: list[tuple[object, ...]] = []

    def _note(self, *what: object) -> None:
        self.made.append((call_key(), attempt(), *what))
        if self.fails:
            self.fails -= 1
            raise self.error

    async def charge(self, order: int) -> Receipt:
        self._note("charge", order)
        assert service_key().startswith(f"{call_key()}-")
        return Receipt(f"r{order}")

    async def refund(self, receipt: Receipt) -> None:
        self._note("refund", receipt.id)

    async def flaky(self, name: str) -> str:
        self._note("flaky", name)
        return name

    async def slow(self) -> None:
        self._note("slow")
        await asyncio.Event().wait()

    @blocking
    def blocks(self, order: int) -> int:
        self._note("blocks", order)
        return order


THRICE = RetryPolicy(max_attempts=3, backoff=Exponential(base=60, cap=100))


class Bot(Agent):
    world: World
    narrow: World = uses("charge")
    total: int = 0
    seen: list[str] = []

    @handler
    async def charge(self, order: int) -> str:
        return (await step("charge", self.world.charge, order, retry=THRICE)).id

    @handler
    async def by_method(self, order: int) -> list[object]:
        got = await step("add", self.add, order, retry=THRICE)
        return [got, self.total, self.seen]

    async def add(self, order: int) -> int:
        self.total += order
        self.seen.append(f"{attempt()}")
        await self.world.charge(order)
        await self.world.charge(order + 1)
        return self.total

    @handler
    async def by_closure(self, order: int) -> list[object]:
        async def body() -> str:
            self.total = order
            self.seen.append("closure")
            return (await self.world.charge(order)).id

        first = await step("closure", body)
        second = await step("partial", functools.partial(Bot.add, self), 5)
        third = await step("lambda", lambda: self.world.flaky("x"))
        return [first, second, third, self.total, self.seen]

    @handler
    async def side_by_side(self) -> list[int]:
        async def one() -> None:
            self.total = 7

        async def two() -> None:
            self.seen.append("two")

        await asyncio.gather(step("one", one), step("two", two))
        return [self.total, len(self.seen)]

    @handler
    async def made_before(self) -> int:
        first, second = step("first", self.b), step("second", self.b)
        return await first + await second

    @handler
    async def undone(self, fails: str) -> str:
        await step("first", self.world.charge, 1, compensate=self.world.refund)
        await step("second", self.world.charge, 2, compensate=self.world.refund)
        if fails == "bug":
            raise KeyError("a bug")
        if fails == "declined":
            raise Declined("no")
        return "done"

    @handler
    async def calls_flaky(self) -> str:
        return await self.world.flaky("a")

    @handler
    async def blocks(self) -> list[int]:
        inside = await step("inside", self.block)
        return [inside, await step("itself", self.world.blocks, 8)]

    async def block(self) -> int:
        return await self.world.blocks(7)

    @handler
    async def limited(self) -> str:
        with suppress(TimeoutError):
            await step("slow", self.hang, timeout=0.01, retry=RetryPolicy(max_attempts=2))
            return "not"
        try:
            await step("slow inside", self.world.slow)
        except TimeoutError:
            return "both"
        return "not"

    async def hang(self) -> None:
        await self.world.slow()

    @handler
    async def denied(self) -> None:
        await step("narrow", self.deny)

    async def deny(self) -> None:
        await self.narrow.flaky("x")

    @handler
    async def plan(self, plan: list[StepDef]) -> dict[str, object]:
        return await run_steps(plan, {"a": self.a, "b": self.b})

    async def a(self) -> str:
        return (await self.world.charge(1)).id

    async def b(self) -> int:
        self.total += 1
        return self.total

    @handler
    async def misused(self, how: str) -> str:
        try:
            await step("body", getattr(self, how))
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return "worked"

    async def nested(self) -> None:
        await step("inner", self.b)

    async def asks(self) -> None:
        await question("x", bool)

    async def asks_another(self) -> None:
        await Bot.ref().charge(1)

    async def by_chance(self) -> float:
        return random()

    async def times(self) -> None:
        await self.charge.trigger()(1)

    def plain(self) -> int:
        return 1

    async def unrecordable(self) -> object:
        return Receipt("x")

    async def spoils_state(self) -> None:
        self.seen.append(object())  # type: ignore[arg-type]
