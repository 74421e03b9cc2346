"""`timeout` and `limit` of a capability: so many calls at once, the others in their order."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from agentctl import (
    Agent,
    AgentSettings,
    Capability,
    CapabilityOptions,
    bind,
    call,
    handler,
    timeout,
)
from agentctl.errors import UsageError
from agentctl.storage.faulty import SimulatedDeath


class Api(Capability):
    async def get(self, what: str) -> str: ...
    async def put(self, what: str) -> str: ...
    @call(timeout=0.02)
    async def quick(self, what: str) -> str: ...
    @call(timeout=3600)
    async def patient(self, what: str) -> str: ...


class Real(Api):
    """Each call goes on when the test lets it."""

    def __init__(self, *die_at):
        self.begun = []
        self.now = 0
        self.most = 0
        self.die_at = die_at
        self.gates = {}

    async def _do(self, what):
        self.begun.append(what)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            if what in self.gates:
                await self.gates[what].wait()
            else:
                await asyncio.sleep(0)
        finally:
            self.now -= 1
        if what in self.die_at:
            raise SimulatedDeath
        return what

    async def get(self, what: str) -> str:
        return await self._do(what)

    async def put(self, what: str) -> str:
        return await self._do(what)

    async def quick(self, what: str) -> str:
        return await self._do(what)

    async def patient(self, what: str) -> str:
        return await self._do(what)


def hold(api, *names):
    api.gates.update({name: asyncio.Event() for name in names})


async def until(api, *begun):
    while api.begun != list(begun):
        await asyncio.sleep(0.001)


class Bot(Agent):
    api: Api

    @handler
    async def many(self, count: int) -> list[str]:
        calls = [self.api.get(f"g{n}") if n % 2 else self.api.put(f"p{n}") for n in range(count)]
        return await asyncio.gather(*calls)

    @handler
    async def one(self, what: str) -> str:
        return await self.api.get(what)

    @handler
    async def gives_up(self, what: str) -> str:
        try:
            async with timeout(5):
                return await self.api.get(what)
        except TimeoutError:
            return "gave up"

    @handler
    async def quick(self, what: str) -> str:
        try:
            return await self.api.quick(what)
        except TimeoutError:
            return "timeout"

    @handler
    async def patient(self, what: str) -> str:
        try:
            return await self.api.patient(what)
        except TimeoutError:
            return "timeout"


def bound(api, *, limit=None, timeout=None, settings=None):
    options = {"api": CapabilityOptions(limit=limit, timeout=timeout)}
    return bind(Bot, api=api, options=options, settings=settings)


def program(world, binding, story):
    async def life():
        async with world.program(binding) as host:
            return await story(host)

    return asyncio.run(life())


@pytest.mark.parametrize("limit", [1, 3])
def test_no_more_calls_run_at_once_than_the_limit_over_all_methods(world, limit):
    api = Real()
    assert world.invoke(bound(api, limit=limit), "many", 8).status == "completed"
    assert api.most == limit


def test_calls_wait_in_the_order_in_which_they_were_asked_for(world):
    api = Real()
    world.invoke(bound(api, limit=1), "many", 6)
    assert api.begun == ["p0", "g1", "p2", "g3", "p4", "g5"]


def test_the_limit_holds_over_all_events_of_the_agent_and_is_on_record_before(world, request_of):
    api = Real()

    async def story(host):
        hold(api, "first")
        events = [await host.submit(request_of(Bot, "one", what)) for what in ("first", "second")]
        await until(api, "first")
        for _ in range(20):
            await asyncio.sleep(0)
        asked = [one for one in world.records() if "call" in one]
        api.gates["first"].set()
        ends = [await host.ended(event) for event in events]
        return asked, [end.result for end in ends]

    asked, results = program(world, bound(api, limit=1), story)
    assert [one["call"] for one in asked] == ["1-1", "2-1"]
    assert results == [b'"first"', b'"second"']


def test_two_capabilities_have_a_limit_each(world):
    class Two(Agent):
        left: Api
        right: Api

        @handler
        async def both(self) -> list[str]:
            return await asyncio.gather(self.left.get("l"), self.right.get("r"))

    api = Real()
    one = CapabilityOptions(limit=1)
    world.invoke(bind(Two, left=api, right=api, options={"left": one, "right": one}), "both")
    assert api.most == 2


def test_waiting_for_a_turn_does_not_count_towards_the_timeout(world, request_of):
    api = Real()

    async def story(host):
        hold(api, "first")
        await host.submit(request_of(Bot, "one", "first"))
        second = await host.submit(request_of(Bot, "quick", "second"))
        await until(api, "first")
        await asyncio.sleep(0.05)  # longer than its timeout
        api.gates["first"].set()
        return await host.ended(second)

    assert program(world, bound(api, limit=1), story).result == b'"second"'


def test_a_call_that_is_dropped_while_it_waits_is_never_made_and_the_next_gets_its_turn(
    world, request_of
):
    api = Real()

    async def story(host):
        hold(api, "first")
        first = await host.submit(request_of(Bot, "one", "first"))
        second = await host.submit(request_of(Bot, "gives_up", "second"))
        third = await host.submit(request_of(Bot, "one", "third"))
        await until(api, "first")
        world.clock.advance(5)
        gave_up = await host.ended(second)
        api.gates["first"].set()
        return [gave_up.result, (await host.ended(first)).result, (await host.ended(third)).result]

    assert program(world, bound(api, limit=1), story) == [b'"gave up"', b'"first"', b'"third"']
    assert api.begun == ["first", "third"]


def test_a_call_that_fails_or_runs_out_of_time_gives_its_slot_back(world, request_of):
    api = Real()

    async def story(host):
        hold(api, "late")
        late = await host.submit(request_of(Bot, "quick", "late"))
        last = await host.submit(request_of(Bot, "one", "last"))
        return [(await host.ended(late)).result, (await host.ended(last)).result]

    assert program(world, bound(api, limit=1), story) == [b'"timeout"', b'"last"']


@pytest.mark.parametrize("grace", [timedelta(0), timedelta(seconds=5)])
def test_a_stop_makes_no_call_that_waits_its_turn_and_the_next_start_does(world, request_of, grace):
    api = Real()

    async def life():
        binding = bound(api, limit=1, settings=AgentSettings(grace=grace))
        async with world.program(binding) as host:
            hold(api, "first")
            for what in ("first", "second", "third"):
                await host.submit(request_of(Bot, "one", what))
            await until(api, "first")
            for _ in range(20):
                await asyncio.sleep(0)
            asyncio.get_running_loop().call_later(0.02, api.gates["first"].set)
            return await host.stop()

    stopped = asyncio.run(life())
    assert api.begun == ["first"]
    assert stopped.cut_off == (0 if grace else 1)
    assert not any("error" in one for one in world.records())
    again = Real()
    world.start(bound(again, limit=1))
    assert [w for w in again.begun if w != "first"] == ["second", "third"]
    assert len([one for one in world.records() if "done" in one]) == 3


def test_crash_while_a_call_waits_its_turn_the_next_start_makes_it(world, request_of):
    api = Real("fatal")

    async def story(host):
        hold(api, "fatal")
        for what in ("fatal", "second"):
            await host.submit(request_of(Bot, "one", what))
        await until(api, "fatal")
        while not any(one.get("call") == "2-1" for one in world.records()):
            await asyncio.sleep(0.001)
        api.gates["fatal"].set()
        await host.idle()

    with pytest.raises(SimulatedDeath):
        program(world, bound(api, limit=1), story)
    assert api.begun == ["fatal"]
    again = Real()
    world.start(bound(again, limit=1))
    assert again.begun == ["fatal", "second"]
    assert [one["value"] for one in world.records() if "done" in one] == ["fatal", "second"]


def test_a_start_does_not_wait_for_those_whose_turn_has_not_come(world, request_of):
    api = Real("fatal")
    requests = [request_of(Bot, "one", what) for what in ("first", "fatal", "third")]
    hold(api, "first")
    world.dies(bound(api, limit=3), requests=requests)
    held = Real()

    async def life():
        hold(held, "first", "fatal", "third")
        async with asyncio.timeout(5), world.program(bound(held, limit=1)) as host:
            for gate in held.gates.values():
                gate.set()  # only now, when the start is done
            await host.idle()

    asyncio.run(life())
    assert sorted(held.begun) == ["fatal", "first", "third"]


@pytest.mark.parametrize("name", ["quick", "patient"])
def test_a_timeout_of_the_binding_goes_over_what_the_code_says(world, request_of, name):
    api = Real()
    given = timedelta(hours=1) if name == "quick" else timedelta(milliseconds=20)

    async def story(host):
        hold(api, "slow")
        event = await host.submit(request_of(Bot, name, "slow"))
        await until(api, "slow")
        await asyncio.sleep(0.06)
        api.gates["slow"].set()
        return await host.ended(event)

    ended = program(world, bound(api, timeout=given), story)
    assert ended.result == (b'"slow"' if name == "quick" else b'"timeout"')


@pytest.mark.parametrize("wrong", [{"limit": 0}, {"timeout": 0}, {"timeout": timedelta(-1)}])
def test_options_that_leave_no_call_are_refused(wrong):
    with pytest.raises(UsageError):
        CapabilityOptions(**wrong)


def test_options_of_a_capability_that_is_not_there_are_refused_with_the_nearest():
    with pytest.raises(UsageError, match="no capability 'apu'") as caught:
        bind(Bot, api=Real(), options={"apu": CapabilityOptions(limit=1)})
    assert "did you mean api?" in str(caught.value.hint)
