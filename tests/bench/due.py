"""What is measured of time: many due times at rest, many at once, and an agent that goes on by
itself.

The starts, the lateness and the idling are those of the machine's own clock and disk; the ticks
are those of a clock that jumps to the next one.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from unittest import mock

from msgspec import Raw

from agentctl import AgentSettings, Host, bind
from agentctl.engines.local.log import LogListener
from agentctl.engines.local.running.agent import AgentRuntime
from agentctl.engines.local.running.calendar import Calendar
from agentctl.engines.local.starting import recovery, start
from agentctl.engines.port import Ended
from agentctl.names import Address
from agentctl.record_schedules import ScheduleRecord
from agentctl.records import EventRecord, Header, Record, encode
from agentctl.storage.files.folder import FilesStore
from agentctl.storage.files.holding import this_program
from agentctl.storage.port import Store
from agentctl.testing import Durable, FakeClock
from agentctl.testing.durable import ROOT
from agentctl.times import SECOND_US, SystemClock
from tests.bench.agents import Sleeper, Ticker
from tests.bench.measures import folder

HOUR_US: Final = 3600 * SECOND_US
LEAD_US: Final = SECOND_US
"""So long before the first due time a program starts."""

Due = Callable[[int], int]
"""When the n-th is due."""


def write_schedules(root: Path, number: int, due: Due) -> None:
    """A journal of named schedules, each of an instance of its own."""

    def schedule(n: int, at_us: int) -> Record:
        return ScheduleRecord(
            "ring",
            (f"sleeper-{n:06d}",),
            "ring",
            Raw(b"[%d]" % n),
            due=due(n),
            period=24 * HOUR_US,
            seed=f"{n:016x}",
            at=at_us,
        )

    _write(root, number, 0, schedule)


def write_events(root: Path, number: int, due: Due) -> None:
    """A journal of single events that wait for their due time, each of its own instance."""

    def event(n: int, at_us: int) -> Record:
        of, args = (f"sleeper-{n:06d}",), Raw(b"[%d]" % n)
        return EventRecord(n + 1, "ring", args, of=of, due=due(n), nonce=f"{n:016x}", at=at_us)

    _write(root, number, number, event)


WRITERS: Final = {"named schedules": write_schedules, "single events": write_events}


def _write(root: Path, number: int, events: int, made: Callable[[int, int], Record]) -> None:
    clock = SystemClock()
    store = FilesStore(root, "Sleeper")
    store.lock(this_program("bench", clock), 0)
    at = clock.now_us()
    header = Header(1, "Sleeper", "0" * 32, events + 1, kept=number, open=events, at=at)
    store.rewrite([encode(header), *(encode(made(n, at)) for n in range(number))])
    store.close()


# -- many at rest


@dataclass(frozen=True)
class Start:
    """How long a start took, in seconds, and what of it."""

    took: float
    reading: float
    rewriting: float
    arming: float


def starts(where: Path, what: str, number: int, times: int) -> list[Start]:
    """Start a program whose journal holds so many that are due tomorrow, again and again."""
    begin_us = SystemClock().now_us() + 24 * HOUR_US
    with folder(where) as root:
        WRITERS[what](root, number, lambda n: begin_us + n)
        return [asyncio.run(_start(root, what, number)) for _ in range(times)]


async def _start(root: Path, what: str, number: int) -> Start:
    with _timed() as spent:
        begun = time.perf_counter()
        async with Host(bind(Sleeper), root=root) as host:
            took = time.perf_counter() - begun
            _check_armed(host.engine.agents["Sleeper"], what, number)
    reading, rewriting = spent[recovery.read.__name__], spent[recovery.rewrite.__name__]
    return Start(took, reading, rewriting, spent["_queue"] + spent["open"])


def _check_armed(agent: AgentRuntime, what: str, number: int) -> None:
    events = what == "single events"
    armed = agent.calendar.waiting if events else len(agent.history.schedules.live)
    assert armed == number, (armed, number)
    assert agent.calendar.rest_s, "nothing waits for its due time"


@contextmanager
def _timed() -> Iterator[dict[str, float]]:
    """Sum up the seconds that the parts of a start take."""
    spent: dict[str, float] = {}

    def timed(part: Callable[..., Any]) -> Callable[..., Any]:
        spent[part.__name__] = 0.0

        def run(*args: Any, **kwargs: Any) -> Any:
            begun = time.perf_counter()
            try:
                return part(*args, **kwargs)
            finally:
                spent[part.__name__] += time.perf_counter() - begun

        return run

    with (
        mock.patch.object(recovery, "read", timed(recovery.read)),
        mock.patch.object(recovery, "rewrite", timed(recovery.rewrite)),
        mock.patch.object(start, "_queue", timed(start._queue)),
        mock.patch.object(Calendar, "open", timed(Calendar.open)),
    ):
        yield spent


def idle_cpu(where: Path, number: int, seconds: float) -> float:
    """The share of a processor that a program takes while so many schedules wait."""
    begin_us = SystemClock().now_us() + 24 * HOUR_US
    with folder(where) as root:
        write_schedules(root, number, lambda n: begin_us + n)
        return asyncio.run(_idle(root, seconds))


async def _idle(root: Path, seconds: float) -> float:
    async with Host(bind(Sleeper), root=root):
        begun, used = time.perf_counter(), time.process_time()
        await asyncio.sleep(seconds)
        return (time.process_time() - used) / (time.perf_counter() - begun)


# -- many at once


class _Watch(LogListener):
    """Notes how long after its due time each event begins, in milliseconds."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.late_ms: list[float] = []
        self.agent: AgentRuntime
        self.number = number
        self.over = asyncio.Event()

    def started(self, event: Address, handler: str, *, again: bool) -> None:
        now_us = time.time_ns() // 1000
        assert event.event is not None
        accepted = self.agent.open[event.event].accepted
        due_us = accepted.occurrence or accepted.due
        assert due_us is not None
        self.late_ms.append((now_us - due_us) / 1000)
        if len(self.late_ms) == self.number:
            self.over.set()


