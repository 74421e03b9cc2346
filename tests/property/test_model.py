"""One agent against a simple model of it: whatever happens to its programs, the promises hold.

The machine invokes events, kills the program, cuts the power, stops gracefully, plants a bug,
mends it, requeues, drops; the model is a few dictionaries: what each event is to return, which
calls were acknowledged, what the state is.

`HYPOTHESIS_PROFILE=nightly` runs 10 000 examples.
"""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from agentctl import Agent, AgentSettings, Capability, bind, call_key, handler, sleep
from agentctl.core.history import JournalHistory
from agentctl.core.set_aside import parse
from agentctl.engines.changes import DropRequest, RequeueRequest
from agentctl.engines.local.desk import FilesDesk
from agentctl.engines.port import InvokeRequest
from agentctl.storage.faulty import SimulatedDeath
from agentctl.storage.files.folder import FilesStore
from agentctl.testing import Durable

NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
PATIENCE_S = 20.0
"""For a program's life, which takes no time at all: beyond it, the program hangs."""

MACHINE = settings(
    max_examples=10_000 if NIGHTLY else 120,
    stateful_step_count=30 if NIGHTLY else 20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


class Shop(Capability):
    async def pay(self, event: int, place: int) -> str: ...


class World(Shop):
    """The outside world: every call that was made, by its key, and what it answered."""

    def __init__(self) -> None:
        self.made: dict[str, int] = {}
        self.places: dict[str, tuple[int, int]] = {}
        self.deadly: set[tuple[int, int]] = set()
        self.finished: set[str] = set()

    async def pay(self, event: int, place: int) -> str:
        key = call_key()
        assert key is not None
        assert self.places.setdefault(key, (event, place)) == (event, place)
        self.made[key] = self.made.get(key, 0) + 1
        if (event, place) in self.deadly:
            raise SimulatedDeath
        await asyncio.sleep(0)
        self.finished.add(key)
        return f"{event}.{place}"


BUGGY: set[int] = set()
"""Events whose handler has a bug just now."""


class Bot(Agent):
    shop: Shop
    total: int = 0

    @handler
    async def line(self, event: int, calls: int) -> list[str]:
        done = []
        for place in range(calls):
            done.append(await self.shop.pay(event, place))
            if event in BUGGY:
                raise KeyError("a bug")
        self.total += calls
        return done

    @handler(exclusive=False)
    async def branches(self, event: int, calls: int) -> list[str]:
        async def one(place: int) -> str:
            if place % 2:
                await sleep(place)
            return await self.shop.pay(event, place)

        done = await asyncio.gather(*(one(place) for place in range(calls)))
        if event in BUGGY:
            raise KeyError("a bug")
        return list(done)


class Machine(RuleBasedStateMachine):
    """The program's life, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.durable = Durable()
        self.world = World()
        self.expected: dict[int, list[str]] = {}
        self.kind: dict[int, str] = {}
        self.ended: dict[int, list[str]] = {}
        self.aside: set[int] = set()
        self.gone: set[int] = set()
        self.told = 0
        self.names = 0
        BUGGY.clear()

    @initialize()
    def begin(self) -> None:
        self.run()

    # -- one program's life

    def run(self, requests: list[tuple[str, int]] = (), *, stop_early: bool = False) -> bool:
        """Start, accept, let all come to rest, stop; False if the program died."""
        binding = bind(Bot, shop=self.world, settings=AgentSettings(audit=True))

        async def life() -> None:
            async with self.durable.host(binding) as host:
                self.note_aside(host.recovered[0])
                for kind, calls in requests:
                    self.names += 1
                    name = self.names
                    self.planned = (name, kind, calls)
                    request = InvokeRequest("Bot", (), kind, (name, calls))
                    number = (await host.submit(request)).event
                    assert number is not None
                    assert number > self.told, "a number was used again"
                    self.told = number
                    self.expected[number] = [f"{name}.{place}" for place in range(calls)]
                    self.kind[number] = kind
                if not stop_early:
                    await host.idle(float("inf"))

        try:
            asyncio.run(asyncio.wait_for(life(), PATIENCE_S))
        except SimulatedDeath:
            self.look()
            return False
        self.look()
        return True

    def note_aside(self, found) -> None:
        self.aside |= {address.event for address in found.set_aside}

    def records(self) -> list[dict]:
        lines = self.durable.journals["Bot"].decode().splitlines()
        return [json.loads(line) for line in lines]

    def look(self) -> None:
        """Take note of what ended on record; what ended once never ends again."""
        for record in self.records():
            kind = next(iter(record))
            if kind == "done":
                number = record["done"]
                assert record["value"] == self.expected.get(number, record["value"])
                known = self.ended.setdefault(number, record["value"])
                assert known == record["value"]
            elif kind == "aside":
                self.aside.add(record["aside"])

    # -- what happens

    @rule(
        requests=st.lists(
            st.tuples(st.sampled_from(["line", "branches"]), st.integers(0, 4)), max_size=3
        )
    )
    def invoke(self, requests) -> None:
        self.run(requests)

    @rule(kind=st.sampled_from(["line", "branches"]), calls=st.integers(1, 3), at=st.integers(0, 2))
    def invoke_and_die_in_a_call(self, kind, calls, at) -> None:
        deadly = (self.names + 1, min(at, calls - 1))
        self.world.deadly.add(deadly)
        self.run([(kind, calls)])
        self.world.deadly.discard(deadly)

    @rule(kind=st.sampled_from(["line", "branches"]), calls=st.integers(1, 3))
    def invoke_what_kills_at_every_start(self, kind, calls) -> None:
        self.world.deadly.add((self.names + 1, calls - 1))
        self.run([(kind, calls)])

    @rule(kind=st.sampled_from(["line", "branches"]), calls=st.integers(1, 3))
    def invoke_what_has_a_bug(self, kind, calls) -> None:
        BUGGY.add(self.names + 1)
        self.run([(kind, calls)])

    @rule()
    def mend(self) -> None:
        BUGGY.clear()
        self.world.deadly.clear()

    @rule()
    def start_and_stop(self) -> None:
        self.run(stop_early=True)

    @rule()
    def start_and_rest(self) -> None:
        self.run()

    @rule(
        requests=st.lists(st.tuples(st.just("branches"), st.integers(2, 4)), min_size=1, max_size=2)
    )
    def kill_while_it_sleeps(self, requests) -> None:
        binding = bind(Bot, shop=self.world, settings=AgentSettings(audit=True))

        async def life():
            async with self.durable.host(binding, jumps=False) as host:
                self.note_aside(host.recovered[0])
                for kind, calls in requests:
                    self.names += 1
                    request = InvokeRequest("Bot", (), kind, (self.names, calls))
                    number = (await host.submit(request)).event
                    assert number > self.told
                    self.told = number
                    self.expected[number] = [f"{self.names}.{place}" for place in range(calls)]
                await host.idle(0)
                return self.durable.disk.after_kill()

        try:
            disk = asyncio.run(asyncio.wait_for(life(), PATIENCE_S))
        except SimulatedDeath:
            self.look()
            return
        self.durable.disk = disk
        self.look()

    @rule(seed=st.integers(0, 10_000))
    def cut_the_power(self, seed) -> None:
        self.durable.disk = self.durable.disk.after_power_cut(seed)

    @rule(late=st.integers(0, 100))
    def time_passes(self, late) -> None:
        self.durable.clock.advance(late)

    # -- what a person does about what is set aside

    def desk(self) -> FilesDesk:
        return FilesDesk(Path("/memory"), self.durable.clock, self.durable.disk)

    def store(self, root, agent) -> FilesStore:
        return FilesStore(root, agent, self.durable.disk, clock=self.durable.clock)

    @precondition(lambda self: self.aside)
    @rule()
    def requeue(self) -> None:
        number = min(self.aside)
        self.desk().carry_out(RequeueRequest("Bot", events=(number,)))
        self.aside.discard(number)

    @precondition(lambda self: self.aside)
    @rule()
    def drop(self) -> None:
        number = min(self.aside)
        self.desk().carry_out(DropRequest("Bot", "", number, "no use"))
        self.aside.discard(number)
        self.gone.add(number)

    # -- what always holds

    @invariant()
    def every_acknowledged_event_is_open_ended_or_set_aside(self) -> None:
        history = self.history()
        if history is None:
            return
        there = set(history.open) | set(self.ended) | set(history.asides) | self.gone
        assert set(self.expected) <= there
        assert set(history.asides) == self.aside
        assert history.next_event > self.told
        assert not set(history.open) & set(self.ended), "an event that ended is open"

    @invariant()
    def set_aside_lists_what_the_journal_says(self) -> None:
        path = "/memory/agents/Bot/set-aside"
        there = self.durable.disk.read_file(path) if self.durable.disk.kind(path) else b""
        assert self.aside <= {event.number for event in parse(there, path)}

    @invariant()
    def a_call_of_another_event_never_has_the_same_key(self) -> None:
        keys = [key.rpartition("-")[0] for key in self.world.places]
        owners = {}
        for key, (event, _) in zip(keys, self.world.places.values(), strict=True):
            assert owners.setdefault(key, event) == event

    def history(self) -> JournalHistory | None:
        if "Bot" not in self.durable.journals:
            return None
        store = self.store(Path("/memory"), "Bot")
        from agentctl.engines.local import recovery
        from agentctl.storage.files.holding import this_program

        store.lock(this_program("test", self.durable.clock), 0)
        try:
            return recovery.read("Bot", store).history
        finally:
            store.close()

    def teardown(self) -> None:
        """Mend everything: then all that wasn't dropped completes, each with its own result."""
        BUGGY.clear()
        self.world.deadly.clear()
        if not self.durable.journals:
            return
        for _ in range(3):
            assert self.run()
            if not self.aside:
                break
            for number in sorted(self.aside):
                self.desk().carry_out(RequeueRequest("Bot", events=(number,)))
            self.aside.clear()
        assert self.aside == set()
        for number, result in self.expected.items():
            assert number in self.gone or self.ended.get(number) == result
        assert self.history().open == {}
        self.the_state_is_the_sum_of_what_ended()

    def the_state_is_the_sum_of_what_ended(self) -> None:
        total = sum(len(v) for n, v in self.ended.items() if self.kind.get(n) == "line")
        states = [one["state"]["total"] for one in self.records() if "state" in one]
        assert (states[-1] if states else 0) >= total


Machine.TestCase.settings = MACHINE
test_whatever_happens_to_its_programs_an_agent_keeps_its_promises = pytest.mark.timeout(
    36_000 if NIGHTLY else 300
)(Machine.TestCase)
