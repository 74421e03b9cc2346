"""The agents of the crash matrix, and the steps in which each is run.

Every call returns its own key, and gets the keys that its event has heard of: so the arguments of
a call prove what had been delivered before it.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from matrix import Scenario, lives_after
from mortal import Life, State, agent_of
from mortal_world import World, check_rest

from agentctl import (
    Agent,
    AgentSettings,
    Capability,
    UnknownOutcome,
    bind,
    blocking,
    call,
    handler,
    sleep,
    timeout,
)
from agentctl.engines.changes import DropRequest, RequeueRequest
from agentctl.engines.port import InvokeRequest
from agentctl.errors import NotFound
from agentctl.names import Address
from agentctl.storage.memory import MemoryDisk


class Deeds(Capability):
    """What the agents may do to the world."""

    async def do(self, what: str, heard: list[str]) -> str: ...

    async def slow(self, seconds: float, heard: list[str]) -> str: ...

    async def deadly(self, heard: list[str]) -> str: ...

    async def add(self, amount: int, heard: list[str]) -> str: ...

    @call(repeat=False)
    @blocking
    def once(self, heard: list[str]) -> str: ...


class LivingDeeds(Deeds):
    """The deeds of one life."""

    def __init__(self, life: Life) -> None:
        self._life = life

    async def do(self, what: str, heard: list[str]) -> str:
        key = self._life.enter("do", (what,), heard)
        await asyncio.sleep(0)
        return key

    async def slow(self, seconds: float, heard: list[str]) -> str:
        self._life.enter("slow", (), heard)
        self._life.clock.advance(seconds)
        await asyncio.get_running_loop().create_future()
        raise AssertionError("it is given up before")

    async def deadly(self, heard: list[str]) -> str:
        key = self._life.enter("deadly", (), heard)
        for _ in range(10):  # the world takes its time: who asked hears first that it is accepted
            await asyncio.sleep(0)
        if self._life.world.poisonous:
            self._life.die()
        return key

    async def add(self, amount: int, heard: list[str]) -> str:
        key = self._life.enter("add", (amount,), heard)
        who, _, event = key.rpartition("-")[0].rpartition("-")
        self._life.world_of(agent_of(key)).amounts[int(event)] = (who.partition("/")[2], amount)
        await asyncio.sleep(0)
        return key

    @call(repeat=False)
    @blocking
    def once(self, heard: list[str]) -> str:
        key = self._life.enter("once", (), heard)
        self._life.world.once.add(key)
        return key


class Bot(Agent):
    deeds: Deeds
    total: int = 0

    @handler
    async def refund(self, order: int) -> list[str]:
        paid = await self.deeds.do(f"refund {order}", [])
        told = await self.deeds.do(f"email {order}", [paid])
        return [paid, told]

    @handler
    async def nothing(self) -> list[str]:
        return []

    @handler
    async def branches(self) -> list[str]:
        heard: list[str] = []

        async def branch(name: str, pause_s: float) -> None:
            heard.append(await self.deeds.do(f"{name} 1", list(heard)))
            await sleep(pause_s)
            heard.append(await self.deeds.do(f"{name} 2", list(heard)))

        try:
            await asyncio.gather(branch("a", 2), branch("b", 1), branch("c", 2))
        finally:
            heard.append(await self.deeds.do("clean up", list(heard)))
        try:
            async with timeout(5):
                await self.deeds.slow(5.0, list(heard))
        except TimeoutError:
            pass
        await sleep(30)
        heard.append(await self.deeds.do("last", list(heard)))
        return heard

    @handler
    async def deadly(self) -> list[str]:
        heard = [await self.deeds.do("before", [])]
        heard.append(await self.deeds.deadly(list(heard)))
        heard.append(await self.deeds.do("after", list(heard)))
        return heard

    @handler
    async def later(self) -> list[str]:
        heard = [await self.deeds.do("now", [])]
        await sleep(1000)
        heard.append(await self.deeds.do("later", list(heard)))
        return heard

    @handler(exclusive=True)
    async def add(self, amount: int) -> list[str]:
        before = self.total
        heard = [await self.deeds.add(amount, [])]
        self.total = before + amount
        return heard

    @handler
    async def careful(self) -> list[str]:
        heard = [await self.deeds.do("before", [])]
        try:
            heard.append(await self.deeds.once(list(heard)))
        except UnknownOutcome:
            heard.append(await self.deeds.do("ask a person", list(heard)))
        heard.append(await self.deeds.do("after", list(heard)))
        return heard


class Counter(Agent):
    name: str
    deeds: Deeds
    total: int = 0

    @handler(exclusive=True)
    async def add(self, amount: int) -> list[str]:
        before = self.total
        heard = [await self.deeds.add(amount, [])]
        heard.append(await self.deeds.do("check", list(heard)))
        self.total = before + amount
        return heard


# -- steps


QUICKLY_ASIDE = AgentSettings(max_starts=2)


def program(
    agent: type[Agent],
    *requests: tuple[Any, ...],
    at_once: bool = False,
    settings: AgentSettings | None = None,
) -> Any:
    """Start, put what wasn't acknowledged yet, let all of it come to rest, stop."""

    async def one(life: Life, request: tuple[Any, ...]) -> None:
        of, name, *args = request
        address = await life.host.submit(InvokeRequest(agent.__name__, of, name, args))
        life.world.accepted(address.event)
        life.world.requests += 1
        life.waiting.append(asyncio.ensure_future(life.host.ended(address)))
        await asyncio.sleep(0)

    async def step(life: Life) -> None:
        await life.start(bind(agent, settings=settings, deeds=LivingDeeds(life)))
        try:
            left = requests[life.world.requests :]
            if at_once:
                tasks = [asyncio.ensure_future(one(life, request)) for request in left]
                life.waiting += tasks
                await asyncio.gather(*tasks)
            else:
                for request in left:
                    await one(life, request)
            await life.rest()
            for future in life.waiting:
                await future
        except BaseException:
            if not life.disk.dead:  # as `async with` would
                await life.stop()
            raise
        await life.stop()

    return step