def late_ms(where: Path, what: str, number: int) -> list[float]:
    """How late each of so many begins that are due within one second, evenly spread."""
    begin_us = SystemClock().now_us() + LEAD_US
    with folder(where) as root:
        WRITERS[what](root, number, lambda n: begin_us + n * SECOND_US // number)
        return asyncio.run(_late(root, number))


async def _late(root: Path, number: int) -> list[float]:
    watch = _Watch(number)
    async with Host(bind(Sleeper), root=root, listener=watch) as host:
        watch.agent = host.engine.agents["Sleeper"]
        assert not watch.late_ms, "the start took too long for the first ones"
        await watch.over.wait()
    return watch.late_ms


# -- an agent that goes on by itself


@dataclass(frozen=True)
class Ticks:
    """What came of ticks: how many a second, syncs a tick, the longest that the journal was."""

    rate: float
    syncs: float
    longest: int


def ticks_on_files(where: Path, ticks: int) -> Ticks:
    """Let an agent that schedules itself tick so many times, on files."""
    clock = FakeClock()
    with folder(where) as root:
        driver = _Driver(clock)
        host = Host(
            bind(Ticker),
            root=root,
            listener=driver,
            options=lambda base: replace(base, clock=clock),
        )
        return asyncio.run(_tick(host, driver, ticks))


def ticks_in_memory(ticks: int, *, journal: bool = True) -> Ticks:
    """The same, on a journal in memory; or without one."""
    return _tick_in(Durable(), ticks, AgentSettings(journal=journal, audit=journal))


def _tick_in(world: Durable, ticks: int, settings: AgentSettings | None = None) -> Ticks:
    driver = _Driver(world.clock)
    host = Host(
        bind(Ticker, settings=settings),
        root=ROOT,
        options=lambda base: replace(world._options(base), listener=driver),
    )
    return asyncio.run(_tick(host, driver, ticks))


class _Driver(LogListener):
    """Lets the clock jump to the next tick as soon as one is over."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self._clock = clock
        self._store: Store | None = None
        self._left = self._longest = 0
        self._over = asyncio.Event()

    async def drive(self, store: Store, ticks: int) -> int:
        """Let so many ticks pass; returns how long the journal was at most."""
        self._store, self._left = store, ticks
        self._clock.jump()
        await self._over.wait()
        return self._longest

    def ended(self, end: Ended, *, heard: bool) -> None:
        if self._store is None:
            return
        self._longest = max(self._longest, self._store.size)
        self._left -= 1
        if self._left:
            self._clock.jump()
        else:
            self._over.set()


async def _tick(host: Host, driver: _Driver, ticks: int) -> Ticks:
    async with host:
        agent = host.engine.agents["Ticker"]
        await host.reference(Ticker).tick()
        syncs, begun = agent.store.syncs, time.perf_counter()
        longest = await driver.drive(agent.store, ticks)
        took = time.perf_counter() - begun
        ticked = agent.state_of(())["ticks"]
        assert ticked == b"%d" % (ticks + 1), ticked
        return Ticks(ticks / took, (agent.store.syncs - syncs) / ticks, longest)


def after_ticks(ticks: int, starts: int) -> tuple[int, float]:
    """The journal's greatest length in so many ticks, and how long a start then takes."""
    world = Durable()
    longest = _tick_in(world, ticks).longest
    return longest, statistics.median(asyncio.run(_begin(world)) for _ in range(starts))


async def _begin(world: Durable) -> float:
    begun = time.perf_counter()
    async with world.host(bind(Ticker), jumps=False):
        return time.perf_counter() - begun
