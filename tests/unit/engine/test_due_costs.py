"""What due times cost, in counts: syncs and records of a tick, and who is looked at for it."""

from __future__ import annotations

import asyncio
import gc
from datetime import timedelta

import pytest

from agentctl import Agent, handler
from agentctl.core import timetable
from agentctl.engines.local.running.agent import _DUE_SOON_S
from agentctl.engines.local.starting import recovery
from agentctl.hosting import bind
from agentctl.storage.files import frame
from agentctl.testing import Durable

TICKS = 50
PENDING = 300
DUE = 5


class Ticker(Agent):
    ticks: int = 0

    @handler
    async def tick(self) -> None:
        self.ticks += 1
        await self.tick.after(60, name="tick")()


class Crowd(Agent):
    number: str
    rung: int = 0

    @handler
    async def ring(self) -> None:
        self.rung += 1

    @handler
    async def ring_in(self, seconds: int) -> None:
        await self.ring.every(timedelta(days=1), name="ring", first=seconds)()

    @handler
    async def ring_once(self, seconds: int) -> None:
        await self.ring.after(seconds)()


@pytest.fixture
def durable():
    return Durable()


def records(world, agent):
    return sum(frame.unseal(line) is not None for line in world.journals[agent].splitlines())


async def tick(world, host, times):
    for _ in range(times):
        assert world.clock.jump()
        await host.idle()


def test_a_tick_costs_one_sync_and_six_records(durable):
    async def run():
        async with durable.host(bind(Ticker), jumps=False) as host:
            await host.reference(Ticker).tick()
            await host.idle()
            agent = host.engine.agents["Ticker"]
            syncs, before = agent.store.syncs, records(durable, "Ticker")
            await tick(durable, host, TICKS)
            assert agent.state_of(())["ticks"] == b"%d" % (TICKS + 1)
            return agent.store.syncs - syncs, records(durable, "Ticker") - before

    syncs, more = asyncio.run(run())
    assert syncs == TICKS
    # the occurrence, its start, the call, the schedule that it sets, its result, the end
    assert more == 6 * TICKS


@pytest.fixture
def looked(monkeypatch):
    """The schedules that somebody computed anything of."""
    seen = {"plan": [], "begins_us": []}

    def counting(name):
        real = getattr(timetable, name)

        def count(schedule, **kwargs):
            seen[name].append(schedule.of)
            return real(schedule, **kwargs)

        return count

    for name in seen:
        monkeypatch.setattr(timetable, name, counting(name))
    return seen


def test_what_is_due_fires_without_a_look_at_the_other_schedules(durable, looked):
    async def run():
        async with durable.host(bind(Crowd), jumps=False) as host:
            for n in range(PENDING):
                await Crowd.ref(f"n{n}").ring_in(60 if n < DUE else 3600)
            for seen in looked.values():
                seen.clear()
            await tick(durable, host, 1)
            agent = host.engine.agents["Crowd"]
            assert [agent.state_of((f"n{n}",))["rung"] for n in range(DUE + 1)] == [b"1"] * 5 + [
                b"0"
            ]

    asyncio.run(run())
    due = [(f"n{n}",) for n in range(DUE)]
    assert looked["plan"] == due
    assert sorted(set(looked["begins_us"])) == due
    assert len(looked["begins_us"]) == 2 * DUE  # whether it is time, and when it is again


def test_a_start_looks_once_at_each_schedule_and_fires_none(durable, looked):
    async def run():
        async with durable.host(bind(Crowd), jumps=False):
            for n in range(PENDING):
                await Crowd.ref(f"n{n}").ring_in(3600)
        for seen in looked.values():
            seen.clear()
        async with durable.host(bind(Crowd), jumps=False):
            pass

    asyncio.run(run())
    assert looked["plan"] == []
    assert len(looked["begins_us"]) == PENDING


def test_a_start_collects_no_garbage_while_it_reads_and_does_so_again_afterwards(
    durable, monkeypatch
):
    collecting = []
    read = recovery.read

    def note(*args, **kwargs):
        collecting.append(gc.isenabled())
        return read(*args, **kwargs)

    monkeypatch.setattr(recovery, "read", note)

    async def run():
        async with durable.host(bind(Ticker), jumps=False):
            collecting.append(gc.isenabled())

    asyncio.run(run())
    gc.disable()
    try:
        asyncio.run(run())
    finally:
        gc.enable()
    assert collecting == [False, True, False, False]


@pytest.mark.parametrize(("seconds", "alone"), [(1, True), (_DUE_SOON_S / 2, False)])
def test_a_sync_doesnt_block_the_loop_while_something_is_about_to_be_due(durable, seconds, alone):
    async def run():
        async with durable.host(bind(Crowd), jumps=False) as host:
            agent = host.engine.agents["Crowd"]
            assert agent._alone()
            await Crowd.ref("one").ring_once(10)
            await host.idle()
            durable.clock.set_wall(durable.clock.now_us() + 10_000_000 - round(seconds * 1e6))
            return agent._alone()

    assert asyncio.run(run()) is alone
