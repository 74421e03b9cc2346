"""One agent against a simple model of it: whatever happens to its programs, the promises hold.

The machine invokes events, some under keys, lets one agent ask the other, kills the program, cuts
the power, stops gracefully, plants a bug, mends it, cancels, retries, requeues, drops, deletes; the
model is a few dictionaries: what each event is to return, which calls were acknowledged, what was
answered, what the state is.

`HYPOTHESIS_PROFILE=nightly` runs 10 000 examples.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from agentctl import AgentSettings, bind
from agentctl.core.history import JournalHistory
from agentctl.core.set_aside import parse
from agentctl.engines.changes import DropRequest, RequeueRequest
from agentctl.engines.local.desk import FilesDesk
from agentctl.engines.port import InvokeRequest
from agentctl.storage.faulty import SimulatedDeath
from agentctl.storage.files.folder import FilesStore
from agentctl.testing import Durable

from .model_agents import BUGGY, KINDS, REFUSED, Bot, Front, World
from .model_changes import Changes

NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
PATIENCE_S = 20.0
"""For a program's life, which takes no time at all: beyond it, the program hangs."""

MACHINE = settings(
    max_examples=10_000 if NIGHTLY else 500,
    stateful_step_count=30 if NIGHTLY else 20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


class Machine(Changes):
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
        self.ids = 0
        self.keys: dict[str, int] = {}
        self.cancelled: set[int] = set()
        self.failed: set[int] = set()
        self.counted_before: set[int] = set()
        self.deleted = False
        self.asked: dict[int, tuple[int, int]] = {}
        BUGGY.clear()
        REFUSED.clear()

    @initialize()
    def begin(self) -> None:
        self.run()

    # -- one program's life

    def run(self, requests: list[tuple[str, int]] = (), *, stop_early: bool = False) -> bool:
        """Start, accept, let all come to rest, stop; False if the program died."""

        async def life() -> None:
            async with self.durable.host(*self.bindings()) as host:
                self.note_aside(host.recovered[0])
                for kind, calls in requests:
                    await self.submit(host, kind, calls)
                if not stop_early:
                    await host.idle(float("inf"))

        return self.live(life)

    def live(self, life: Callable[[], Awaitable[None]]) -> bool:
        """One program; False if it died."""
        try:
            asyncio.run(asyncio.wait_for(life(), PATIENCE_S))
        except SimulatedDeath:
            return False
        finally:
            self.look()
        return True

    def bindings(self) -> list:
        settings = AgentSettings(audit=True)
        return [bind(one, shop=self.world, settings=settings) for one in (Bot, Front)]

    async def submit(self, host, kind: str, calls: int) -> int:
        """Invoke one event, and take note of what it is to return."""
        self.names += 1
        name = self.names
        if kind == "ask":
            asked = (await host.submit(InvokeRequest("Front", (), kind, (name, calls)))).event
            assert asked is not None
            self.asked[asked] = (name, calls)
            return asked
        number = (await host.submit(InvokeRequest("Bot", (), kind, (name, calls)))).event
        assert number is not None
        assert number > self.told, "a number was used again"
        self.told = number
        self.expect(number, kind, name, calls)
        return number

    def expect(self, number: int, kind: str, name: int, calls: int) -> None:
        self.expected[number] = [f"{name}.{place}" for place in range(calls)]
        self.kind[number] = kind

    def note_aside(self, found) -> None:
        self.aside |= {address.event for address in found.set_aside}

    def records(self, agent: str = "Bot") -> list[dict]:
        lines = self.durable.journals[agent].decode().splitlines()
        return [json.loads(line) for line in lines]

    def look(self) -> None:
        """Take note of what ended on record; what ended once never ends again."""
        failed: set[int] = set()
        for record in self.records():
            kind = next(iter(record))
            if kind == "done":
                number = record["done"]
                assert record["value"] == self.expected.get(number, record["value"])
                known = self.ended.setdefault(number, record["value"])
                assert known == record["value"]
                assert number not in self.cancelled, "cancelled, and completed"
                self.failed.discard(number)
                if record.get("state"):
                    self.kind.setdefault(number, "line")
            elif kind == "failed":
                failed.add(record["failed"])
            elif kind == "retry":
                failed.discard(record["retry"])
            elif kind == "cancelled":
                number = record["cancelled"]
                assert number in self.cancelled or self.deleted, "nobody asked to cancel it"
                assert number not in self.ended, "completed, and cancelled"
                self.cancelled.add(number)
            elif kind == "aside":
                self.aside.add(record["aside"])
            elif kind in ("requeued", "drop"):
                self.aside.discard(record[kind])
            elif kind == "deleted":
                failed.clear()
        assert not failed & self.cancelled, "cancelled, and failed"
        self.failed |= failed

    # -- what happens

    @rule(
        requests=st.lists(
            st.tuples(st.sampled_from((*KINDS, "ask")), st.integers(0, 4)), max_size=3
        )
    )
    def invoke(self, requests) -> None:
        self.run(requests)

    @rule(kind=st.sampled_from(KINDS), calls=st.integers(1, 3), at=st.integers(0, 2))
    def invoke_and_die_in_a_call(self, kind, calls, at) -> None:
        deadly = (self.names + 1, min(at, calls - 1))
        self.world.deadly.add(deadly)
        self.run([(kind, calls)])
        self.world.deadly.discard(deadly)

    @rule(kind=st.sampled_from(KINDS), calls=st.integers(1, 3))
    def invoke_what_kills_at_every_start(self, kind, calls) -> None:
        self.world.deadly.add((self.names + 1, calls - 1))
        self.run([(kind, calls)])

    @rule(kind=st.sampled_from(KINDS), calls=st.integers(1, 3))
    def invoke_what_has_a_bug(self, kind, calls) -> None:
        BUGGY.add(self.names + 1)
        self.run([(kind, calls)])

    @rule(calls=st.integers(1, 3))
    def invoke_what_fails(self, calls) -> None:
        REFUSED.add(self.names + 1)
        self.run([("fragile", calls)])

    @rule()
    def mend(self) -> None:
        BUGGY.clear()
        REFUSED.clear()
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
        async def life():
            async with self.durable.host(*self.bindings(), jumps=False) as host:
                self.note_aside(host.recovered[0])
                for kind, calls in requests:
                    await self.submit(host, kind, calls)
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
        self.desk().carry_out(RequeueRequest("Bot", self.new_id(), (number,)))
        self.aside.discard(number)

    @precondition(lambda self: self.aside)
    @rule()
    def drop(self) -> None:
        number = min(self.aside)
        self.desk().carry_out(DropRequest("Bot", self.new_id(), number, "no use"))
        self.aside.discard(number)
        self.gone.add(number)

    # -- what always holds

    @invariant()
    def every_acknowledged_event_is_open_ended_or_set_aside(self) -> None:
        history = self.history()
        if history is None:
            return
        there = set(history.open) | set(self.ended) | set(history.asides) | self.gone
        there |= self.cancelled | self.failed
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
        from agentctl.engines.local.starting import recovery
        from agentctl.storage.files.holding import this_program

        store.lock(this_program("test", self.durable.clock), 0)
        try:
            return recovery.read("Bot", store).history
        finally:
            store.close()

    def teardown(self) -> None:
        """Mend everything: then all that wasn't dropped completes, each with its own result."""
        self.mend()
        if not self.durable.journals:
            return
        for _ in range(3):
            assert self.run()
            if not self.aside:
                break
            for number in sorted(self.aside):
                self.desk().carry_out(RequeueRequest("Bot", self.new_id(), (number,)))
            self.aside.clear()
        assert self.aside == set()
        over = self.gone | self.cancelled | self.failed
        for number, result in self.expected.items():
            assert number in over or self.ended.get(number) == result
        assert self.history().open == {}
        self.each_asker_has_its_answer()
        self.the_state_is_the_sum_of_what_ended()

    def each_asker_has_its_answer(self) -> None:
        answers = {one["done"]: one["value"] for one in self.records("Front") if "done" in one}
        for number, (name, calls) in self.asked.items():
            answer = [f"{name}.{place}" for place in range(calls)]
            assert answers[number] == answer or (self.deleted and answers[number] == ["cancelled"])

    def the_state_is_the_sum_of_what_ended(self) -> None:
        since = {n: v for n, v in self.ended.items() if n not in self.counted_before}
        total = sum(len(v) for n, v in since.items() if self.kind.get(n) == "line")
        states = [one["state"]["total"] for one in self.records() if "state" in one]
        assert (states[-1] if states else 0) >= total


Machine.TestCase.settings = MACHINE
test_whatever_happens_to_its_programs_an_agent_keeps_its_promises = pytest.mark.timeout(
    36_000 if NIGHTLY else 300
)(Machine.TestCase)
