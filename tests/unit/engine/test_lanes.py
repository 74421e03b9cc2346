"""R16, R22: an event's lane, from whoever asks for it to whatever becomes of it."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace

from agentctl import Agent, AgentSettings, Capability, bind, handler
from agentctl.core.timing import Timing
from agentctl.engines.changes import RequeueRequest
from agentctl.engines.port import InvokeRequest
from agentctl.engines.schedules import FireRequest, SetRequest
from agentctl.errors import LaneFull, UsageError
from agentctl.storage.faulty import SimulatedDeath

from .till import settled

ONE = AgentSettings(concurrency=1, capacity=1)


class Log(Capability):
    async def note(self, what: str) -> None: ...


class Real(Log):
    def __init__(self):
        self.noted = []
        self.gate = asyncio.Event()

    async def note(self, what: str) -> None:
        self.noted.append(what)
        if what == "hold":
            await self.gate.wait()
        if what == "die":
            raise SimulatedDeath


class Bell(Agent):  # without state: side by side
    log: Log

    @handler
    async def ring(self, what: str) -> None:
        await self.log.note(what)

    @handler
    async def alone(self, what: str) -> None:
        await self.log.note(what)


class Desk(Agent):
    name: str
    log: Log
    served: int = 0

    @handler
    async def serve(self, what: str) -> None:
        self.served += 1
        await self.log.note(what)

    @handler
    async def ask(self) -> None:
        bell = Bell.ref(priority="high")
        await bell.ring("asked")
        await bell.ring.trigger()("sent")
        await bell.ring.every(_HOUR, name="again", first=1800, priority="low")("again")
        await self.serve.trigger(priority="low")("mine")
        await self.serve.after(1800, name="later", priority="high")("later")


_HOUR = timedelta(hours=1)


def ring(what, priority="medium", **how):
    return InvokeRequest("Bell", (), "ring", [what], priority=priority, **how)


def serve(what, priority="medium", name="a"):
    return InvokeRequest("Desk", (name,), "serve", [what], priority=priority)


def lanes(world, agent="Bell"):
    events = [record for record in world.records(agent) if next(iter(record)) == "event"]
    return {event["args"][0]: event.get("lane") for event in events if event["args"]}


def bindings(log, settings=None):
    return bind(Bell, settings=settings, log=log), bind(Desk, settings=settings, log=log)


MIXED = [ring(f"{lane} {n}", lane) for n in (1, 2) for lane in ("low", "medium", "high")]
SORTED = [f"{lane} {n}" for lane in ("high", "medium", "low") for n in (1, 2)]


@pytest.mark.parametrize("restart", [False, True])
def test_r22_events_begin_by_lane_also_after_a_kill(world, restart):
    log = Real()
    settings = AgentSettings(concurrency=1)

    async def life():
        async with world.program(bind(Bell, settings=settings, log=log)) as host:
            for request in (ring("hold"), *MIXED):
                await host.submit(request)
            if restart:
                return world.after_kill()
            log.gate.set()
            await host.idle()
        return None

    after = asyncio.run(life())
    if restart:
        again = Real()
        again.gate.set()
        after.start(bind(Bell, settings=settings, log=again))
        assert again.noted == ["hold", *SORTED], "the one that had begun isn't first"
    else:
        assert log.noted == ["hold", *SORTED]
    assert lanes(world) == {"hold": None} | {
        what: None if (lane := what.split()[0]) == "medium" else lane for what in SORTED
    }


def test_r16_a_higher_lane_goes_first_in_an_instance_unless_the_lower_one_has_begun(world):
    """The low one has taken its instance while it waits for a permit: it must give way."""
    log = Real()

    async def life():
        async with world.program(*bindings(log, AgentSettings(concurrency=1))) as host:
            await host.submit(serve("hold", name="other"))
            await settled()
            for what in ("low 1", "low 2", "medium 1", "high 1", "high 2"):
                await host.submit(serve(what, what.split()[0]))
            after = world.after_kill()
            log.gate.set()
            await host.idle()
            return after

    order = ["hold", "high 1", "high 2", "medium 1", "low 1", "low 2"]
    after = asyncio.run(life())
    assert log.noted == order
    again = Real()
    again.gate.set()
    after.start(*bindings(again, AgentSettings(concurrency=1)))
    assert again.noted == order


def test_r16_who_has_begun_keeps_its_instance_also_after_a_kill(world):
    log = Real()

    async def life():
        async with world.program(*bindings(log)) as host:
            await host.submit(serve("hold", "low"))
            await settled()
            await host.submit(serve("next", "high"))
            return world.after_kill()

    after = asyncio.run(life())
    again = Real()
    again.gate.set()
    after.start(*bindings(again))
    assert again.noted == ["hold", "next"]


def test_r22_each_lane_is_full_by_itself(world):
    log = Real()

    async def life():
        async with world.program(bind(Bell, settings=ONE, log=log)) as host:
            await host.submit(ring("hold"))
            await settled()
            await host.submit(ring("medium", if_full="refuse"))
            with pytest.raises(LaneFull, match="already with priority medium"):
                await host.submit(ring("no", if_full="refuse"))
            await host.submit(ring("high", "high", if_full="refuse"))
            waiting = [asyncio.ensure_future(host.submit(ring(what))) for what in "abc"]
            await settled()
            waiting[1].cancel()
            log.gate.set()
            await asyncio.wait(waiting)
            await host.idle()

    asyncio.run(life())
    assert log.noted == ["hold", "high", "medium", "a", "c"]


def test_what_is_no_lane_is_refused(world):
    async def life():
        async with world.program(bind(Bell, log=Real())) as host:
            with pytest.raises(UsageError, match="the priority can't be 'urgent'"):
                await host.submit(replace(ring("x"), priority="urgent"))

    asyncio.run(life())
    assert lanes(world) == {}


def test_r22_references_timings_and_schedules_bear_their_lane_to_each_event(world):
    log = Real()
    timing = Timing(name="set", due_us=1, priority="high")

    async def life():
        async with world.program(*bindings(log), jumps=True) as host:
            await host.ended(await host.submit(InvokeRequest("Desk", ("a",), "ask")))
            await host.engine.answering.schedule(
                SetRequest("Bell", "", "ring", timing, args=["set"])
            )
            fire = FireRequest("Bell", "", "again")
            await host.carry_out(fire)
            await Bell.ref(priority="low").ring("host")
            await host.idle(2000.0)

    asyncio.run(life())
    assert lanes(world) == {
        "asked": "high",
        "sent": "high",
        "set": "high",
        "again": "low",
        "host": "low",
    }
    assert lanes(world, "Desk") == {"mine": "low", "later": "high"}
    assert sorted(log.noted) == ["again", "again", "asked", "host", "later", "mine", "sent", "set"]


@pytest.mark.parametrize("fresh", [False, True])
def test_a_requeue_keeps_the_lane(world, fresh):
    binding = bind(Bell, settings=AgentSettings(max_starts=1), log=Real())
    world.dies(binding, requests=[ring("die", "low")])
    for _ in range(3):
        if "aside" in world.kinds("Bell"):
            break
        try:
            world.start(binding)
        except SimulatedDeath:
            continue
    world.desk.carry_out(RequeueRequest("Bell", "r", (1,), fresh=fresh))
    assert [r["lane"] for r in world.records("Bell") if "event" in r] == ["low"]
