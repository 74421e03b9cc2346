"""The seeds' idiom, an event that schedules the next one: one pending tick, whatever dies."""

from __future__ import annotations

import asyncio
import time
from abc import abstractmethod
from collections import defaultdict
from datetime import timedelta
from itertools import pairwise

import pytest

from agentctl import Agent, Capability, bind, handler, query
from agentctl import backoff as backoff_of
from agentctl.testing import Durable, FakeClock

from .desk import kill_after
from .rota import (
    make_rota,
    open_events,
    quiet_for,
    run_rota,
    schedules,
)
from .rounds import rest
from .support import Project, wait_until

POLLER = 'Poller("p")'
URL = "https://example.org"
MIB = 1 << 20


class Api(Capability):
    @abstractmethod
    async def fetch(self, url: str) -> bool: ...


class Service(Api):
    """It is down for the first so many polls."""

    def __init__(self, clock: FakeClock, down: int) -> None:
        self.clock, self.down = clock, down
        self.polled: list[float] = []

    async def fetch(self, url: str) -> bool:
        self.polled.append(self.clock.now_us() / 1_000_000)
        return len(self.polled) > self.down


class Poller(Agent):
    name: str
    api: Api
    failures: int = 0
    stopped: bool = False

    @handler
    async def poll(self, endpoint: str) -> None:
        if self.stopped:
            return
        ok = await self.api.fetch(endpoint)
        self.failures = 0 if ok else self.failures + 1
        again = backoff_of(60, self.failures, cap=3600)
        await self.poll.after(again, name="tick")(endpoint)

    @handler
    async def stop(self) -> None:
        self.stopped = True
        if tick := self.schedules.get("tick"):
            await tick.cancel()

    @handler
    async def pending(self) -> list[str]:
        return sorted(self.schedules)

    @query
    async def health(self) -> int:
        return self.failures


def test_g8_the_delays_of_a_poller_that_fails_eight_times() -> None:
    world = Durable(clock=FakeClock())
    service = Service(world.clock, down=8)
    healths: dict[int, int] = {}

    async def life() -> None:
        async with world.host(bind(Poller, api=service), jumps=False) as host:
            await Poller.ref("p").poll(URL)
            await Poller.ref("p").poll(URL)  # started twice
            while len(service.polled) < 14:
                assert await Poller.ref("p").pending() == ["tick"]
                healths[len(service.polled)] = await Poller.ref("p").health()
                world.clock.jump()
                await rest(host)
            await Poller.ref("p").stop()
            assert await Poller.ref("p").pending() == []
            world.clock.advance(timedelta(days=1))
            await rest(host)

    asyncio.run(life())
    apart = [b - a for a, b in pairwise(service.polled)]
    # The second start is the second failure; its tick replaced the first one's.
    assert apart == [0, 240, 480, 960, 1920, 3600, 3600, 3600, 60, 60, 60, 60, 60]
    assert list(healths.values())[:8] == [2, 3, 4, 5, 6, 7, 8, 0]
    assert len(service.polled) == 14, "it went on after it was stopped"


def test_g8_the_delays_of_one_that_was_started_once() -> None:
    world = Durable(clock=FakeClock())
    service = Service(world.clock, down=8)

    async def life() -> None:
        async with world.host(bind(Poller, api=service), jumps=False) as host:
            await Poller.ref("p").poll(URL)
            while len(service.polled) < 12:
                world.clock.jump()
                await rest(host)

    asyncio.run(life())
    apart = [b - a for a, b in pairwise(service.polled)]
    assert apart == [120, 240, 480, 960, 1920, 3600, 3600, 3600, 60, 60, 60]


@pytest.mark.parametrize(
    ("failures", "expected"),
    [(0, 60), (1, 120), (2, 240), (5, 1920), (6, 3600), (8, 3600), (5000, 3600)],
)
def test_g8_backoff_doubles_up_to_its_cap(failures: int, expected: float) -> None:
    assert backoff_of(60, failures, cap=3600) == expected


