"""R8: what is stuck or failed runs again under its number, with what it has on record."""

from __future__ import annotations

import asyncio
from itertools import count

import pytest

from agentctl import Agent, Capability, bind, call_key, handler, sleep
from agentctl.engines.changes import RetryRequest
from agentctl.errors import AgentError, Conflict, NotFound
from agentctl.names import Address

IDS = map("id-{}".format, count())
FIRST = Address("Bot", (), 1)


class Till(Capability):
    async def pay(self, what: str) -> str: ...


class Declined(AgentError):
    pass


class Real(Till):
    """Declines what it is told to; keeps each call with its key."""

    def __init__(self, *declined):
        self.made = []
        self.declined = set(declined)

    async def pay(self, what: str) -> str:
        self.made.append((call_key(), what))
        if what in self.declined:
            raise Declined(what)
        return what.upper()

    @property
    def whats(self):
        return [what for _, what in self.made]


SWITCH = {"bug": False, "own": False, "order": ("a", "b"), "extra": False}


@pytest.fixture(autouse=True)
def switch():
    before = dict(SWITCH)
    yield SWITCH
    SWITCH.update(before)


class Bot(Agent):
    till: Till
    total: int = 0

    @handler
    async def two(self) -> str:
        self.total += 1
        return await self.till.pay("a") + await self.till.pay("b")

    @handler
    async def caught(self) -> str:
        try:
            await self.till.pay("a")
        except Declined:
            pass
        return await self.till.pay("b")

    @handler
    async def own(self) -> str:
        told = await self.till.pay("a")
        if SWITCH["own"]:
            raise Declined("by the handler")
        return told

    @handler
    async def group(self) -> str:
        async def failing() -> str:
            return await self.till.pay("a")

        async def sibling() -> str:
            try:
                await sleep(60)
                return await self.till.pay("b")
            finally:
                await self.till.pay("clean up")

        async with asyncio.TaskGroup() as tasks:
            one, two = tasks.create_task(failing()), tasks.create_task(sibling())
        return one.result() + two.result()

    @handler
    async def bug(self) -> str:
        told = await self.till.pay("a")
        if SWITCH["bug"]:
            raise KeyError("a bug")
        return told

    @handler
    async def changing(self) -> list[str]:
        done = [await self.till.pay(what) for what in SWITCH["order"]]
        if SWITCH["bug"]:
            raise KeyError("a bug")
        return done


def retry(*, request=None, **how):
    return RetryRequest("Bot", request or next(IDS), **({"event": 1} | how), by="ana")


class Scene:
    def __init__(self, world, request_of):
        self.world, self.request_of = world, request_of
        self.till = Real()
        self.binding = bind(Bot, till=self.till)

    def live(self, do=None, how=None, **settings):
        async def life():
            async with self.world.program(self.binding, jumps=True) as host:
                if how is not None:
                    await host.submit(self.request_of(Bot, how))
                await host.idle(float("inf"))
                done = None if do is None else await do(host)
                await host.idle(float("inf"))
                return done

        return asyncio.run(life())

    def retried(self, ground, *, mended=None, **how):
        """Retry it beside a program or without one; what it was answered, and how it ended.

        Args:
            mended: what the code is like by then; a start runs what is stuck by itself.
        """

        async def beside(host):
            SWITCH.update(mended or {})
            return await host.carry_out(retry(**how))

        if ground == "cold":
            answer = self.world.desk.carry_out(retry(**how))
            SWITCH.update(mended or {})
            self.live()
        else:
            answer = self.live(beside)
        return answer, self.end

    @property
    def end(self):
        ends = [one for one in self.world.records() if next(iter(one)) in ("done", "failed")]
        return ends[-1] if ends else None

    def kinds(self):
        kinds = self.world.kinds()
        return kinds[kinds.index("event") :]


@pytest.fixture
def scene(world, request_of):
    return Scene(world, request_of)


BOTH = pytest.mark.parametrize("ground", ["live", "cold"])


