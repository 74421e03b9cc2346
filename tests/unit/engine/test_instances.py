"""R16: one at a time per instance; state is committed with the end or not at all; queries; refs."""

from __future__ import annotations

import asyncio
import enum
import json
import uuid

import pytest

from agentctl import Agent, AgentError, Capability, bind, handler, query, sleep
from agentctl.errors import AgentctlError, NotRecordable, QueryFailed, UsageError
from agentctl.storage.faulty import SimulatedDeath


class Api(Capability):
    async def work(self, what: str) -> str: ...


class Real(Api):
    def __init__(self, *die_at):
        self.die_at = set(die_at)
        self.log = []
        self.hold = None

    async def work(self, what: str) -> str:
        self.log.append(f"+{what}")
        if what in self.die_at:
            raise SimulatedDeath
        if self.hold is not None:
            await self.hold.wait()
        await asyncio.sleep(0)
        self.log.append(f"-{what}")
        return what


class Unwell(AgentError):
    pass


class Counter(Agent):
    name: str
    api: Api
    count: int = 0
    seen: list[str] = []
    _cache: dict[str, str] = {}

    @handler
    async def add(self, what: str) -> int:
        self.count += 1
        self.seen.append(what)
        await self.api.work(what)
        return self.count

    @handler
    async def nap(self, what: str) -> None:
        await sleep(60)
        await self.add(what)

    @handler
    async def fail(self, bug: bool) -> None:
        self.count += 100
        self.seen.append("fail")
        await self.api.work("fail")
        raise KeyError("bug") if bug else AgentError("declared")

    @handler
    async def remember(self, key: str) -> list[str]:
        known = sorted(self._cache)
        self._cache[key] = key
        return known

    @handler(exclusive=False)
    async def beside(self, what: str) -> str:
        return await self.api.work(what)

    @handler
    async def spoil(self) -> None:
        self.seen.append(object())  # type: ignore[arg-type]

    @query
    async def total(self) -> int:
        return self.count

    @query
    async def half(self) -> float:
        return 1 / self.count

    @query
    async def unwell(self) -> int:
        raise Unwell

    @query
    async def nosy(self) -> str:
        return await self.api.work("x")

    @query
    async def changing(self) -> int:
        self.count += 1
        return self.count


class Plain(Agent):
    api: Api

    @handler
    async def work(self, what: str) -> str:
        return await self.api.work(what)

    @handler(exclusive=True)
    async def alone(self, what: str) -> str:
        return await self.api.work(what)


def together(world, binding, *requests):
    async def life():
        async with world.program(binding, jumps=True) as host:
            events = await asyncio.gather(*(host.submit(request) for request in requests))
            return [await host.ended(event) for event in events]

    return asyncio.run(life())


def test_r16_events_of_one_instance_with_state_run_one_after_another_in_order(world, request_of):
    api = Real()
    requests = [request_of(Counter, "add", what, identity=("a",)) for what in "xyz"]
    ended = together(world, bind(Counter, api=api), *requests)
    assert api.log == ["+x", "-x", "+y", "-y", "+z", "-z"]
    assert [one.result for one in ended] == [b"1", b"2", b"3"]


def test_r16_events_of_two_instances_run_side_by_side(world, request_of):
    api = Real()
    requests = [request_of(Counter, "add", what, identity=(what,)) for what in "xy"]
    together(world, bind(Counter, api=api), *requests)
    assert api.log[:2] == ["+x", "+y"]


def test_r16_agents_without_state_run_side_by_side_unless_asked_otherwise(world, request_of):
    api = Real()
    together(world, bind(Plain, api=api), *(request_of(Plain, "work", w) for w in "xy"))
    assert api.log[:2] == ["+x", "+y"]
    api.log.clear()
    together(world, bind(Plain, api=api), *(request_of(Plain, "alone", w) for w in "xy"))
    assert api.log == ["+x", "-x", "+y", "-y"]


