"""R12: a stop is on record from the signal on, whenever it comes; each agent has its own grace."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from agentctl import Agent, AgentSettings, Capability, bind, handler
from agentctl.errors import Locked
from agentctl.storage.faulty import FaultyDisk
from agentctl.storage.files.folder import FilesStore


class World(Capability):
    def __init__(self):
        self.begun = asyncio.Event()
        self.go_on = asyncio.Event()

    async def work(self) -> int:
        self.begun.set()
        await self.go_on.wait()
        return 7


class Bot(Agent):
    world: World

    @handler
    async def twice(self) -> int:
        return await self.world.work() + await self.world.work()


class Clerk(Agent):
    world: World

    @handler
    async def go(self) -> int:
        return await self.world.work()


def patient(**settings):
    return AgentSettings(**settings)


def test_r12_each_agent_has_the_grace_of_its_own(world, request_of):
    async def life():
        hasty, calm = World(), World()
        bot = bind(Bot, settings=patient(grace=timedelta(0)), world=hasty)
        clerk = bind(Clerk, settings=patient(grace=None), world=calm)
        async with world.program(bot, clerk) as host:
            await host.submit(request_of(Bot, "twice"))
            await host.submit(request_of(Clerk, "go"))
            await hasty.begun.wait()
            await calm.begun.wait()
            stop = asyncio.ensure_future(host.stop())
            await asyncio.sleep(0.05)
            assert not stop.done(), "nobody waited for the agent without a limit"
            calm.go_on.set()
            return await stop

    stopped = asyncio.run(life())
    assert (stopped.open, stopped.cut_off) == (2, 1)
    assert world.kinds("Clerk")[-3:] == ["stopping", "ok", "stop"]
    assert world.kinds("Bot")[-2:] == ["stopping", "stop"]


def test_r12_a_stop_names_what_it_waits_for(world, request_of):
    async def life():
        real = World()
        settings = patient(grace=timedelta(milliseconds=50))
        async with world.program(bind(Bot, settings=settings, world=real)) as host:
            await host.submit(request_of(Bot, "twice"))
            await real.begun.wait()
            await host.stop()

    asyncio.run(life())
    assert world.heard.waits == [([("Bot-1-1", "World.work")], timedelta(milliseconds=50))]


def test_r12_the_signal_itself_puts_the_stop_on_record_and_nothing_starts_any_more(
    world, request_of
):
    async def life():
        real = World()
        async with world.program(bind(Bot, settings=patient(concurrency=1), world=real)) as host:
            for _ in range(2):
                await host.submit(request_of(Bot, "twice"))
            await real.begun.wait()
            assert host.begin_stop()
            assert world.kinds()[-1] == "stopping"  # and this is before anything else ran
            assert host.begin_stop()
            real.go_on.set()
            await asyncio.sleep(0.01)
            await host.stop()

    asyncio.run(life())
    kinds = world.kinds()
    assert kinds.count("stopping") == 1
    assert kinds.count("start") == 1
    assert kinds.count("call") == 1, "a call was made after the signal"


def test_r12_a_signal_in_the_middle_of_a_write_waits_for_its_end(world, request_of):
    """A signal's handler runs anywhere; wherever that is, the journal stays whole."""
    host = None

    class Signalled(FaultyDisk):
        def write(self, fd, data):
            written = super().write(fd, data)
            if host is not None and b'{"call"' in data:
                host.begin_stop()
            return written

    disk = Signalled(world.disk, None)

    async def life():
        nonlocal host
        real = World()
        made = world.host(bind(Bot, settings=patient(grace=timedelta(0)), world=real), jumps=False)
        options = made._options
        made._options = replace(options, stores=lambda root, name: FilesStore(root, name, disk))
        async with made as host:
            await host.submit(request_of(Bot, "twice"))
            await asyncio.sleep(0.01)
            await host.stop()
        return real.begun.is_set()

    assert not asyncio.run(life()), "a call began after the signal"
    assert world.kinds()[-4:] == ["start", "call", "stopping", "stop"]
    assert finished(world), "the next start doesn't read what a signal wrote into"


def finished(world):
    """The next program finds its journal whole, and completes what lies there."""

    async def life():
        real = World()
        real.go_on.set()
        async with world.program(bind(Bot, world=real)) as host:
            await host.idle()
            return [found.cut for found in host.recovered]

    assert asyncio.run(life()) == [None]
    return world.heard.ends and all(status == "completed" for _, status, _ in world.heard.ends)


def test_r12_before_the_folders_are_held_there_is_nothing_to_stop(world):
    assert not world.host(bind(Bot, world=World())).begin_stop()


def test_r12_a_signal_during_a_start_ends_the_start_and_is_on_record(world, request_of, die):
    class Deadly(World):
        async def work(self):
            die()

    world.dies(bind(Bot, world=Deadly()), requests=[request_of(Bot, "twice")])
    signals = []

    class Signalled(type(world.heard)):
        def started(self, event, handler, *, again):
            super().started(event, handler, again=again)
            signals.append(host.begin_stop())

    world.heard = Signalled()
    host = world.host(bind(Bot, world=World()), jumps=False)

    async def life():
        async with asyncio.timeout(5), host:
            pass

    asyncio.run(life())
    assert signals == [True]
    assert world.kinds()[-2:] == ["stopping", "stop"]
    assert finished(world)


def test_k7_waiting_for_a_lock_leaves_the_loop_to_others(world):
    async def life():
        async with world.program(bind(Bot, world=World())):
            second = world.host(bind(Bot, world=World()), jumps=False)
            second._options = replace(second._options, lock_wait_s=5.0)
            entering = asyncio.ensure_future(second.__aenter__())
            for _ in range(100):
                await asyncio.sleep(0)
                assert not entering.done()
                world.clock.advance(0.049)
            world.clock.advance(0.2)
            with pytest.raises(Locked, match="waited 5 s"):
                await entering

    asyncio.run(life())


def test_k7_who_waits_for_a_lock_gets_it_when_it_is_free(world):
    async def life():
        first = world.host(bind(Bot, world=World()), jumps=False)
        second = world.host(bind(Bot, world=World()), jumps=False)
        second._options = replace(second._options, lock_wait_s=5.0)
        await first.__aenter__()
        entering = asyncio.ensure_future(second.__aenter__())
        await asyncio.sleep(0)
        await first.stop()
        world.clock.advance(0.06)
        await entering
        await second.stop()

    asyncio.run(life())


def test_h8_what_was_warned_of_lately_can_be_asked_for(world, request_of):
    MOVE[0] = world.clock.advance

    async def life():
        async with world.program(bind(Slow)) as host:
            for _ in range(60):
                await host.submit(request_of(Slow, "blocks"))
            await host.idle()
            return host.engine.warnings

    warnings = asyncio.run(life())
    assert len(warnings) == 50, "what is kept is not bounded"
    assert warnings[-1].text.startswith("Slow#60 blocked its turn for 2.0 s")
    assert warnings[-1].at_us == world.clock.now_us()


class Slow(Agent):
    @handler
    async def blocks(self) -> None:
        MOVE[0](2.0)


MOVE = [None]
"""How a handler moves the clock, as a turn that takes so long does."""
