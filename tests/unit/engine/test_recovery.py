"""R3: at a start what hasn't ended runs again from its beginning, over what is on record."""

from __future__ import annotations

import asyncio

import pytest

from agentctl import Agent, AgentSettings, Capability, Divergence, bind, handler, sleep
from agentctl.sdk.agent import spec_of
from agentctl.storage.faulty import SimulatedDeath


class Api(Capability):
    async def get(self, what: str) -> str: ...


class Ledger(Api):
    def __init__(self, *die_at):
        self.made = []
        self.die_at = set(die_at)

    async def get(self, what: str) -> str:
        self.made.append(what)
        if what in self.die_at:
            raise SimulatedDeath
        return what.upper()


class Bot(Agent):
    api: Api

    @handler
    async def request(self, name: str) -> list[str]:
        return [await self.api.get(f"{name}1"), await self.api.get(f"{name}2")]

    @handler
    async def nap(self, name: str, seconds: float) -> str:
        first = await self.api.get(f"{name}1")
        await sleep(seconds)
        return first + await self.api.get(f"{name}2")

    @handler
    async def branches(self, name: str) -> list[str]:
        async def one(part: str) -> str:
            await sleep(10)
            return await self.api.get(name + part)

        return list(await asyncio.gather(one("a"), one("b"), one("c")))


def results(world):
    return {one["done"]: one["value"] for one in world.records() if "done" in one}


def test_k1_a_call_on_record_is_not_made_again(world, request_of):
    api = Ledger("a2")
    world.dies(bind(Bot, api=api), requests=[request_of(Bot, "request", "a")])
    api.die_at.clear()
    world.start(bind(Bot, api=api))
    assert api.made == ["a1", "a2", "a2"]
    assert results(world) == {1: ["A1", "A2"]}


def test_k10_events_side_by_side_with_tasks_and_sleeps_each_get_their_own_results(
    world, request_of
):
    api = Ledger()

    async def life():
        async with world.program(bind(Bot, api=api)) as host:
            for request in (
                request_of(Bot, "request", "r"),
                request_of(Bot, "nap", "n", 3600.0),
                request_of(Bot, "branches", "b"),
                request_of(Bot, "nap", "m", 60.0),
            ):
                await host.submit(request)
            await host.idle(0)
            world.clock.advance(30)
            await host.idle(0)
            return world.after_kill()

    twin = asyncio.run(life())
    twin.start(bind(Bot, api=api))
    assert sorted(api.made) == sorted(["r1", "r2", "n1", "n2", "ba", "bb", "bc", "m1", "m2"])
    assert results(twin) == {
        1: ["R1", "R2"],
        2: "N1N2",
        3: ["BA", "BB", "BC"],
        4: "M1M2",
    }  # those that had ended are kept as they were, and ran no more


def test_k8_a_handler_that_was_changed_is_stuck_alone_and_others_go_on(world, request_of):
    api = Ledger("a2")

    async def life():
        async with world.program(bind(Bot, api=api)) as host:
            await host.submit(request_of(Bot, "nap", "n", 60.0))
            await host.idle(0)
            await host.submit(request_of(Bot, "request", "a"))
            await host.idle(0)

    with pytest.raises(SimulatedDeath):
        asyncio.run(life())
    api.die_at.clear()
    changed = changed_bot()
    world.start(bind(changed, api=api))
    assert results(world) == {1: "N1N2"}
    (bug,) = [one for one in world.records() if "bug" in one]
    assert bug["bug"] == 2
    assert bug["divergence"] is True
    assert 'on record is Api.get("a2"), the program asks for Api.get("a3") now' in bug["text"]
    assert bug["text"].startswith("Divergence at Bot-2-2: ")
    assert bug["line"].startswith("tests/unit/engine/test_recovery.py:")


def changed_bot():
    class Bot2(Agent):
        api: Api

        @handler
        async def request(self, name: str) -> list[str]:
            return [await self.api.get(f"{name}1"), await self.api.get(f"{name}3")]

        nap = Bot.nap

    return renamed(Bot2, "Bot")


def renamed(cls, name):
    """The same class as the project's next version has it."""
    fields = {one.name: one.type for one in spec_of(cls).capabilities.values()}
    members = {**vars(cls), "__qualname__": name, "__annotations__": fields}
    return type(name, (Agent,), members)


def test_r3_an_event_whose_handler_is_gone_is_stuck_said_at_start_and_the_rest_starts(
    world, request_of
):
    api = Ledger("a1")
    requests = [request_of(Bot, "nap", "n", 60.0), request_of(Bot, "request", "a")]
    world.dies(bind(Bot, api=api), requests=requests, jumps=False)
    api.die_at.clear()

    class Smaller(Agent):
        api: Api
        nap = Bot.nap

    (found,) = world.start(bind(renamed(Smaller, "Bot"), api=api))
    assert [(str(event), why) for event, why in found.stuck] == [
        ("Bot#2", "there is no handler 'request' any more")
    ]
    assert any("Bot#2" in text and "'request'" in text for text in world.heard.warnings)
    assert results(world) == {1: "N1N2"}
    # The old code back, it runs on.
    world.start(bind(Bot, api=api))
    assert results(world) == {1: "N1N2", 2: ["A1", "A2"]}


def test_r10_a_handler_that_is_gone_is_not_counted_against_the_event(world, request_of):
    world.dies(bind(Bot, api=Ledger("a1")), requests=[request_of(Bot, "request", "a")])

    class Smaller(Agent):
        api: Api
        nap = Bot.nap

    for _ in range(5):
        world.start(bind(renamed(Smaller, "Bot"), api=Ledger()))
    assert "again" not in world.kinds()
    world.start(bind(Bot, api=Ledger()))
    assert results(world) == {1: ["A1", "A2"]}


