"""The agents of the golden journals of steps, and what happens to them before these end.

Two programs live one after the other in one world, on a fake clock; the first is killed. What the
second one leaves holds each kind of record of steps: attempts, backoffs, waits, answers, questions,
what undoes steps, and workflows' runs. Some events are left open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from msgspec import Raw

from agentctl import (
    Agent,
    Capability,
    Exponential,
    Fixed,
    Host,
    RetryPolicy,
    WaitForInput,
    Workflow,
    attempt,
    bind,
    call,
    handler,
    question,
    resume_input,
    step,
    wait_for_input,
    workflow_step,
)
from agentctl.engines.changes import CancelRequest, ResumeRequest, RetryRequest
from agentctl.engines.local.running.binding import Binding
from agentctl.engines.port import InvokeRequest
from agentctl.testing import Durable

QUIET = 8
TWICE = RetryPolicy(max_attempts=2, backoff=Fixed(60), jitter=0.5)
GROWING = RetryPolicy(max_attempts=3, backoff=Exponential(base=10, cap=15))


class Works(Capability):
    """What the agents do to the world."""

    async def work(self, what: str, fails: int) -> str: ...

    @call(retry=GROWING)
    async def again(self, fails: int) -> str: ...


class LivingWorks(Works):
    """It fails as often as it is told to."""

    async def work(self, what: str, fails: int) -> str:
        return self._tried(what, fails)

    @call(retry=GROWING)
    async def again(self, fails: int) -> str:
        return self._tried("again", fails)

    def _tried(self, what: str, fails: int) -> str:
        if (attempt() or 0) <= fails:
            raise ConnectionError(what)
        return what


class Shop(Agent):
    """Steps, one of which waits, and questions."""

    works: Works
    total: int = 0

    @handler(exclusive=False)
    async def order(self, amount: int) -> list[str]:
        ask = await question("which colour?", str)
        try:
            await wait_for_input("in a hurry?", bool, timeout=30)
        except TimeoutError:
            pass
        paid = await step("charge", self.charge, amount, retry=TWICE)
        sure = await step("sure", self.sure, timeout=5)
        return [paid, str(sure), await self.works.again(2), await ask]

    async def charge(self, amount: int) -> str:
        self.total += amount
        return await self.works.work(f"charge {amount}", 1)

    async def sure(self) -> bool:
        if (answer := resume_input(bool)) is None:
            raise WaitForInput("are you sure?", bool, timeout=86_400)
        return answer


class Trip(Workflow):
    """Two steps that can be undone, and one that comes to what the instance's name says."""

    name: str
    works: Works
    booked: list[str] = []

    async def undo(self, what: str) -> None:
        await self.works.work(f"undo {what}", 1 if what == "pay" else 0)

    @workflow_step(compensate=undo)
    async def book(self) -> str:
        self.booked.append("book")
        return await self.works.work("book", 0)

    @workflow_step(compensate=undo, compensate_retry=TWICE, retry=TWICE)
    async def pay(self) -> str:
        return await self.works.work("pay", 1)

    @workflow_step(retry=TWICE)
    async def go(self) -> list[str]:
        fails = 2 if self.name == "fails" else 0
        return [self.result(Trip.book), await self.works.work("go", fails)]


class Errand(Workflow):
    """Its step fails until it is retried."""

    works: Works
    mended = False

    @workflow_step
    async def run_it(self) -> str:
        return await self.works.work("errand", 0 if Errand.mended else 1)


def written() -> Mapping[str, bytes]:
    """What the second program leaves, by agent."""
    world, Errand.mended = Durable(), False
    asyncio.run(_first(world))
    world.clock.advance(20)
    asyncio.run(_second(world))
    return world.journals


def bindings() -> tuple[Binding[Any], ...]:
    """All agents, in one world."""
    works = LivingWorks()
    return bind(Shop, works=works), bind(Trip, works=works), bind(Errand, works=works)


async def _first(world: Durable) -> None:
    async with world.host(*bindings(), jumps=False) as host:
        await host.submit(InvokeRequest("Shop", (), "order", [7], priority="high"))
        await host.submit(InvokeRequest("Shop", (), "order", [9]))
        for name in ("ends", "fails", "stops"):
            await host.submit(InvokeRequest("Trip", (name,), "run", []))
        await host.submit(InvokeRequest("Errand", (), "run", []))
        await _pass(world, host, 45)
        await _answer(host, "1", Raw(b'"red"'))
        killed = world.disk.after_kill()
    world.disk = killed


async def _second(world: Durable) -> None:
    async with world.host(*bindings(), jumps=False) as host:
        await host.submit(InvokeRequest("Trip", ("ends",), "run", []))
        await host.engine.carry_out(CancelRequest("Trip", "c1", ("stops",), 3, by="ana"))
        Errand.mended = True
        await host.engine.carry_out(RetryRequest("Errand", "r1", (), 1, by="ana"))
        await _pass(world, host, 240)
        await _answer(host, "4", Raw(b"true"))
        await _pass(world, host, 60)
        await host.submit(InvokeRequest("Trip", ("rests",), "run", []))
        await _pass(world, host, 0)


async def _answer(host: Host, path: str, value: Raw) -> None:
    request = ResumeRequest("Shop", f"a{path}", (), 1, None, path, value, by="ana", note="phoned")
    await host.engine.carry_out(request)


async def _pass(world: Durable, host: Host, seconds: int) -> None:
    for _ in range(seconds + 1):
        await quiet(host)
        world.clock.advance(1)
    await quiet(host)


async def quiet(host: Host) -> None:
    """Let everything rest that can't go on without time."""
    rounds = 0
    while rounds < QUIET:
        await asyncio.sleep(0)
        rounds = rounds + 1 if host.engine.quiet else 0