@BOTH
def test_of_a_failed_event_only_the_failing_call_is_made_again_under_its_key(scene, ground):
    scene.till.declined = {"b"}
    scene.live(how="two")
    assert scene.end["calls"] == ["1-2"]
    scene.till.declined.clear()
    answer, end = scene.retried(ground)
    assert (answer.event, str(answer.was), answer.again) == ("Bot#1", "failed", ("Till.pay",))
    assert scene.till.made == [("Bot-1-1", "a"), ("Bot-1-2", "b"), ("Bot-1-2", "b")]
    assert (end["done"], end["value"], end["state"]) == (1, "AB", {"total": 1})


@BOTH
def test_it_may_fail_again_and_be_retried_again(scene, ground):
    scene.till.declined = {"b"}
    scene.live(how="two")
    for _ in range(2):
        assert "failed" in scene.retried(ground)[1]
    scene.till.declined.clear()
    assert scene.retried(ground)[1]["value"] == "AB"
    assert scene.till.whats == ["a", "b", "b", "b", "b"]


@BOTH
def test_an_error_that_the_handler_caught_stays_as_it_is(scene, ground):
    scene.till.declined = {"a", "b"}
    scene.live(how="caught")
    scene.till.declined.clear()
    assert scene.retried(ground)[1]["value"] == "B"
    assert scene.till.whats == ["a", "b", "b"]


@BOTH
def test_one_that_failed_by_its_own_error_keeps_all_and_runs_what_the_code_says_now(scene, ground):
    SWITCH["own"] = True
    scene.live(how="own")
    assert "calls" not in scene.end
    answer, end = scene.retried(ground)
    assert (answer.again, end["failed"]) == ((), 1), "the same code fails alike"
    SWITCH["own"] = False
    assert scene.retried(ground)[1]["value"] == "A"
    assert scene.till.whats == ["a"]


@BOTH
def test_a_group_whose_sibling_cleaned_up_goes_on_as_if_nothing_had_been(scene, ground):
    scene.till.declined = {"a"}
    scene.live(how="group")
    assert scene.till.whats == ["a", "clean up"]
    scene.till.declined.clear()
    answer, end = scene.retried(ground)
    assert end["value"] == "AB"
    assert answer.again == ("Till.pay", "Till.pay"), "the failing call, and the sibling's clean-up"
    assert scene.till.whats == ["a", "clean up", "a", "b", "clean up"]


@BOTH
def test_a_stuck_event_runs_again_over_its_record(scene, ground, world):
    SWITCH["bug"] = True
    scene.live(how="bug")
    assert scene.end is None
    answer, end = scene.retried(ground, mended={"bug": False})
    assert (str(answer.was), answer.again, end["value"]) == ("stuck", (), "A")
    assert scene.till.whats == ["a"]
    counted = scene.kinds().count("again")
    assert counted == (ground == "live"), "the start counts, a person's retry doesn't"


def test_who_waits_for_a_stuck_event_can_wait_anew(scene):
    SWITCH["bug"] = True

    async def do(host):
        stuck = await host.ended(FIRST)
        SWITCH["bug"] = False
        await host.carry_out(retry())
        return stuck.status, (await host.ended(FIRST)).status

    assert scene.live(do, how="bug") == ("stuck", "completed")


# -- a divergence


def diverge(scene, before, after):
    SWITCH.update(order=before, bug=True)
    scene.live(how="changing")
    SWITCH.update(order=after, bug=False)
    scene.live()
    assert scene.kinds()[-2:] != ["done", "stop"]
    (bug,) = [one for one in scene.world.records() if one.get("divergence")]
    return bug


@BOTH
@pytest.mark.parametrize(
    ("before", "after", "made_anew", "forgotten"),
    [
        # another call than the one on record
        (("a", "b", "c"), ("a", "x", "c"), ["x", "c"], ["1-2", "1-3"]),
        # one less than is on record
        (("a", "b"), ("a",), [], ["1-2"]),
        (("a",), ("b",), ["b"], ["1-1"]),
    ],
    ids=["differs", "fewer", "first"],
)
def test_accepting_a_divergence_keeps_the_record_up_to_it(
    scene, ground, before, after, made_anew, forgotten
):
    bug = diverge(scene, before, after)
    assert bug["forget"] == forgotten
    scene.till.made.clear()
    answer, end = scene.retried(ground, accept_divergence=True)
    assert scene.till.whats == made_anew
    assert end["value"] == [what.upper() for what in after]
    assert answer.again == ("Till.pay",) * len(forgotten)


