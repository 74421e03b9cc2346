"""Rounds on a fake clock: agents of this process, in a world whose time only the test moves.

A world lives in memory and outlives its programs: `life` is one program on it, and what `away`
lets pass between two of them is the time in which none ran.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from agentctl import (
    Agent,
    AgentctlError,
    AgentError,
    Cancellation,
    Capability,
    Host,
    ScheduleHandle,
    bind,
    every,
    handler,
    now,
    occurrence,
    query,
    sleep,
)
from agentctl.testing import Durable, FakeClock

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
START = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
STEPS_OF_REST = 8
BEYOND = 1e-7
"""Seconds that the monotonic clock is moved on with each step, the wall clock not: sums of seconds
are off by less, and a wait that ends with the step must not be over one step later.
"""


@dataclass(frozen=True)
class Ran:
    """One thing that an agent did: when by the world's clock, and for which due time."""

    what: str
    at: datetime
    due: datetime | None = None
    missed: int = 0


class World(Capability):
    """What agents do is kept in a list, over all programs of a world."""

    async def mark(self, what: str, due: datetime | None, missed: int) -> None: ...

    async def fetch(self, what: str) -> bool: ...


@dataclass
class Real(World):
    """The list, and the replies of the service that is polled: the first so many fail."""

    clock: FakeClock
    ran: list[Ran] = field(default_factory=list)
    down: int = 0

    async def mark(self, what: str, due: datetime | None, missed: int) -> None:
        self.ran.append(Ran(what, self.clock.now, due, missed))

    async def fetch(self, what: str) -> bool:
        self.ran.append(Ran(what, self.clock.now))
        self.down -= 1
        return self.down < 0


class Many(Agent):
    """Without state: its events run side by side."""

    name: str
    world: World

    async def did(self, what: str) -> None:
        one = occurrence()
        due, missed = (None, 0) if one is None else (one.due, one.missed)
        await self.world.mark(f"{self.name} {what}", due, missed)

    @handler
    async def note(self, word: str) -> str:
        await self.did(word)
        return word

    @handler
    async def slow(self, word: str, seconds: float) -> None:
        await self.did(f"begin {word}")
        await sleep(seconds)
        await self.did(f"end {word}")

    @handler
    async def rounds(self, period: timedelta, most: int) -> int:
        async for tick in every(period):
            await self.world.mark(f"{self.name} round", tick.due, tick.missed)
            most -= 1
            if most == 0:
                break
        return most

    @handler
    async def refuse(self, word: str) -> None:
        await self.did(word)
        raise AgentError(word)

    @handler
    async def time(self) -> datetime:
        return now()


class One(Agent):
    """With state: one event at a time for each name."""

    name: str
    world: World
    runs: int = 0

    async def did(self, what: str) -> None:
        one = occurrence()
        due, missed = (None, 0) if one is None else (one.due, one.missed)
        await self.world.mark(f"{self.name} {what}", due, missed)

    @handler
    async def note(self, word: str) -> str:
        await self.did(word)
        self.runs += 1
        return word

    @handler
    async def slow(self, word: str, seconds: float) -> None:
        await self.did(f"begin {word}")
        await sleep(seconds)
        await self.did(f"end {word}")

    @handler
    async def other(self, name: str, word: str, seconds: float) -> str:
        token = await One.ref(name).note.after(seconds)(word)
        return token.address

    @handler
    async def hourly(self, word: str, name: str = "hourly") -> str:
        handle = await self.note.every(HOUR, name=name)(word)
        return handle.name

    @handler
    async def twice(self, name: str) -> str:
        handle: ScheduleHandle = await self.note.every(HOUR, name=name)("twice")
        return f"{await handle.cancel()} {await handle.cancel()}"

    @handler
    async def try_hourly(self, word: str, name: str) -> str:
        try:
            await self.note.every(HOUR, name=name)(word)
        except AgentctlError as error:
            return type(error).__name__
        return "set"

    @handler
    async def set_and_fail(self, word: str) -> None:
        self.runs += 100
        await self.note.every(HOUR, name="kept")(word)
        raise AgentError("after it was set")

    @handler
    async def names(self) -> list[str]:
        return sorted(self.schedules)

    @handler
    async def facts(self, name: str) -> tuple[datetime, timedelta | None, str]:
        one = self.schedules[name]
        return one.due, one.period, one.handler

    @handler
    async def end(self, name: str) -> Cancellation:
        return await self.schedules[name].cancel()

    @query
    async def count(self) -> int:
        return self.runs


class Rounds:
    """A world with its clock and its list, and the agents of this module, and others, in it."""

    def __init__(self, *others: type[Agent], start: datetime = START) -> None:
        self.agents = (Many, One, *others)
        self.clock = FakeClock((start - EPOCH) // timedelta(microseconds=1))
        self.world = Durable(clock=self.clock)
        self.real = Real(self.clock)

    @asynccontextmanager
    async def life(self) -> AsyncIterator[Host]:
        """One program: from its start, when all that is due by now has run, to its graceful end."""
        bound = [bind(agent, world=self.real) for agent in self.agents]
        async with self.world.host(*bound, jumps=False) as host:
            await rest(host)
            yield host

    async def pass_time(self, host: Host, duration: timedelta, step: timedelta) -> None:
        """Let time pass in steps, with all that each of them brings about."""
        assert duration % step == timedelta(0), "the steps don't fit"
        for _ in range(duration // step):
            self.clock.advance(step)
            self.clock.advance(BEYOND)
            await rest(host)

    def away(self, duration: timedelta) -> None:
        """Let time pass in which no program runs."""
        self.clock.advance(duration)

    def ran(self, beginning: str = "") -> list[Ran]:
        return [one for one in self.real.ran if one.what.startswith(beginning)]

    def dues(self, beginning: str = "") -> list[timedelta | None]:
        """The due times of what was done, counted from the world's beginning."""
        return [one.due and one.due - START for one in self.ran(beginning)]

    def times(self, beginning: str = "") -> list[timedelta]:
        """When things were done, counted from the world's beginning."""
        return [one.at - START for one in self.ran(beginning)]

    def audit(self, agent: str, verb: str) -> list[str]:
        """The audit log's lines with this verb."""
        text = self.world.disk.read_file(f"/memory/agents/{agent}/audit.log").decode()
        return [line for line in text.splitlines() if f" {verb}: " in line]


async def rest(host: Host) -> None:
    """Wait until only time can bring anything about."""
    quiet = 0
    while quiet < STEPS_OF_REST:
        await asyncio.sleep(0)
        quiet = quiet + 1 if host.engine.quiet else 0


def minutes(*numbers: float) -> list[timedelta]:
    return [timedelta(minutes=number) for number in numbers]


def seconds(*numbers: float) -> list[timedelta]:
    return [timedelta(seconds=number) for number in numbers]