def in_turn(agent: type[Agent], *requests: tuple[Any, ...]) -> Any:
    """A program that keeps nothing that is over, and writes its journal anew whenever it can."""

    async def step(life: Life) -> None:
        life.compacts_at = 1
        settings = AgentSettings(keep=0)
        await life.start(bind(agent, settings=settings, deeds=LivingDeeds(life)))
        try:
            for of, name, *args in requests[life.world.requests :]:
                address = await life.host.submit(InvokeRequest(agent.__name__, of, name, args))
                life.world.accepted(address.event)
                life.world.requests += 1
                life.waiting.append(asyncio.ensure_future(life.host.ended(address)))
                await life.rest(until_s=0.0)
                for _ in range(12):  # so many slices a compaction has here, and more
                    await asyncio.sleep(0)
            await life.rest()
            for future in life.waiting:
                await future
        except BaseException:
            if not life.disk.dead:  # as `async with` would
                await life.stop()
            raise
        await life.stop()

    return step


def killed_at_rest(agent: type[Agent], *requests: tuple[Any, ...]) -> Any:
    """The same, but for a kill in the end, with whatever still sleeps."""

    async def step(life: Life) -> None:
        await life.start(bind(agent, deeds=LivingDeeds(life)))
        for of, name, *args in requests[life.world.requests :]:
            address = await life.host.submit(InvokeRequest(agent.__name__, of, name, args))
            life.world.accepted(address.event)
            life.world.requests += 1
        await life.rest(until_s=0.0)

    return step


async def cured(life: Life) -> None:
    """A person mends what kills the program."""
    life.world.poisonous = False


def desk(act: Any) -> Any:
    """A person changes what is set aside; asked again after a crash, it may be done already."""

    async def step(life: Life) -> None:
        life.world.poisonous = False
        try:
            act(life)
        except NotFound:
            assert life.world.lives > 0

    return step


async def forget_requests(life: Life) -> None:
    """Begin a new list of requests."""
    life.world.requests = 0


