"""R22: who waits for room in a full lane hears of the program's end, however it comes."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta

import pytest

from agentctl import AgentSettings, bind
from agentctl.errors import DiskTrouble, Interrupted

from .till import Bot, settled

FULL = AgentSettings(concurrency=1, capacity=1, grace=timedelta(0))


def by_a_signal(engine):
    engine.begin_stop()


def by_its_disk(engine):
    engine.program.die(DiskTrouble("the disk is full"))


def by_its_owner(engine):
    """Nothing: it ends where its block does."""


@pytest.mark.parametrize(
    ("end", "told"),
    [(by_a_signal, Interrupted), (by_its_owner, Interrupted), (by_its_disk, DiskTrouble)],
)
def test_who_waits_for_room_hears_that_there_will_be_none(scene, end, told):
    async def life():
        with suppress(DiskTrouble):
            async with scene.world.program(bind(Bot, till=scene.till, settings=FULL)) as host:
                for number in (1, 2):
                    await host.submit(scene.asked("pay", "hold", key=f"k{number}"))
                    await settled()
                waiting = asyncio.create_task(host.submit(scene.asked("pay", "x", key="k3")))
                await settled()
                assert not waiting.done()
                end(host.engine)
                await settled()
                if end is not by_its_owner:
                    assert waiting.done()
        with pytest.raises(told):
            await asyncio.wait_for(waiting, 10)

    asyncio.run(life())
    assert scene.kinds().count("event") == 2, "nothing was accepted"
