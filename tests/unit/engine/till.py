"""A till, an agent that pays with it, and scenes in which its events are cancelled or deleted."""

from __future__ import annotations

import asyncio
from itertools import count

from agentctl import Agent, Capability, bind, handler, sleep
from agentctl.engines.changes import CancelRequest
from agentctl.errors import AgentError

IDS = map("id-{}".format, count())


class Till(Capability):
    async def pay(self, what: str) -> str: ...


class Declined(AgentError):
    pass


class Real(Till):
    def __init__(self):
        self.made = []
        self.gate = asyncio.Event()

    async def pay(self, what: str) -> str:
        self.made.append(what)
        if what == "hold":
            await self.gate.wait()
        if what == "no":
            raise Declined("no")
        return what.upper()


class Bot(Agent):
    name: str
    till: Till
    total: int = 0

    @handler
    async def pay(self, what: str) -> str:
        self.total += 1
        try:
            return await self.till.pay(what)
        finally:
            if what == "hold":
                await self.till.pay("clean up")

    @handler
    async def nap(self) -> str:
        self.total += 1
        try:
            await sleep(3600)
        finally:
            await self.till.pay("clean up")
        return "rested"

    @handler
    async def two(self) -> str:
        first = await self.till.pay("x")
        try:
            return first + await self.till.pay("hold")
        finally:
            await self.till.pay("clean up")

    @handler
    async def stubborn(self) -> str:
        self.total += 1
        try:
            await self.till.pay("hold")
        except asyncio.CancelledError:
            return await self.till.pay("clean up")
        return "never"

    @handler
    async def deaf(self, where: str) -> None:
        while True:
            try:
                await (sleep(1000) if where == "asleep" else self.till.pay("hold"))
            except asyncio.CancelledError:
                pass

    @handler
    async def bug(self) -> None:
        raise KeyError("a bug")

    @handler
    async def bug_in_clean_up(self) -> None:
        try:
            await self.till.pay("hold")
        finally:
            raise KeyError("a bug")


def cancel(*, running=False, request=None, **which):
    which = which or {"event": 1}
    return CancelRequest(
        "Bot", request or next(IDS), **which, running=running, reason="not wanted", by="ana"
    )


def short(answer):
    return str(answer.answer), None if answer.status is None else str(answer.status)


CANCELLED, AGAIN = ("cancelled", None), ("already_cancelled", None)
AND_OVER = ("already_cancelled", "cancelled")
RUNNING = ("running", "running")


class Scene:
    """Brings one event into a state, and cancels it there."""

    def __init__(self, world, asked):
        self.world, self.asked = world, asked
        self.till = Real()
        self.binding = bind(Bot, till=self.till)

    def live(self, do, *requests):
        """A program that accepts, comes to rest, and does something."""

        async def life():
            async with self.world.program(self.binding) as host:
                for request in requests:
                    await host.submit(request)
                await settled()
                done = await do(host)
                self.till.gate.set()
                await host.idle()
                return done

        return asyncio.run(life())

    def killed(self, *requests):
        """A program that is killed while its events are where they wait; its world goes on."""

        async def then(host):
            return self.world.after_kill()

        twin = self.live(then, *requests)
        self.world = twin
        self.till.made.clear()
        self.till.gate = asyncio.Event()

    def cold(self, *changes):
        return [self.world.desk.carry_out(change) for change in changes]

    def kinds(self):
        kinds = self.world.kinds()
        return kinds[kinds.index("event") :]

    def ends(self):
        return [kind for kind in self.kinds() if kind in ("done", "failed", "cancelled")]


async def settled():
    for _ in range(30):
        await asyncio.sleep(0)
