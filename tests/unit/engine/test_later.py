"""Events that begin at a moment to come (R18, R19): once, not early, also after a crash."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from agentctl import Agent, AgentSettings, bind, handler, now
from agentctl.core.lifecycle import Cancellation
from agentctl.engines.changes import Cancelled, CancelRequest, DeleteRequest
from agentctl.engines.local.running import due as due_times
from agentctl.engines.port import InvokeRequest
from agentctl.names import Address
from agentctl.testing import Durable, FakeClock
from agentctl.testing.clock import START_US
from agentctl.times import SECOND_US, SystemClock

RAN: list[tuple[str, int]] = []
HOUR_US = 3600 * SECOND_US


class Bell(Agent):
    @handler
    async def ring(self, name: str) -> str:
        RAN.append((name, round(now().timestamp() * SECOND_US)))
        return name


class Room(Agent):
    name: str
    rings: int = 0

    @handler
    async def ring(self) -> int:
        self.rings += 1
        return self.rings


@pytest.fixture(autouse=True)
def _none_ran() -> None:
    RAN.clear()


def later(name: str, due_us: int, key: str | None = None) -> InvokeRequest:
    return InvokeRequest("Bell", (), "ring", [name], key=key, due_us=due_us)


async def until_idle(world: Durable, *requests: InvokeRequest, within_s: float) -> None:
    async with world.host(bind(Bell), jumps=within_s > 0) as host:
        for request in requests:
            await host.submit(request)
        await host.idle(within_s)


def test_r18_events_begin_at_their_moments_in_that_order_and_once() -> None:
    world = Durable()
    dues = {"late": START_US + 2 * HOUR_US, "soon": START_US + HOUR_US, "now": START_US - 5}
    asyncio.run(until_idle(world, *(later(n, due) for n, due in dues.items()), within_s=3 * 3600.0))
    assert [name for name, _ in RAN] == ["now", "soon", "late"]
    assert all(at >= dues[name] for name, at in RAN), "one began early"
    assert dict(RAN)["late"] - dues["late"] < SECOND_US


def test_r18_what_is_not_due_yet_is_still_to_come_after_a_crash_and_a_restart() -> None:
    world = Durable()
    asyncio.run(until_idle(world, later("x", START_US + HOUR_US), within_s=0))
    assert RAN == []
    world.clock.advance(timedelta(minutes=59))
    asyncio.run(until_idle(world, within_s=0))
    assert RAN == []
    asyncio.run(until_idle(world, within_s=120.0))
    assert [name for name, _ in RAN] == ["x"]
    asyncio.run(until_idle(world, within_s=7200.0))
    assert len(RAN) == 1


def test_r18_what_fell_due_while_nothing_ran_begins_with_the_next_start() -> None:
    world = Durable()
    asyncio.run(until_idle(world, later("x", START_US + HOUR_US), within_s=0))
    world.clock.advance(timedelta(days=25))
    asyncio.run(until_idle(world, within_s=0))
    assert [name for name, _ in RAN] == ["x"]


def test_g3_a_scheduled_event_that_is_cancelled_never_begins() -> None:
    world = Durable()

    async def life() -> list[str]:
        async with world.host(bind(Bell)) as host:
            await host.submit(later("x", START_US + HOUR_US, key="k"))
            answers = []
            for request in ("a", "b"):
                answer = await host.carry_out(CancelRequest("Bell", request, key="k"))
                assert isinstance(answer, Cancelled)
                answers.append(answer.answer)
            await host.idle(2 * 3600.0)
            await host.submit(later("y", START_US + HOUR_US, key="k"))
            await host.idle(2 * 3600.0)
            return answers

    assert asyncio.run(life()) == [Cancellation.CANCELLED, Cancellation.ALREADY_CANCELLED]
    assert [name for name, _ in RAN] == ["y"]


def test_a_key_stands_for_one_event_whenever_it_is_due() -> None:
    world = Durable()

    async def life() -> list[Address]:
        async with world.host(bind(Bell)) as host:
            dues = (START_US + HOUR_US, START_US + 2 * HOUR_US)
            return [await host.submit(later("x", due, key="k")) for due in dues]

    first, second = asyncio.run(life())
    assert first == second


def test_r19_a_clock_that_is_set_makes_nothing_early() -> None:
    """Set back, it is later by that; set forward, it is due at the next look."""
    clock = FakeClock()
    world = Durable(clock=clock)

    async def life() -> None:
        async with world.host(bind(Bell), jumps=False) as host:
            await host.submit(later("x", START_US + HOUR_US))
            clock.set_wall(START_US - HOUR_US)
            clock.advance(timedelta(hours=1))
            for _ in range(20):
                await asyncio.sleep(0)
            assert RAN == [], "it began an hour early"
            clock.advance(timedelta(hours=1))
            await host.idle(0)

    asyncio.run(life())
    assert [name for name, _ in RAN] == ["x"]


def test_g5_deleting_an_instance_takes_what_it_has_to_come() -> None:
    world = Durable()

    async def life() -> int:
        async with world.host(bind(Room)) as host:
            due_us = START_US + HOUR_US
            await host.submit(InvokeRequest("Room", ("a",), "ring", due_us=due_us))
            await host.carry_out(DeleteRequest("Room", "d", ("a",)))
            await host.idle(2 * 3600.0)
            event = await host.submit(InvokeRequest("Room", ("a",), "ring"))
            return int((await host.ended(event)).result or b"0")

    assert asyncio.run(life()) == 1


def test_scheduled_events_leave_room_for_others() -> None:
    world = Durable()

    async def life() -> None:
        async with world.host(bind(Bell, settings=AgentSettings(capacity=1))) as host:
            for number in range(5):
                await host.submit(later(str(number), START_US + HOUR_US))
            event = await host.submit(InvokeRequest("Bell", (), "ring", ["x"], if_full="refuse"))
            await host.ended(event)

    asyncio.run(life())


def test_a_real_clock_is_looked_at_again_and_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    """Long waits go in slices, so that a machine that slept isn't late by more than one."""
    monkeypatch.setattr(due_times, "LOOK_S", 0.01)

    async def life() -> None:
        from agentctl import Host

        async with Host(bind(Bell), root=str(tmp_path)) as host:
            soon_us = SystemClock().now_us() + 50_000
            event = await host.submit(later("x", soon_us))
            await host.ended(event)
            assert SystemClock().now_us() >= soon_us

    asyncio.run(life())
    assert [name for name, _ in RAN] == ["x"]