def test_g9_ten_thousand_ticks_leave_a_small_journal_and_a_quick_start() -> None:
    world = Durable(clock=FakeClock())
    service = Service(world.clock, down=0)
    starts, largest = [], 0

    async def ticks(goal: int) -> None:
        nonlocal largest
        begun = time.perf_counter()
        async with world.host(bind(Poller, api=service)):
            starts.append(time.perf_counter() - begun)
            if goal == 0:
                return
            if not service.polled:
                await Poller.ref("p").poll(URL)
            while len(service.polled) < goal:
                await asyncio.sleep(0.05)
                largest = max(largest, len(world.journals["Poller"]))

    for goal in (100, 10_000):
        asyncio.run(ticks(goal))
    asyncio.run(ticks(0))
    size = len(world.journals["Poller"])
    assert max(largest, size) < 2 * MIB, f"{max(largest, size)} bytes"
    apart = {b - a for a, b in pairwise(service.polled)}
    assert {round(one) for one in apart} == {60}
    # Flat: the start after 10 000 ticks has no more to read than the one after 100.
    assert starts[2] < max(10 * starts[1], 0.25), f"starts took {starts}"


# -- kill -9 in the midst of a tick


def numbers(project: Project, deed: str) -> dict[int, set[str]]:
    """Which call keys each number was done under; more than one would be two events."""
    found: dict[int, set[str]] = defaultdict(set)
    for line in project.ledger(deed + " "):
        *_, n, key = line.split(" ")
        found[int(n)].add(key)
    return found


@pytest.mark.parametrize("lines", range(1, 8))
@pytest.mark.parametrize("named", [True, False], ids=["by-name", "single"])
def test_g10_a_kill_at_any_moment_of_a_tick_schedules_the_next_one_once(
    project: Project, lines: int, named: bool
) -> None:
    make_rota(project)
    agent, deed = ("Poller", "fetch") if named else ("Chain", "tick")
    first = (POLLER, "fetching", "0") if named else ("Chain", "tick", "0")
    program = run_rota(project)
    project.agentctl("invoke", "-t", *first).expect(0)
    for kill in range(2):
        reached = len(numbers(project, deed))
        wait_until(lambda goal=reached: len(numbers(project, deed)) > goal + 1, "some ticks")
        kill_after(project, program, lines + kill, agent)
        program = run_rota(project)
    reached = len(numbers(project, deed))
    wait_until(lambda: len(numbers(project, deed)) > reached + 2, "ticks after the last kill")
    program.cut_power()
    done = numbers(project, deed)
    assert sorted(done) == list(range(len(done))), "a tick was lost"
    twice = {n: keys for n, keys in done.items() if len(keys) > 1}
    assert not twice, f"a tick was scheduled twice: {twice}"
    assert len({key for keys in done.values() for key in keys}) == len(done)
    to_come = schedules(project, agent)
    going = [one for one in open_events(project, agent) if one["status"] != "scheduled"]
    # A single one may be there beside the tick that made it, which hasn't ended yet.
    most = 1 if named else 2
    assert 1 <= max(len(to_come), len(going)) <= most, f"ticks to come: {to_come}, {going}"


def test_g10_a_kill_over_and_over_keeps_one_tick_of_the_poller(project: Project) -> None:
    """Started twice, and killed: by its name there is one tick all along."""
    make_rota(project)
    program = run_rota(project, DOWN="1")
    for _ in range(2):
        project.agentctl("invoke", POLLER, "fetching", "0").expect(0)
    for lines in (2, 5, 3):
        kill_after(project, program, lines, "Poller")
        alone = [one for one in schedules(project, "Poller") if one["name"] == "tick"]
        assert len(alone) <= 1
        assert len(alone) + len(open_events(project)) >= 1, "no tick is to come"
        program = run_rota(project, DOWN="1")
    before = len(project.ledger())
    wait_until(lambda: len(project.ledger()) > before, "the ticks to go on")
    project.agentctl("invoke", POLLER, "halt").expect(0)
    assert quiet_for(project, 1.0), "it went on after it was stopped"
    assert schedules(project, "Poller") == []