def test_r16_a_handler_that_says_so_runs_beside_the_one_that_holds_the_instance(world, request_of):
    api = Real()
    requests = [
        request_of(Counter, name, w, identity=("a",)) for name, w in [("add", "x"), ("beside", "y")]
    ]
    together(world, bind(Counter, api=api), *requests)
    assert api.log[:2] == ["+x", "+y"]


def test_r16_an_event_holds_its_instance_while_it_sleeps_and_after_a_restart(world, request_of):
    api = Real()
    requests = [
        request_of(Counter, "nap", "first", identity=("a",)),
        request_of(Counter, "add", "second", identity=("a",)),
    ]

    async def life():
        async with world.program(bind(Counter, api=api)) as host:
            for request in requests:
                await host.submit(request)
            await host.idle(0)
            return world.after_kill()

    twin = asyncio.run(life())
    assert api.log == []
    twin.start(bind(Counter, api=api))
    assert api.log == ["+first", "-first", "+second", "-second"]


@pytest.mark.parametrize(("bug", "status"), [(False, "failed"), (True, "stuck")])
def test_r16_a_handler_that_raises_leaves_the_state_as_it_was_and_the_instance_free(
    world, request_of, bug, status
):
    api = Real()
    ended = together(
        world,
        bind(Counter, api=api),
        request_of(Counter, "add", "x", identity=("a",)),
        request_of(Counter, "fail", bug, identity=("a",)),
        request_of(Counter, "add", "y", identity=("a",)),
    )
    assert [one.status for one in ended] == ["completed", status, "completed"]
    assert ended[2].result == b"2"
    states = [one["state"] for one in world.records("Counter") if "done" in one]
    assert states[-1] == {"count": 2, "seen": ["x", "y"]}


def test_r16_state_goes_on_record_with_the_end_and_a_crash_before_it_changes_nothing(
    world, request_of
):
    api = Real("y")
    binding = bind(Counter, api=api)
    world.invoke(binding, "add", "x", identity=("a",))
    world.dies(binding, requests=[request_of(Counter, "add", "y", identity=("a",))])
    states = [one for one in world.records("Counter") if next(iter(one)) == "state"]
    assert [one["state"] for one in states] == [{"count": 1, "seen": ["x"]}]
    api.die_at.clear()
    world.start(binding)
    first, done = (one for one in world.records("Counter") if "done" in one)
    assert first["state"] == {"count": 1, "seen": ["x"]}
    assert done["state"] == {"count": 2, "seen": ["x", "y"]}
    assert done["value"] == 2


def test_state_that_did_not_change_is_not_written_again(world):
    world.invoke(bind(Counter, api=Real()), "beside", "x", identity=("a",))
    (done,) = [one for one in world.records("Counter") if "done" in one]
    assert "state" not in done


def test_a_default_is_copied_and_never_shared_between_instances(world):
    binding = bind(Counter, api=Real())
    world.invoke(binding, "add", "x", identity=("a",))
    world.invoke(binding, "add", "y", identity=("b",))
    states = [one["state"]["seen"] for one in world.records("Counter") if "done" in one]
    assert states == [["x"], ["y"]]
    assert Counter.__agentctl_spec__.state["seen"].default == b"[]"


def test_h11_an_underscored_field_lives_for_one_event(world):
    binding = bind(Counter, api=Real())
    results = [world.invoke(binding, "remember", k, identity=("a",)).result for k in "xy"]
    assert results == [b"[]", b"[]"]

    async def life():
        async with world.program(binding) as host:
            ref = Counter.ref("a")
            assert host is not None
            return [await ref.remember("x"), await ref.remember("y")]

    assert asyncio.run(life()) == [[], []]


def test_state_that_cannot_be_recorded_any_more_is_a_bug_and_is_not_committed(world):
    ended = world.invoke(bind(Counter, api=Real()), "spoil", identity=("a",))
    assert ended.status == "stuck"
    assert "seen[0]" in ended.text
    assert isinstance(ended.error, NotRecordable | None)


