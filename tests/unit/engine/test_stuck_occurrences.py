"""Occurrences that are stuck hold nobody up, and don't pile up (R8, R18)."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from agentctl import Agent, handler
from agentctl.engines.local.running.calendar import MOST_STUCK
from agentctl.hosting import bind
from agentctl.testing import Durable

ROUNDS = 3 * MOST_STUCK


def make(broken):
    class Bot(Agent):
        runs: int = 0

        @handler
        async def begin(self) -> None:
            await self.beat.every(timedelta(minutes=1), name="beat")()

        @handler
        async def beat(self) -> None:
            if broken:
                raise KeyError("total")
            self.runs += 1

    return Bot


async def rounds(world, host, times):
    for _ in range(times):
        assert world.clock.jump()
        await host.idle()


def test_r18_of_one_schedule_so_many_are_stuck_and_further_ones_are_skipped():
    world = Durable()

    async def breaks():
        async with world.host(bind(make(broken=True)), jumps=False) as host:
            agent = host.engine.agents["Bot"]
            await host.reference(agent.cls).begin()
            await rounds(world, host, ROUNDS)
            return len(agent.stuck), agent.history.schedules.live[(), "beat"].due

    async def is_mended():
        async with world.host(bind(make(broken=False)), jumps=False) as host:
            await host.idle()
            agent = host.engine.agents["Bot"]
            ran = int(agent.states.of(())["runs"])
            await rounds(world, host, 2)
            return ran, int(agent.states.of(())["runs"]), len(agent.open)

    stuck, due_us = asyncio.run(breaks())
    assert stuck == MOST_STUCK
    assert due_us > world.clock.now_us(), "the grid went on"
    assert asyncio.run(is_mended()) == (MOST_STUCK, MOST_STUCK + 2, 0)
    audit = world.disk.read_file("/memory/agents/Bot/audit.log")
    skipped = [one for one in audit.splitlines() if b" skipped: " in one]
    assert len(skipped) == ROUNDS - MOST_STUCK
    assert b"1 due time of schedule beat" in skipped[0]


def test_r3_a_start_tells_of_a_schedule_whose_handler_is_gone(caplog):
    world = Durable()

    async def sets():
        async with world.host(bind(make(broken=False)), jumps=False) as host:
            await host.reference(host.engine.agents["Bot"].cls).begin()

    class Bot(Agent):
        runs: int = 0

        @handler
        async def another(self) -> None:
            self.runs += 1

    async def goes_on():
        async with world.host(bind(Bot), jumps=False):
            pass

    asyncio.run(sets())
    caplog.clear()
    asyncio.run(goes_on())
    (told,) = [one.getMessage() for one in caplog.records if "handler" in one.getMessage()]
    assert "there is no handler 'beat' any more, which the schedule 'beat' runs" in told
    assert "agentctl schedule cancel Bot beat" in told