async def takes_a_number(self, name: int) -> list[str]:
    return [await self.api.get(str(name))]


async def takes_more(self, name: str, amount: int) -> list[str]:
    return [await self.api.get(name * amount)]


async def takes_nothing(self) -> list[str]:
    return []


@pytest.mark.parametrize("changed", [takes_a_number, takes_more, takes_nothing])
def test_r3_arguments_that_no_longer_fit_make_the_event_stuck_and_the_rest_starts(
    world, request_of, changed
):
    api = Ledger("a1")
    requests = [request_of(Bot, "nap", "n", 60.0), request_of(Bot, "request", "a")]
    world.dies(bind(Bot, api=api), requests=requests, jumps=False)
    api.die_at.clear()

    class Other(Agent):
        api: Api
        nap = Bot.nap
        request = handler(changed)

    Other.request.name = "request"
    (found,) = world.start(bind(renamed(Other, "Bot"), api=api))
    assert [str(event) for event, why in found.stuck if "Bot.request" in why] == ["Bot#2"]
    assert results(world) == {1: "N1N2"}
    assert world.heard.ends == [("Bot#1", "completed", False)]
    assert any("Bot#2" in text for text in world.heard.warnings)
    world.start(bind(Bot, api=api))
    assert results(world) == {1: "N1N2", 2: ["A1", "A2"]}


def test_r3_a_recorded_result_that_no_longer_fits_is_a_divergence(world, request_of):
    api = Ledger("a2")
    world.dies(bind(Bot, api=api), requests=[request_of(Bot, "request", "a")])

    class Api2(Capability):
        async def get(self, what: str) -> int: ...

    class Numbers(Api2):
        async def get(self, what: str) -> int:
            return 1

    Api2.__name__ = "Api"

    class Other(Agent):
        api: Api2

        @handler
        async def request(self, name: str) -> list[int]:
            return [await self.api.get(f"{name}1"), await self.api.get(f"{name}2")]

    Numbers.__name__ = "Api"
    world.start(bind(renamed(Other, "Bot"), api=Numbers()))
    (bug,) = [one for one in world.records() if "bug" in one]
    assert "no longer fits" in bug["text"]


def test_a_caller_in_the_program_gets_the_divergence_itself(world, request_of):
    api = Ledger("a2")
    world.dies(bind(Bot, api=api), requests=[request_of(Bot, "request", "a")])

    async def life():
        async with world.program(bind(changed_bot(), api=api)) as host:
            return host.engine.agents["Bot"].stuck

    assert list(asyncio.run(life())) == [1]
    assert Divergence.exit_code == 6


class Tiny(Agent):
    api: Api

    @handler
    async def tick(self) -> None:
        await self.api.get("x")


def ten_thousand(world, request_of, binding):
    world.compacts_at = 1 << 40  # a start is what makes it short here

    async def life():
        async with world.program(binding) as host:
            for _ in range(100):
                await asyncio.gather(*(host.submit(request_of(Tiny, "tick")) for _ in range(100)))
            await host.idle(0)

    asyncio.run(life())
    assert len(world.journals["Tiny"]) > 1_000_000


def test_k11_ten_thousand_ended_events_leave_the_last_hundred_and_numbers_go_on(world, request_of):
    binding = bind(Tiny, api=Ledger(), settings=AgentSettings(audit=False))
    ten_thousand(world, request_of, binding)
    sizes = []
    for _ in range(3):
        world.start(binding)
        sizes.append(len(world.journals["Tiny"]))
    assert max(sizes) < 60_000
    assert max(sizes) - min(sizes) < 200, "a start adds nothing"
    kept = world.records("Tiny")
    numbers = list(range(9_901, 10_001))
    assert [one["event"] for one in kept if "event" in one] == numbers
    assert [one["done"] for one in kept if "done" in one] == numbers
    calls = [one for one in kept if "call" in one or "ok" in one]
    assert len(calls) == 200, "each with its call and the result"
    assert world.invoke(binding, "tick").event.event == 10_001


def test_k11_with_keep_0_ten_thousand_ended_events_leave_nothing_and_numbers_go_on(
    world, request_of
):
    binding = bind(Tiny, api=Ledger(), settings=AgentSettings(audit=False, keep=0))
    ten_thousand(world, request_of, binding)
    world.start(binding)
    assert len(world.journals["Tiny"]) < 1000
    assert world.kinds("Tiny") == ["journal", "stop"]
    assert world.invoke(binding, "tick").event.event == 10_001


def test_r17_the_journal_of_an_agent_that_only_ends_events_stays_as_long_as_it_is(world):
    binding = bind(Tiny, api=Ledger(), settings=AgentSettings(audit=False, keep=3))
    sizes = []
    for _ in range(12):
        world.invoke(binding, "tick")
        sizes.append(len(world.journals["Tiny"]))
    assert max(sizes[4:]) - min(sizes[4:]) < 100, "numbers have more digits, no more"


def test_r8_an_end_that_nobody_waited_for_goes_to_the_audit_log(world, request_of):
    api = Ledger("a2")
    world.dies(bind(Bot, api=api), requests=[request_of(Bot, "request", "a")])
    api.die_at.clear()
    world.start(bind(Bot, api=api))
    assert 'Bot completed: event #1 of request, nobody waited for ["A1","A2"]' in world.audit
    assert world.heard.ends == [("Bot#1", "completed", False)]


def test_a_start_says_what_it_found(world, request_of):
    world.dies(bind(Bot, api=Ledger("a1")), requests=[request_of(Bot, "request", "a")])
    (found,) = world.start(bind(Bot, api=Ledger()))
    assert [str(one) for one in found.unfinished] == ["Bot#1"]
    assert (found.set_aside, found.stuck, found.cut) == ([], [], None)
