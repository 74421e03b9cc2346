"""A timing says what it asks for: in a handler as a call, on a host to whoever runs the agent."""

from __future__ import annotations

import asyncio
import math
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from agentctl import Agent, ScheduleHandle, Token, handler, query, sleep
from agentctl.core.timing import Sent, Timing
from agentctl.errors import AgentctlError, BadArguments, NotRecordable, UsageError
from agentctl.sdk.agent import build, refer
from agentctl.sdk.handlers import run_query
from agentctl.sdk.ops import SendOp, Target
from agentctl.sdk.registry import serve, unserve

from .fakes import START_US, FakeInvoker, FakeRun, in_handler

MINUTE_US = 60_000_000
HOUR_US = 60 * MINUTE_US
START = datetime(2026, 1, 1, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")


class Other(Agent):
    key: str

    @handler
    async def total(self) -> int: ...


class Bot(Agent):
    name: str

    @handler
    async def poll(self, url: str, deep: bool = False) -> None: ...

    @handler
    async def act(self) -> object:
        return await self.acts(self)  # type: ignore[attr-defined]

    @query
    async def scheduling(self) -> None:
        await self.poll.trigger()("u")


TIMINGS = [
    (lambda h: h.trigger(), Timing()),
    (lambda h: h.trigger(key="k"), Timing(key="k")),
    (lambda h: h.after(60), Timing(due_us=START_US + MINUTE_US)),
    (lambda h: h.after(0.25, name="tick"), Timing(name="tick", due_us=START_US + 250_000)),
    (lambda h: h.after(timedelta(hours=1), key="k"), Timing(key="k", due_us=START_US + HOUR_US)),
    (lambda h: h.after(0), Timing()),
    (lambda h: h.after(-5, name="tick"), Timing(name="tick")),
    (lambda h: h.after(9, max_late=5), Timing(due_us=START_US + 9_000_000, late_us=5_000_000)),
    (lambda h: h.at(START + timedelta(microseconds=1)), Timing(due_us=START_US + 1)),
    (
        lambda h: h.at(datetime(2026, 1, 1, 2, tzinfo=BERLIN), name="n", key="k", max_late=0),
        Timing(name="n", key="k", due_us=START_US + HOUR_US, late_us=0),
    ),
    (lambda h: h.at(START - timedelta(days=9)), Timing(due_us=START_US - 9 * 24 * HOUR_US)),
    (
        lambda h: h.every(timedelta(hours=1), name="n"),
        Timing(name="n", period_us=HOUR_US, due_us=START_US + HOUR_US),
    ),
    (
        lambda h: h.every(timedelta(hours=1), name="n", first=60),
        Timing(name="n", period_us=HOUR_US, due_us=START_US + MINUTE_US),
    ),
    (
        lambda h: h.every(timedelta(hours=1), name="n", first=timedelta(0)),
        Timing(name="n", period_us=HOUR_US, due_us=START_US),
    ),
    (
        lambda h: h.every(timedelta(hours=1), name="n", first=START + timedelta(minutes=1)),
        Timing(name="n", period_us=HOUR_US, due_us=START_US + MINUTE_US, anchored=True),
    ),
    (
        lambda h: h.every(
            timedelta(hours=1),
            name="n",
            missed="all",
            overlap="queue",
            jitter=timedelta(seconds=2),
            max_late=60,
        ),
        Timing(
            name="n",
            period_us=HOUR_US,
            due_us=START_US + HOUR_US,
            missed="all",
            overlap="queue",
            jitter_us=2_000_000,
            late_us=MINUTE_US,
        ),
    ),
    (
        lambda h: h.cron("0 9 * * 1-5", tz="Europe/Berlin", name="n"),
        Timing(name="n", cron="0 9 * * 1-5", tz="Europe/Berlin"),
    ),
    (
        lambda h: h.cron(
            "0 * * * *", tz=BERLIN, name="n", missed="skip", overlap="allow", jitter=1
        ),
        Timing(
            name="n",
            cron="0 * * * *",
            tz="Europe/Berlin",
            missed="skip",
            overlap="allow",
            jitter_us=1_000_000,
        ),
    ),
    (lambda h: h.cron("* * * * *", tz=UTC, name="n"), Timing(name="n", cron="* * * * *", tz="UTC")),
    (
        lambda h: h.cron("* * * * *", tz="utc", name="n", max_late=1),
        Timing(name="n", cron="* * * * *", tz="UTC", late_us=1_000_000),
    ),
]


@pytest.mark.parametrize(("make", "timing"), TIMINGS)
def test_a_timing_on_self_is_a_call_for_the_event_s_own_instance(make, timing):
    async def act(self):
        return await make(self.poll)("u", deep=True)

    run = in_handler(Bot, act)
    returns = ScheduleHandle if timing.recurs else Token
    target = Target("Bot", ("ada",), "poll")
    assert run.sent == SendOp("1", target, Bot, b'["u"]', b'{"deep":true}', timing, returns)
    made = (
        ScheduleHandle("Bot/ada", "poll", schedule="n", due_us=START_US)
        if timing.recurs
        else Token("Bot/ada", "poll", event=8)
    )
    run.answer(made)
    assert run.result is made
    assert not run.loop.unawaited


@pytest.mark.parametrize(("make", "timing"), TIMINGS)
def test_the_same_on_a_host_goes_to_whoever_runs_the_agent(make, timing):
    invoker = FakeInvoker()
    serve(Bot, invoker)
    try:
        made = asyncio.run(make(Bot.ref("ada").poll)("u", deep=True))
    finally:
        unserve(Bot, invoker)
    assert invoker.sends == [(Target("Bot", ("ada",), "poll"), ("u",), {"deep": True}, timing)]
    assert type(made) is (ScheduleHandle if timing.recurs else Token)
    assert (made.instance, made.handler, made.name) == ("Bot/ada", "poll", timing.name)


def test_another_instance_is_reached_by_its_reference_and_the_place_is_the_branch_s():
    async def act(self):
        await sleep(1)
        await asyncio.gather(Bot.ref("bob").poll.trigger()("u"), Other.ref("k").total.after(60)())

    run = in_handler(Bot, act)
    run.fire()
    sent = [op for op in run.ops if isinstance(op, SendOp)]
    assert [(op.path, op.target, op.cls) for op in sent] == [
        ("2", Target("Bot", ("bob",), "poll"), Bot),
        ("3", Target("Other", ("k",), "total"), Other),
    ]
    assert sent[1].timing == Timing(due_us=START_US + 1_000_000 + MINUTE_US)


def test_a_timing_can_be_used_again_and_counts_from_each_use():
    async def act(self):
        later = self.poll.after(60)
        await later("a")
        await sleep(60)
        await later("b")

    run = in_handler(Bot, act)
    run.answer(Token("Bot/ada", "poll", event=8))
    run.fire()
    first, _, second = run.ops
    assert second.timing.due_us - first.timing.due_us == MINUTE_US
    assert not run.loop.unawaited


def test_an_inherited_handler_is_sent_by_its_own_class():
    class Careful(Bot):
        @handler
        async def poll(self, url: str, deep: bool = False) -> None:
            await super().poll.trigger()(url)

    run = FakeRun(Careful, "poll", "u")
    assert (run.sent.target.agent, run.sent.cls) == ("Careful", Careful)


WRONG_TIMES = [
    (lambda h: h.after(math.nan), "the delay is nan"),
    (lambda h: h.after(math.inf), "the delay is inf"),
    (lambda h: h.after(1e300), r"the delay is 1e\+300"),
    (lambda h: h.after(10**5000), "the delay is too long"),
    (lambda h: h.after(timedelta.max), "the delay is 999999999 days"),
    (lambda h: h.after("60"), "the delay is '60', and no duration"),
    (lambda h: h.after(None), "the delay is None"),
    (lambda h: h.after(True), "the delay is True"),
    (lambda h: h.after(60, max_late=-1), "be late, -1s, is too short"),
    (lambda h: h.after(60, max_late="1h"), "max_late is '1h'"),
    (lambda h: h.at(datetime(2026, 1, 1)), "has no zone"),
    (lambda h: h.at(date(2026, 1, 1)), "no datetime"),
    (lambda h: h.at(60), "no datetime"),
    (lambda h: h.at(datetime(1969, 1, 1, tzinfo=UTC)), "this moment is none"),
    (lambda h: h.every(3600, name="n"), "the period is 3600, and no timedelta"),
    (lambda h: h.every(timedelta(0), name="n"), "must be more than nothing"),
    (lambda h: h.every(timedelta(hours=-1), name="n"), "must be more than nothing"),
    (lambda h: h.every(timedelta.max, name="n"), "the period is"),
    (lambda h: h.every(timedelta(1), name="n", first=datetime(2026, 1, 1)), "has no zone"),
    (lambda h: h.every(timedelta(1), name="n", first=math.nan), "the first delay is nan"),
    (lambda h: h.every(timedelta(1), name="n", jitter=-1), "the jitter, -1s, is too short"),
    (lambda h: h.every(timedelta(1), name="n", max_late=math.inf), "max_late is inf"),
    (lambda h: h.cron("* * * * *", tz="Mars/Olympus", name="n"), "no time zone 'Mars/Olympus'"),
    (lambda h: h.cron("* * * * *", tz=timezone(timedelta(hours=2)), name="n"), "has no name"),
    (lambda h: h.cron("* * * * *", tz=2, name="n"), "has no name"),
    (lambda h: h.cron("* * * *", tz="UTC", name="n"), "five fields|5 fields|4 fields"),
    (lambda h: h.cron(9, tz="UTC", name="n"), "the cron is 9, and no text"),
    (lambda h: h.after(60, name=7), "the name is 7, and no text"),
    (lambda h: h.after(60, name=""), "name '' is empty"),
    (lambda h: h.trigger(key=7), "the key is 7, and no text"),
    (lambda h: h.every(timedelta(1), name="n", missed="most"), "missed can't be 'most'"),
    (lambda h: h.every(timedelta(1), name="n", overlap="all"), "overlap can't be 'all'"),
]


@pytest.mark.parametrize(("make", "says"), WRONG_TIMES)
def test_a_time_that_makes_no_sense_is_refused_before_anything_is_asked_for(make, says):
    async def act(self):
        make(self.poll)

    run = in_handler(Bot, act)
    with pytest.raises(UsageError, match=says):
        _ = run.result
    assert run.ops == []
    with pytest.raises(UsageError, match=says):
        make(Bot.ref("ada").poll)


def test_r22_a_timing_has_its_own_priority_or_that_of_its_reference():
    async def act(self):
        high = Other.ref("k", priority="high").total
        await asyncio.gather(
            self.poll.trigger(priority="low")("u"),
            high.after(60)(),
            high.after(60, priority="medium")(),
            self.poll.trigger()("u"),
        )

    run = in_handler(Bot, act)
    assert [op.timing.priority for op in run.ops] == ["low", "high", "medium", "medium"]


def test_r22_a_question_has_the_priority_of_its_reference():
    async def act(self):
        low = Other.ref("k", priority="low").total()
        await asyncio.gather(low, Other.ref("k").total())

    assert [op.priority for op in in_handler(Bot, act).ops] == ["low", "medium"]
    with pytest.raises(UsageError, match="the priority can't be 'urgent'"):
        Other.ref("k", priority="urgent")
    with pytest.raises(UsageError, match="the priority can't be 1"):
        Bot.ref("ada").poll.trigger(priority=1)


def test_arguments_are_checked_before_anything_is_asked_for():
    async def act(self):
        with pytest.raises(BadArguments, match=r"Bot\.poll: missing"):
            self.poll.trigger()()
        with pytest.raises(NotRecordable, match="argument url"):
            self.poll.trigger()(7)
        with pytest.raises(UsageError, match="no instance was named"):
            refer(Other, None).total.trigger()()

    run = in_handler(Bot, act)
    assert run.result is None
    assert run.ops == []
    assert not run.loop.unawaited


def test_a_forgotten_await_is_found_and_so_are_forgotten_arguments():
    async def act(self):
        self.poll.trigger()("u")
        self.poll.after(60)

    run = in_handler(Bot, act)
    assert run.result is None
    assert run.ops == []
    assert [fn for fn, _, _ in run.loop.unawaited.values()] == [
        "Bot.poll.trigger",
        "Bot.poll.after",
    ]
    lines = [line for _, file, line in run.loop.unawaited.values() if file == __file__]
    assert lines[1] - lines[0] == 1


def test_awaiting_a_timing_without_arguments_says_what_it_lacks():
    async def act(self):
        await self.poll.trigger()

    with pytest.raises(TypeError, match="takes the handler's arguments"):
        _ = in_handler(Bot, act).result


def test_what_is_not_awaited_any_more_is_dropped():
    async def act(self):
        async with asyncio.timeout(1):
            await self.poll.trigger()("u")

    run = in_handler(Bot, act)
    run.fire()
    assert isinstance(run.loop.root.exception(), TimeoutError)
    assert len(run.dropped) == 1


def test_a_query_and_a_host_have_no_self_to_schedule_on():
    obj = build(Bot, ("ada",), {}, None)
    with pytest.raises(UsageError, match=r"Bot\.poll\.trigger\(\) works in a handler"):
        run_query(Bot.scheduling(obj), "Bot.scheduling")


def test_without_anybody_who_runs_the_agent_a_host_is_told_so():
    with pytest.raises(AgentctlError, match="Other doesn't run in this program"):
        asyncio.run(Other.ref("k").total.after(60)())


def test_an_event_that_was_let_go_of_schedules_nothing():
    async def act(self):
        try:
            await sleep(60)
        finally:
            self.poll.trigger()("u")

    run = in_handler(Bot, act)
    run.loop.let_go()
    assert all(not isinstance(op, SendOp) for op in run.ops)


def test_what_the_host_made_goes_through_the_host_that_made_it():
    mine, latest = FakeInvoker(), FakeInvoker()

    async def host():
        token = await refer(Bot, ("ada",), mine).poll.trigger()("u")
        return str(await token.cancel()), await token.result()

    serve(Bot, latest)
    try:
        assert asyncio.run(host()) == ("cancelled", 42)
    finally:
        unserve(Bot, latest)
    assert mine.cancelled == mine.awaited == [Sent("Bot/ada", "poll", event=9)]
    assert latest.cancelled == []