@BOTH
def test_without_that_it_is_stuck_in_the_same_way_again(scene, ground):
    diverge(scene, ("a", "b"), ("a", "x"))
    scene.till.made.clear()
    assert scene.retried(ground)[1] is None
    assert scene.till.whats == []
    assert scene.retried(ground, mended={"order": ("a", "b")})[1]["value"] == ["A", "B"]
    assert scene.till.whats == []


class Early(Agent):
    """Asks for something new where nothing is on record, while outcomes are still to come."""

    till: Till

    @handler
    async def early(self) -> list[str]:
        pays = [self.till.pay("a")]
        if SWITCH["extra"]:
            pays.append(self.till.pay("new"))
        done = list(await asyncio.gather(*pays))
        if SWITCH["bug"]:
            raise KeyError("a bug")
        return done


@BOTH
def test_accepting_a_new_call_where_nothing_is_on_record_makes_the_rest_again(
    world, request_of, ground
):
    scene = Scene(world, request_of)
    scene.binding = bind(Early, till=scene.till)
    SWITCH["bug"] = True

    async def life(do=None):
        async with world.program(scene.binding, jumps=True) as host:
            if do is None:
                await host.submit(request_of(Early, "early"))
            await host.idle(float("inf"))
            return None if do is None else await do(host)

    asyncio.run(life())
    SWITCH.update(bug=False, extra=True)

    async def nothing(host):
        pass

    asyncio.run(life(nothing))
    (bug,) = [one for one in world.records("Early") if one.get("divergence")]
    assert (bug["call"], bug["undo"], "forget" in bug) == ("1-2", ["1-1"], False)
    scene.till.made.clear()
    request = RetryRequest("Early", "x", event=1, accept_divergence=True)

    async def now(host):
        await host.carry_out(request)
        await host.idle()

    if ground == "cold":
        world.desk.carry_out(request)
        asyncio.run(life(nothing))
    else:
        asyncio.run(life(now))
    assert sorted(scene.till.whats) == ["a", "new"]
    (done,) = [one for one in world.records("Early") if "done" in one]
    assert done["value"] == ["A", "NEW"]


# -- what can't be retried


@BOTH
@pytest.mark.parametrize(
    ("how", "said"),
    [({}, "is completed"), ({"event": 9}, "Bot#9 isn't known"), ({"event": None, "key": "k"},
      "Bot k isn't known")],
    ids=["completed", "unknown", "unknown-key"],
)  # fmt: skip
def test_what_can_not_be_retried_is_said_so(scene, ground, how, said):
    scene.live(how="two")
    with pytest.raises((Conflict, NotFound), match=said) as refused:
        scene.retried(ground, **how)
    assert refused.value.exit_code in (3, 4)
    assert "retry" not in scene.kinds()


def test_what_runs_or_sleeps_is_neither_stuck_nor_failed(scene):
    async def life():
        async with scene.world.program(scene.binding) as host:
            await host.submit(scene.request_of(Bot, "group"))
            await host.idle()
            with pytest.raises(Conflict, match="Bot#1 is under way, neither stuck nor failed"):
                await host.carry_out(retry())

    asyncio.run(life())
    with pytest.raises(Conflict, match="neither stuck nor failed"):
        scene.world.desk.carry_out(retry())


@pytest.mark.parametrize("then", ["live", "cold"])
def test_a_retry_under_an_id_is_answered_again_and_made_once(scene, then):
    scene.till.declined = {"b"}
    scene.live(how="two")
    answers = [scene.retried(ground, request="same")[0] for ground in ("live", then, then)]
    assert [one.event for one in answers] == ["Bot#1"] * 3
    assert scene.till.whats == ["a", "b", "b"]
    assert scene.kinds().count("retry") == 1


def test_r15_a_retry_is_audited(scene):
    scene.till.declined = {"b"}
    scene.live(how="two")
    scene.retried("live")
    assert "Bot retried: event #1 of two (by ana)" in scene.world.audit
