"""R10, R12: who is under suspicion takes turns; what a stop cut off is no crash."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from agentctl import Agent, AgentSettings, Capability, bind, handler, sleep
from agentctl.errors import AgentctlError, Interrupted
from agentctl.storage.faulty import SimulatedDeath


class Api(Capability):
    async def work(self, number: int) -> int: ...


class Real(Api):
    """Kills the program at some numbers; keeps who was in its code at once."""

    def __init__(self, *bad):
        self.bad = set(bad)
        self.made = []
        self.most = 0
        self.now = 0
        self.hold = None

    async def work(self, number: int) -> int:
        self.made.append(number)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            if self.hold is not None and number in self.hold:
                await self.hold[number].wait()
            await asyncio.sleep(0)
            if number in self.bad:
                raise SimulatedDeath
            return number
        finally:
            self.now -= 1


class Bot(Agent):
    api: Api

    @handler
    async def work(self, number: int) -> int:
        return await self.api.work(number)

    @handler
    async def nap(self, number: int) -> int:
        await sleep(60)
        return await self.api.work(number)


class Poller(Agent):
    name: str
    api: Api

    @handler
    async def work(self, number: int) -> int:
        return await self.api.work(number)


def aside(world, agent="Bot"):
    return [one["aside"] for one in world.records(agent) if "aside" in one]


def test_k3_an_event_that_dies_in_its_first_call_3_times_is_set_aside(world, request_of):
    api = Real(7)
    world.dies(bind(Bot, api=api), requests=[request_of(Bot, "work", 7)])
    for _ in range(2):
        world.dies(bind(Bot, api=api))
    api.bad.clear()
    (found,) = world.start(bind(Bot, api=api))
    assert [str(one) for one in found.set_aside] == ["Bot#1"]
    assert world.folder_file("set-aside") == (
        '{"event":1,"handler":"work","args":[7]}\n{"again":1}\n{"again":1}\n'
    )
    assert "Bot set aside: event #1 of work (started 3 times without finishing)" in world.audit
    assert world.invoke(bind(Bot, api=api), "work", 8).event.event == 2


@pytest.mark.parametrize("max_starts", [1, 2, 3])
def test_max_starts_is_the_number_of_starts_that_a_lone_event_gets(world, request_of, max_starts):
    api = Real(7)
    binding = bind(Bot, api=api, settings=AgentSettings(max_starts=max_starts))
    world.dies(binding, requests=[request_of(Bot, "work", 7)])
    for _ in range(max_starts - 1):
        world.dies(binding)
    (found,) = world.start(binding)
    assert [str(one) for one in found.set_aside] == ["Bot#1"]
    assert api.made == [7] * max_starts


def test_p1_64_events_of_two_agents_and_only_the_bad_one_is_set_aside(world, request_of):
    api = Real(17)
    bindings = (bind(Bot, api=api), bind(Poller, api=api))
    requests = [request_of(Bot, "work", n) for n in range(32)]
    requests += [request_of(Poller, "work", n, identity=("x",)) for n in range(100, 132)]

    async def first():
        async with world.program(*bindings) as host:
            for request in requests:
                await asyncio.shield(asyncio.ensure_future(host.submit(request)))
            await host.idle(0)

    with pytest.raises(SimulatedDeath):
        asyncio.run(first())
    for _ in range(6):
        try:
            world.start(*bindings)
            break
        except SimulatedDeath:
            continue
    else:
        pytest.fail("the program died 6 times")
    assert len(aside(world)) == 1
    assert aside(world, "Poller") == []
    assert '"args":[17]' in world.folder_file("set-aside")


def test_r10_from_the_second_death_on_suspects_execute_one_at_a_time(world, request_of):
    api = Real(5)
    requests = [request_of(Bot, "work", n) for n in range(10)]

    async def first():
        async with world.program(bind(Bot, api=api)) as host:
            await asyncio.gather(*(host.submit(request) for request in requests))
            await host.idle(0)

    with pytest.raises(SimulatedDeath):
        asyncio.run(first())
    assert api.most > 1
    with pytest.raises(SimulatedDeath):
        world.start(bind(Bot, api=api))
    api.most = 0
    with pytest.raises(SimulatedDeath):
        world.start(bind(Bot, api=api))
    assert api.most == 1
    world.start(bind(Bot, api=api))
    assert len(aside(world)) == 1


def twice_dead(world, request_of, api):
    world.dies(bind(Bot, api=api), requests=[request_of(Bot, "work", 7)])
    world.dies(bind(Bot, api=api))
    api.bad.clear()


def test_r10_new_events_wait_while_a_suspect_executes_alone_but_no_longer_than_60_s(
    world, request_of
):
    api = Real(7)
    twice_dead(world, request_of, api)
    api.made.clear()

    async def life():
        api.hold = {7: asyncio.Event()}
        async with world.program(bind(Bot, api=api)) as host:
            event = await host.submit(request_of(Bot, "work", 8))
            for _ in range(20):
                await asyncio.sleep(0)
            before = list(api.made)
            world.clock.advance(59)
            for _ in range(20):
                await asyncio.sleep(0)
            still = list(api.made)
            world.clock.advance(1)
            await host.ended(event)
            after = list(api.made)
            api.hold[7].set()
            await host.idle(0)
            return before, still, after

    assert asyncio.run(life()) == ([7], [7], [7, 8])


def test_r10_the_gate_opens_at_once_when_the_suspect_is_done(world, request_of):
    api = Real(7)
    twice_dead(world, request_of, api)

    async def life():
        async with world.program(bind(Bot, api=api)) as host:
            await host.ended(await host.submit(request_of(Bot, "work", 8)))

    asyncio.run(life())
    assert world.clock.monotonic_s() == 0


def test_r10_a_program_with_suspects_is_idle_when_they_are_done_and_not_a_minute_later(
    world, request_of
):
    api = Real(7)
    twice_dead(world, request_of, api)
    world.start(bind(Bot, api=api))
    assert world.clock.monotonic_s() == 0


def test_r10_events_that_sleep_are_under_no_suspicion(world, request_of):
    api = Real(7)
    requests = [request_of(Bot, "nap", 1), request_of(Bot, "work", 7)]
    world.dies(bind(Bot, api=api), requests=requests, jumps=False)
    for _ in range(2):
        world.dies(bind(Bot, api=api), jumps=False)
    world.start(bind(Bot, api=api))
    assert aside(world) == [2]
    assert {"again": 1} not in [
        {k: v for k, v in r.items() if k == "again"} for r in world.records()
    ]


# -- stopping


def test_r12_a_stop_lets_running_calls_end_and_the_next_start_goes_on(world, request_of):
    api = Real()

    async def life():
        api.hold = {7: asyncio.Event()}
        async with world.program(bind(Bot, api=api)) as host:
            await host.submit(request_of(Bot, "work", 7))
            while not api.made:
                await asyncio.sleep(0)
            asyncio.get_running_loop().call_later(0.01, api.hold[7].set)
            return await host.stop()

    stopped = asyncio.run(life())
    assert (stopped.open, stopped.cut_off) == (1, 0)
    assert world.kinds()[-3:] == ["stopping", "ok", "stop"]
    world.start(bind(Bot, api=api))
    assert api.made == [7]
    assert "again" not in world.kinds()


def test_r12_after_its_grace_a_call_is_cut_off_without_a_result_and_made_again(world, request_of):
    api = Real()
    settings = AgentSettings(grace=timedelta(milliseconds=10))

    async def life():
        api.hold = {7: asyncio.Event()}
        async with world.program(bind(Bot, api=api, settings=settings)) as host:
            await host.submit(request_of(Bot, "work", 7))
            while not api.made:
                await asyncio.sleep(0)
            return await host.stop()

    stopped = asyncio.run(life())
    assert (stopped.open, stopped.cut_off) == (1, 1)
    assert world.kinds()[-2:] == ["stopping", "stop"]
    api.hold = None
    world.start(bind(Bot, api=api))
    assert api.made == [7, 7]


def test_r12_without_a_grace_a_stop_waits_for_its_calls(world, request_of):
    api = Real()

    async def life():
        api.hold = {7: asyncio.Event()}
        settings = AgentSettings(grace=None)
        async with world.program(bind(Bot, api=api, settings=settings)) as host:
            await host.submit(request_of(Bot, "work", 7))
            while not api.made:
                await asyncio.sleep(0)
            stop = asyncio.ensure_future(host.stop())
            await asyncio.sleep(0.05)
            assert not stop.done()
            api.hold[7].set()
            return await stop

    assert asyncio.run(life()).cut_off == 0


def test_r12_stopped_and_started_any_number_of_times_nothing_is_set_aside(world, request_of):
    api = Real()
    settings = AgentSettings(grace=timedelta(0))

    async def life(*requests):
        api.hold = {7: asyncio.Event()}
        async with world.program(bind(Bot, api=api, settings=settings)) as host:
            for request in requests:
                await host.submit(request)
            while api.now == 0:
                await asyncio.sleep(0)

    asyncio.run(life(request_of(Bot, "work", 7)))
    for _ in range(6):
        asyncio.run(life())
    assert aside(world) == []
    assert "again" not in world.kinds()


def test_r12_killed_after_the_signal_the_event_is_not_counted_either(world, request_of):
    api = Real()

    async def life(*requests):
        api.hold = {7: asyncio.Event()}
        twins = []
        async with world.program(bind(Bot, api=api)) as host:
            for request in requests:
                await host.submit(request)
            while api.now == 0:
                await asyncio.sleep(0)
            stop = asyncio.ensure_future(host.stop())
            await asyncio.sleep(0)
            twins.append(world.after_kill())
            api.hold[7].set()
            await stop
        return twins[0]

    twin = asyncio.run(life(request_of(Bot, "work", 7)))
    assert twin.kinds()[-1] == "stopping"
    twin.start(bind(Bot, api=Real()))
    assert "again" not in twin.kinds()


def test_r12_no_new_event_is_taken_and_a_waiting_caller_is_told(world):
    api = Real()

    async def life():
        api.hold = {7: asyncio.Event()}
        settings = AgentSettings(grace=timedelta(0))
        async with world.program(bind(Bot, api=api, settings=settings)) as host:
            bot = host.reference(Bot)
            waiting = asyncio.ensure_future(bot.work(7))
            while not api.made:
                await asyncio.sleep(0)
            await host.stop()
            with pytest.raises(Interrupted, match="before the outcome was known"):
                await waiting
            with pytest.raises(AgentctlError, match="stopping"):
                await bot.work(8)

    asyncio.run(life())
    assert [one for one in world.records() if one.get("event") == 2] == []
