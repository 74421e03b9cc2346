"""R16: a question is an event there, once; its answer is a call's result here, whoever dies."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentctl import Agent, AgentSettings, Capability, bind, handler, query, timeout
from agentctl.engines.changes import CancelRequest, RetryRequest
from agentctl.engines.local.asking.elsewhere import Elsewhere
from agentctl.engines.local.changing import cold
from agentctl.errors import AgentctlError, AgentError, WouldDeadlock
from agentctl.names import Address
from agentctl.storage.files.folder import FilesStore


class Gate(Capability):
    async def passed(self, what: str) -> str: ...


class Real(Gate):
    def __init__(self):
        self.made = []
        self.open = asyncio.Event()

    async def passed(self, what: str) -> str:
        self.made.append(what)
        if what.startswith("hold"):
            await self.open.wait()
        return what


class Declined(AgentError):
    pass


BUGS = set()


class Counter(Agent):
    name: str
    gate: Gate
    total: int = 0

    @handler
    async def add(self, number: int) -> int:
        await self.gate.passed(f"add {number}")
        self.total += number
        return self.total

    @handler
    async def hold(self) -> str:
        return await self.gate.passed(f"hold {self.name}")

    @handler
    async def decline(self) -> None:
        raise Declined("not today")

    @handler
    async def stuck(self) -> str:
        if "stuck" in BUGS:
            raise KeyError("a bug")
        return "mended"

    @handler
    async def circle(self, other: str) -> str:
        """Hold this instance, wait at the gate, then ask the other."""
        await self.gate.passed(f"hold {self.name}")
        try:
            return await Counter.ref(other).circle(self.name)
        except WouldDeadlock:
            return f"{self.name} would deadlock"

    @handler
    async def cross(self, other: str) -> str:
        await self.gate.passed(f"hold {self.name}")
        try:
            return f"{self.name}: {await Counter.ref(other).add(1)}"
        except WouldDeadlock:
            return f"{self.name}: would deadlock"

    @query
    async def seen(self) -> int:
        return self.total


class Front(Agent):
    gate: Gate

    @handler(exclusive=False)
    async def add(self, name: str, *numbers: int) -> list[int]:
        counter = Counter.ref(name)
        return list(await asyncio.gather(*(counter.add(number) for number in numbers)))

    @handler(exclusive=False)
    async def tell(self, what: str) -> str:
        counter = Counter.ref("a")
        try:
            if what == "seen":
                return str(await counter.seen())
            if what == "misfit":
                return str(await counter.add("x"))  # type: ignore[arg-type]
            return str(await getattr(counter, what)())
        except (AgentctlError, AgentError) as error:
            return f"{type(error).__name__}: {error}"

    @handler(exclusive=False)
    async def hasty(self) -> str:
        try:
            async with timeout(5):
                return await Counter.ref("a").hold()
        except TimeoutError:
            return "too late"


@pytest.fixture(autouse=True)
def _mended():
    yield
    BUGS.clear()


@pytest.fixture
def gate():
    return Real()


async def settled():
    for _ in range(50):
        await asyncio.sleep(0)


def both(gate, **settings):
    how = AgentSettings(**settings) if settings else None
    return bind(Front, gate=gate, settings=how), bind(Counter, gate=gate, settings=how)


def live(world, bindings, do, **how):
    async def life():
        async with world.program(*bindings, **how) as host:
            return await do(host)

    return asyncio.run(life())


def run(world, bindings, request, **how):
    async def do(host):
        return await host.ended(await host.submit(request))

    return live(world, bindings, do, **how)


def of_kind(world, kind, agent="Counter"):
    return [one for one in world.records(agent) if next(iter(one)) == kind]


def test_the_answer_is_the_result_and_both_journals_say_who_asked_whom(world, request_of, gate):
    end = run(world, both(gate), request_of(Front, "add", "a", 5))
    assert end.result == b"[5]"
    (call,) = of_kind(world, "call", "Front")
    assert (call["fn"], call["to"], call["handler"], call["args"]) == (
        "ask", "Counter/a", "add", [5]
    )  # fmt: skip
    (asker,) = of_kind(world, "event", "Front")
    (event,) = of_kind(world, "event")
    assert (event["from"], event["asker"]) == ("Front-1-1", asker["nonce"])
    assert [(one["told"], one["event"]) for one in of_kind(world, "told")] == [("Front-1-1", 1)]


def test_several_questions_at_once_each_have_their_own_answer(world, request_of, gate):
    end = run(world, both(gate), request_of(Front, "add", "a", 1, 2, 3))
    assert end.result == b"[1,3,6]"


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("decline", "Declined: not today"),
        ("seen", "0"),
        ("misfit", "NotRecordable: Counter.add, argument number: str can't be recorded as int"),
    ],
)
def test_what_is_asked_and_how_it_is_answered(world, request_of, gate, what, told):
    end = run(world, both(gate), request_of(Front, "tell", what))
    assert end.result.decode().strip('"').startswith(told), end


def test_a_query_is_read_once_and_is_no_event_there(world, request_of, gate):
    bindings = both(gate)
    run(world, bindings, request_of(Front, "add", "a", 5))
    assert run(world, bindings, request_of(Front, "tell", "seen")).result == b'"5"'
    assert len(of_kind(world, "event")) == 1
    assert [one["fn"] for one in of_kind(world, "call", "Front")] == ["ask", "query"]


def test_a_cancelled_question_is_answered_so(world, request_of, gate):
    async def do(host):
        event = await host.submit(request_of(Front, "tell", "hold"))
        await settled()
        await host.carry_out(CancelRequest("Counter", "x", event=1, running=True))
        return (await host.ended(event)).result

    told = live(world, both(gate), do)
    assert told.startswith(b'"Cancelled: Counter/a#1 was cancelled'), told


def test_the_answer_waits_while_the_other_event_is_stuck(world, request_of, gate):
    BUGS.add("stuck")

    async def do(host):
        event = await host.submit(request_of(Front, "tell", "stuck"))
        waiting = asyncio.create_task(host.ended(event))
        await settled()
        assert not waiting.done()
        BUGS.clear()
        await host.carry_out(RetryRequest("Counter", "x", event=1))
        return (await waiting).result

    assert live(world, both(gate), do) == b'"mended"'


def test_a_timeout_around_a_question_ends_the_wait_and_not_the_event(world, request_of, gate):
    async def do(host):
        event = await host.submit(request_of(Front, "hasty"))
        await settled()
        world.clock.advance(6)
        end = await host.ended(event)
        gate.open.set()
        await host.idle()
        return end.result

    assert live(world, both(gate), do) == b'"too late"'
    assert [one["dropped"] for one in of_kind(world, "dropped", "Front")] == ["1-2"]
    assert [one["value"] for one in of_kind(world, "done")] == ["hold a"]


# -- whoever dies


def test_a_kill_while_the_other_one_works_asks_again_and_runs_once(world, request_of, gate):
    async def do(host):
        await host.submit(request_of(Front, "tell", "hold"))
        await settled()
        twin = world.after_kill()
        gate.open.set()
        await host.idle()
        return twin

    twin = live(world, both(gate), do)
    gate.made.clear()
    twin.start(*both(gate))
    assert [one["value"] for one in of_kind(twin, "done", "Front")] == ["hold a"]
    assert len(of_kind(twin, "event")) == 1
    assert gate.made == ["hold a"], "the call that was cut off is made again, and only that"


def without(journal, *kinds):
    """A journal without its records of these kinds, and all that comes behind the first."""
    lines = journal.splitlines(keepends=True)
    starts = tuple(b'{"%b":' % kind.encode() for kind in kinds)
    at = next((n for n, line in enumerate(lines) if line.startswith(starts)), len(lines))
    return b"".join(lines[:at])


@pytest.mark.parametrize("keep", [100, 0])
def test_an_answer_that_the_asker_had_not_on_record_is_given_again(world, request_of, gate, keep):
    """The asker's journal ends before the answer; the asked one's before, or after, `told`."""
    bindings = both(gate, keep=keep)
    run(world, bindings, request_of(Front, "add", "a", 5))
    front, counter = (f"/memory/agents/{name}/journal" for name in ("Front", "Counter"))
    world.disk.put_file(front, without(world.disk.read_file(front), "ok"))
    world.disk.put_file(counter, without(world.disk.read_file(counter), "told"))
    gate.made.clear()
    world.start(*bindings)
    assert [one["value"] for one in of_kind(world, "done", "Front")] == [[5]]
    assert gate.made == [], "the answer was on record there"
    world.start(*bindings)
    assert len(of_kind(world, "event")) == (1 if keep else 0), "told, it may be forgotten"


# -- questions that would wait for themselves


def test_r16_an_instance_that_asks_one_that_asks_it_back_would_deadlock(world, request_of, gate):
    gate.open.set()
    end = run(world, both(gate), request_of(Counter, "circle", "b", identity=("a",)))
    assert end.result == b'"b would deadlock"'
    (error,) = of_kind(world, "error")
    assert error["type"] == "agentctl.errors.WouldDeadlock"
    assert "Counter/a" in error["text"]


def test_r16_an_instance_that_asks_itself_would_deadlock(world, request_of, gate):
    gate.open.set()
    end = run(world, both(gate), request_of(Counter, "cross", "a", identity=("a",)))
    assert end.result == b'"a: would deadlock"'
    assert len(of_kind(world, "event")) == 1


def test_r16_two_that_ask_each_other_through_their_queues_would_deadlock(world, request_of, gate):
    """E1 holds a and asks b, E2 holds b and asks a: whoever asks second is refused."""

    async def do(host):
        events = [
            await host.submit(request_of(Counter, "cross", other, identity=(name,)))
            for name, other in (("a", "b"), ("b", "a"))
        ]
        await settled()
        gate.open.set()
        return sorted([(await host.ended(event)).result for event in events])

    told = live(world, both(gate), do)
    assert told in (
        [b'"a: 1"', b'"b: would deadlock"'],
        [b'"a: would deadlock"', b'"b: 1"'],
    )


def test_r16_three_in_a_ring_are_refused_once_and_the_others_go_on(world, request_of, gate):
    async def do(host):
        events = [
            await host.submit(request_of(Counter, "cross", other, identity=(name,)))
            for name, other in (("a", "b"), ("b", "c"), ("c", "a"))
        ]
        await settled()
        gate.open.set()
        return [(await host.ended(event)).result.decode() for event in events]

    told = live(world, both(gate), do)
    assert sum("would deadlock" in one for one in told) == 1


def test_r16_who_asks_what_is_only_busy_waits_and_is_not_refused(world, request_of, gate):
    async def do(host):
        busy = await host.submit(request_of(Counter, "hold", identity=("a",)))
        asking = await host.submit(request_of(Counter, "cross", "a", identity=("b",)))
        await settled()
        gate.open.set()
        await host.ended(busy)
        return (await host.ended(asking)).result

    assert live(world, both(gate), do) == b'"b: 1"'


# -- an agent that this program doesn't run


def test_r16_a_question_to_an_agent_that_nobody_runs_waits_in_its_journal(world, request_of, gate):
    front, counter = both(gate)
    world.start(counter)

    async def life():
        async with world.program(front) as asking:
            event = await asking.submit(request_of(Front, "add", "a", 5))
            waiting = asyncio.create_task(asking.ended(event))
            while not of_kind(world, "event"):
                await asyncio.sleep(0.01)
            assert not waiting.done()
            async with world.program(counter) as asked:
                await asked.idle()
            return (await asyncio.wait_for(waiting, 10)).result

    assert asyncio.run(life()) == b"[5]"
    assert gate.made == ["add 5"]
    assert len(of_kind(world, "event")) == 1
    assert str(Address("Counter", ("a",), 1)) == "Counter/a#1"


def test_r16_a_question_is_left_in_the_journal_once_whoever_was_at_it_is_gone(
    world, request_of, gate, monkeypatch
):
    front, counter = both(gate)
    world.start(counter)
    # Nothing but the lock changes: whoever holds it for a moment writes nothing.
    monkeypatch.setattr(Elsewhere, "_look", lambda self, agent: len(world.journals[agent]))
    store = FilesStore(Path("/memory"), "Counter", world.disk, clock=world.clock)

    async def life():
        async with world.program(front) as asking:
            with cold.opened(store, "Counter", clock=world.clock, wait_s=0.0):
                await asking.submit(request_of(Front, "add", "a", 5))
                await asyncio.sleep(0.2)
                assert of_kind(world, "event") == []
            async with asyncio.timeout(10):
                while not of_kind(world, "event"):
                    await asyncio.sleep(0.01)

    asyncio.run(life())
    assert gate.made == []