def requeue(*, fresh: bool = False) -> Any:
    def act(life: Life) -> None:
        done = life.desk().carry_out(RequeueRequest(life.agent, every=True, fresh=fresh))
        if fresh:
            for one in done.events:
                life.world.accepted(Address.parse(one.event).event)

    return desk(act)


def only_once(act: Any) -> Any:
    """The same, by somebody who doesn't try again: the next start finishes it, or undoes it."""

    async def step(life: Life) -> None:
        first, life.world.tried = not life.world.tried, True
        await (act if first else program(Bot))(life)

    return step


def drop(number: int) -> Any:
    def act(life: Life) -> None:
        life.world.unwanted.add(number)
        life.desk().carry_out(DropRequest(life.agent, "", number, "no longer wanted"))

    return desk(act)


def resting(agent: str, *, aside: bool | None = False) -> Any:
    def check(world: World, disk: MemoryDisk) -> None:
        check_rest(world, disk, agent, aside=aside)

    return check


REFUND = Scenario("Bot", (program(Bot, ((), "refund", 7), ((), "refund", 8)),), resting("Bot"))
ONE_REFUND = Scenario("Bot", (program(Bot, ((), "refund", 7)),), resting("Bot"))
BRANCHES = Scenario("Bot", (program(Bot, ((), "branches")),), resting("Bot"))
STATE = Scenario(
    "Counter",
    (
        program(
            Counter,
            (("a",), "add", 2),
            (("a",), "add", 3),
            (("b",), "add", 4),
            at_once=True,
        ),
    ),
    resting("Counter"),
)
CAREFUL = Scenario("Bot", (program(Bot, ((), "careful")),), resting("Bot"))
SET_ASIDE = Scenario(
    "Bot",
    (program(Bot, ((), "deadly"), ((), "refund", 8), settings=QUICKLY_ASIDE),),
    resting("Bot", aside=True),
)


def put_back(act: Any, *, aside: bool = False) -> Scenario:
    """A person acts on what is set aside, and the program runs again."""
    steps = (killed_at_rest(Bot), act, program(Bot))
    return Scenario("Bot", steps, resting("Bot", aside=aside))


REQUEUE = put_back(requeue())
REQUEUE_FRESH = put_back(requeue(fresh=True))
DROP = put_back(drop(1))
AFTER_A_STOP = Scenario("Bot", (requeue(), program(Bot)), resting("Bot"))
NOT_TRIED_AGAIN = Scenario("Bot", (only_once(requeue()), program(Bot)), resting("Bot", aside=None))
NOT_DROPPED_AGAIN = Scenario("Bot", (only_once(drop(1)), program(Bot)), resting("Bot", aside=None))

COMPACTS = Scenario(
    "Bot",
    (
        in_turn(
            Bot,
            ((), "add", 3),
            ((), "refund", 1),
            ((), "later"),
            *[((), "refund", 5), ((), "add", 4)] * 2,
        ),
    ),
    resting("Bot"),
)
COMPACTS_ONCE = Scenario("Bot", (in_turn(Bot, *[((), "nothing")] * 3),), resting("Bot"))

EVERYTHING = Scenario(
    "Bot",
    (
        program(Bot, ((), "deadly"), ((), "refund", 2), ((), "add", 3), settings=QUICKLY_ASIDE),
        forget_requests,
        killed_at_rest(Bot, ((), "add", 4), ((), "later"), ((), "later"), ((), "refund", 7)),
    ),
    lambda world, disk: None,
)
REWRITE = Scenario(
    "Bot", (program(Bot, ((), "add", 5), ((), "refund", 8)),), resting("Bot", aside=True)
)


def begin_of(scenario: Scenario) -> State:
    """The state once a scenario was lived through without a disturbance."""
    state = State.fresh()
    while state.world.step < len(scenario.steps):
        life, error = scenario.live(state)
        assert not life.world.broken, life.world.broken
        state = next(lives_after(life, 0))[1] if error else State(life.disk.disk, life.world)
    return State(state.disk, replace(state.world, step=0, requests=0))