def test_a_query_reads_the_committed_state_at_any_time_and_changes_nothing(world):
    api = Real()

    async def life():
        async with world.program(bind(Counter, api=api)):
            ref = Counter.ref("a")
            seen = [await ref.total()]
            await ref.add("x")
            seen.append(await ref.total())
            api.hold = asyncio.Event()
            running = asyncio.ensure_future(ref.add("y"))
            while "+y" not in api.log:
                await asyncio.sleep(0)
            seen.append(await ref.total())
            api.hold.set()
            await running
            seen += [await ref.total(), await ref.changing(), await ref.total()]
            return seen

    assert asyncio.run(life()) == [0, 1, 1, 2, 3, 2]
    assert [one for one in world.records("Counter") if one.get("handler") == "total"] == []


def test_a_query_can_call_nothing(world):
    async def life():
        async with world.program(bind(Counter, api=Real())):
            await Counter.ref("a").nosy()

    with pytest.raises((AgentctlError, AttributeError)):
        asyncio.run(life())


def test_what_a_query_raises_is_its_cause_and_no_bug_of_agentctl(world):
    async def life(name):
        async with world.program(bind(Counter, api=Real())):
            return await getattr(Counter.ref("a"), name)()

    with pytest.raises(QueryFailed, match=r"Counter\.half: ZeroDivisionError") as caught:
        asyncio.run(life("half"))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with pytest.raises(Unwell):
        asyncio.run(life("unwell"))


class Colour(enum.Enum):
    RED = "red"
    BLUE = "sky/blue"


class Wide(Agent):
    region: str
    number: int
    flag: bool
    id: uuid.UUID
    colour: Colour

    @handler
    async def me(self) -> str:
        return repr((self.region, self.number, self.flag, self.id.hex, self.colour.name))


ID = uuid.UUID(int=7)


def test_identity_of_each_kind_round_trips_through_the_address(world):
    identity = ("eu/7", -3, True, ID, Colour.BLUE)
    ended = world.invoke(bind(Wide), "me", identity=identity)
    assert json.loads(ended.result) == repr(("eu/7", -3, True, ID.hex, "BLUE"))
    assert str(ended.event) == f"Wide/eu%2F7/-3/true/{ID}/sky%2Fblue#1"


@pytest.mark.parametrize(
    "identity",
    [
        (),
        ("eu",),
        ("eu", 1, True, ID, Colour.RED, "more"),
        (7, 1, True, ID, Colour.RED),
        ("eu", True, True, ID, Colour.RED),
        ("eu", "1", True, ID, Colour.RED),
        ("eu", 1, 1, ID, Colour.RED),
        ("eu", 1, True, str(ID), Colour.RED),
        ("eu", 1, True, ID, "red"),
    ],
)
def test_identity_that_does_not_fit_is_refused(identity):
    with pytest.raises(UsageError, match="identity") as refused:
        Wide.ref(*identity)
    assert refused.value.hint


def test_identity_that_is_given_as_text_has_one_written_form():
    spec = Wide.__agentctl_spec__
    texts = ("eu", "007", "true", "{00000000000000000000000000000007}", "red")
    assert spec.check_identity(texts) == ("eu", "7", "true", str(ID), "red")
    for wrong in (("eu", "x", "true", str(ID), "red"), ("eu", "1", "yes", str(ID), "red")):
        with pytest.raises(UsageError):
            spec.check_identity(wrong)
    with pytest.raises(UsageError):
        spec.check_identity(("eu", "1", "true", str(ID), "green"))


def test_a_reference_says_what_to_do_where_nothing_runs():
    with pytest.raises(AgentctlError, match="Counter doesn't run in this program") as refused:
        asyncio.run(_ask(Counter.ref("a")))
    assert "start(Counter" in str(refused.value.hint)


async def _ask(ref):
    return await ref.add("x")


def test_an_agent_with_identity_needs_an_instance_named(world):
    async def life():
        async with world.program(bind(Counter, api=Real())) as host:
            await host.reference(Counter).add("x")

    with pytest.raises(UsageError, match="no instance was named"):
        asyncio.run(life())


def test_an_agent_is_not_made_by_calling_it():
    with pytest.raises(UsageError, match="isn't made by calling it") as refused:
        Counter(name="a", api=Real())
    assert "Counter.ref(" in str(refused.value.hint)
