"""R19: waits are on record, and after a restart only the rest is waited."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime, timedelta

import pytest

from agentctl import Agent, Capability, bind, handler, now, sleep, timeout, today

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


class Bell(Capability):
    async def ring(self, text: str) -> None: ...


class Recorder(Bell):
    def __init__(self, clock):
        self.clock = clock
        self.rung = []

    async def ring(self, text: str) -> None:
        self.rung.append((text, self.clock.now))


class Bot(Agent):
    bell: Bell

    @handler
    async def nap(self, seconds: float) -> str:
        await sleep(seconds)
        await self.bell.ring("awake")
        return now().isoformat()

    @handler
    async def limited(self, limit: float, nap: float) -> str:
        try:
            async with timeout(limit):
                await sleep(nap)
        except TimeoutError:
            await self.bell.ring("timeout")
            return "timeout"
        return "slept"

    @handler
    async def clock(self) -> list[str]:
        first = now()
        await self.bell.ring("x")
        return [first.isoformat(), str(today("Europe/Berlin")), str(today(UTC))]


@pytest.fixture
def bell(world):
    return Recorder(world.clock)


def parked_for(world, bell, request, waited):
    """Run until the event has waited so long, then kill the program; returns the next world."""

    async def life():
        async with world.program(bind(Bot, bell=bell)) as host:
            await host.submit(request)
            await host.idle(0)
            world.clock.advance(waited)
            await host.idle(0)
            return world.after_kill()

    return asyncio.run(life())


def rung_after(world, bell, *, jumps=True):
    """Start again and let it come to rest; returns how long that took on the clock."""
    before = world.clock.monotonic_s()
    world.start(bind(Bot, bell=bell), jumps=jumps)
    return timedelta(seconds=world.clock.monotonic_s() - before)


def test_k4_a_sleep_of_a_day_that_died_after_an_hour_waits_23_hours_more(world, bell, request_of):
    begun = world.clock.now
    twin = parked_for(world, bell, request_of(Bot, "nap", DAY.total_seconds()), HOUR)
    assert rung_after(twin, bell) == 23 * HOUR
    assert bell.rung == [("awake", begun + DAY)]


def test_k4_the_time_that_no_program_ran_counts_too(world, bell, request_of):
    begun = world.clock.now
    twin = parked_for(world, bell, request_of(Bot, "nap", DAY.total_seconds()), HOUR)
    world.clock.advance(30 * HOUR)
    assert rung_after(twin, bell) == timedelta(0)
    assert bell.rung == [("awake", begun + 31 * HOUR)]


def test_k5_a_clock_set_back_2_h_during_a_sleep_of_1_h_never_makes_it_longer(
    world, bell, request_of
):
    twin = parked_for(world, bell, request_of(Bot, "nap", 3600), timedelta(0))
    world.clock.set_wall(world.clock.now_us() - 2 * 3600 * 1_000_000)
    assert rung_after(twin, bell) == HOUR


@pytest.mark.parametrize("minutes", [1, 30, 59, 60, 90])
def test_k5_never_longer_than_1_h_in_all_although_part_of_it_had_passed(
    world, bell, request_of, minutes
):
    part = timedelta(minutes=minutes)
    twin = parked_for(world, bell, request_of(Bot, "nap", 3600), min(part, 59 * HOUR / 60))
    world.clock.set_wall(world.clock.now_us() - 2 * 3600 * 1_000_000)
    world.clock.advance(part - min(part, 59 * HOUR / 60))
    assert rung_after(twin, bell) == max(timedelta(0), HOUR - part)


def test_k5_a_clock_set_back_while_the_program_runs_changes_nothing(world, bell, request_of):
    async def life():
        async with world.program(bind(Bot, bell=bell)) as host:
            event = await host.submit(request_of(Bot, "nap", 3600))
            await host.idle(0)
            world.clock.advance(HOUR / 2)
            world.clock.set_wall(world.clock.now_us() - 2 * 3600 * 1_000_000)
            world.clock.advance(HOUR / 2)
            return await host.ended(event)

    assert asyncio.run(life()).status == "completed"


def test_a_clock_set_forward_fires_it_once(world, bell, request_of):
    twin = parked_for(world, bell, request_of(Bot, "nap", 3600), timedelta(0))
    world.clock.set_wall(world.clock.now_us() + 365 * 86_400 * 1_000_000)
    assert rung_after(twin, bell) == timedelta(0)
    assert [text for text, _ in bell.rung] == ["awake"]


def test_k6_a_timeout_of_60_s_that_died_at_30_s_fires_at_the_first_run_s_60_s(
    world, bell, request_of
):
    begun = world.clock.now
    twin = parked_for(world, bell, request_of(Bot, "limited", 60.0, 3600.0), timedelta(seconds=30))
    assert rung_after(twin, bell) == timedelta(seconds=30)
    assert bell.rung == [("timeout", begun + timedelta(seconds=60))]


def test_a_timeout_that_did_not_fire_leaves_the_sleep_as_it_is(world, bell):
    ended = world.invoke(bind(Bot, bell=bell), "limited", 60.0, 30.0)
    assert ended.result == b'"slept"'
    assert world.clock.monotonic_s() == 30


@pytest.mark.parametrize("seconds", [45 * 86_400, 3650 * 86_400], ids=["45 days", "10 years"])
def test_c11_long_sleeps_end_when_they_should_and_not_before(world, bell, seconds):
    begun = world.clock.now
    ended = world.invoke(bind(Bot, bell=bell), "nap", seconds)
    assert ended.status == "completed"
    assert bell.rung == [("awake", begun + timedelta(seconds=seconds))]


@pytest.mark.parametrize("seconds", [0, -1, -1e9, 0.0, -0.0])
def test_c11_zero_and_less_return_at_once(world, bell, seconds):
    ended = world.invoke(bind(Bot, bell=bell), "nap", seconds)
    assert ended.status == "completed"
    assert world.clock.monotonic_s() == 0
    assert "fired" not in world.kinds()


def test_c11_a_long_sleep_survives_a_restart(world, bell, request_of):
    twin = parked_for(world, bell, request_of(Bot, "nap", 3650 * 86_400), 45 * DAY)
    assert rung_after(twin, bell) == 3650 * DAY - 45 * DAY


@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), 1e300])
def test_a_wait_without_an_end_is_refused_and_not_rounded(world, bell, seconds):
    async def forever() -> None:
        await sleep(seconds)

    class Long(Agent):
        @handler
        async def run(self, which: int) -> None:
            await sleep([float("inf"), float("nan"), 1e300][which])

    which = {"inf": 0, "nan": 1}.get(str(seconds), 2)
    ended = world.invoke(bind(Long), "run", which)
    assert ended.status == "stuck"
    assert forever is not None


def test_now_is_the_time_of_what_the_handler_heard_last(world, bell):
    ended = world.invoke(bind(Bot, bell=bell), "nap", 3600)
    assert ended.result == b'"2026-01-01T01:00:00+00:00"'


def test_now_is_the_same_on_replay(world, bell, request_of, die):
    class Deadly(Recorder):
        async def ring(self, text: str) -> None:
            die()

    first = world.clock.now
    world.dies(bind(Bot, bell=Deadly(world.clock)), requests=[request_of(Bot, "clock")])
    world.clock.advance(DAY)
    world.start(bind(Bot, bell=bell))
    (done,) = [one for one in world.records() if "done" in one]
    assert done["value"][0] == first.isoformat()


def test_today_is_the_date_in_the_zone_that_was_asked_for(world, bell):
    world.clock.set_wall(int(datetime(2026, 6, 30, 22, 30, tzinfo=UTC).timestamp() * 1e6))
    ended = world.invoke(bind(Bot, bell=bell), "clock")
    assert ended.result.endswith(b'"2026-07-01","2026-06-30"]')
    assert date(2026, 7, 1).isoformat() == "2026-07-01"


def test_a_sleeping_event_needs_no_program_and_no_permit(world, bell, request_of):
    from agentctl import AgentSettings

    async def life():
        settings = AgentSettings(concurrency=1)
        async with world.program(bind(Bot, bell=bell, settings=settings)) as host:
            for _ in range(3):
                await host.submit(request_of(Bot, "nap", 60))
            await host.idle(0)
            starts = len(world.heard.starts)
            world.clock.advance(60)
            await host.idle(0)
            return starts

    assert asyncio.run(life()) == 3
    assert len(bell.rung) == 3
