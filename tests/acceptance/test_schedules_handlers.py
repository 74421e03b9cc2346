"""Timings in handlers and on a host: once, later, again, by a name (R18)."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from agentctl import AgentctlError, AgentError

from .rounds import HOUR, START, Many, One, Rounds, minutes, rest, seconds

MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)
US = timedelta(microseconds=1)


@pytest.mark.parametrize("target", ["b", "a"], ids=["another", "itself"])
def test_g2_a_handler_schedules_on_another_agent_and_on_itself(target: str) -> None:
    rounds = Rounds()

    async def lives() -> None:
        async with rounds.life() as host:
            await One.ref("a").other(target, "later", 0.2)
            await rounds.pass_time(host, timedelta(seconds=0.15), timedelta(seconds=0.05))
            assert rounds.ran() == []
            await rounds.pass_time(host, SECOND, timedelta(seconds=0.05))
        rounds.away(HOUR)
        async with rounds.life() as host:
            await rounds.pass_time(host, HOUR, MINUTE)

    asyncio.run(lives())
    assert [one.what for one in rounds.ran()] == [f"{target} later"]
    assert rounds.times() == seconds(0.2)


@pytest.mark.parametrize("name", [None, "later"], ids=["single", "named"])
@pytest.mark.parametrize("delay", [0.2, timedelta(milliseconds=200)], ids=["number", "timedelta"])
def test_g2_a_host_schedules_once(name: str | None, delay: float | timedelta) -> None:
    rounds = Rounds()

    async def life() -> None:
        async with rounds.life() as host:
            await One.ref("a").note.after(delay, name=name)("later")
            await rounds.pass_time(host, 2 * SECOND, timedelta(seconds=0.1))

    asyncio.run(life())
    assert rounds.times("a later") == seconds(0.2)
    assert rounds.dues("a later") == seconds(0.2)
    assert [one.missed for one in rounds.ran()] == [0]


@pytest.mark.parametrize("agent", [Many, One])
def test_c1_the_result_is_awaited_through_the_token(agent: type[Many] | type[One]) -> None:
    rounds = Rounds()

    async def life() -> str:
        async with rounds.life() as host:
            token = await agent.ref("a").note.after(0.01)("1")
            result = asyncio.ensure_future(token.result())
            await rest(host)
            assert not result.done()
            await rounds.pass_time(host, timedelta(milliseconds=10), timedelta(milliseconds=10))
            # Asked again, it says the same.
            return await asyncio.wait_for(result, 5) + await asyncio.wait_for(token.result(), 5)

    assert asyncio.run(life()) == "11"


def test_c1_the_token_of_what_was_triggered_gives_its_result_too() -> None:
    rounds = Rounds()

    async def life() -> None:
        async with rounds.life():
            token = await Many.ref("a").note.trigger()("now")
            assert await asyncio.wait_for(token.result(), 5) == "now"
            failing = await Many.ref("a").refuse.trigger()("no")
            with pytest.raises(AgentError, match="no"):
                await asyncio.wait_for(failing.result(), 5)

    asyncio.run(life())
    assert rounds.dues("a now") == [None], "what was triggered is no occurrence of a schedule"


@pytest.mark.parametrize("recurring", [True, False], ids=["every", "after"])
def test_c4_the_same_name_again_replaces_it(recurring: bool) -> None:
    rounds = Rounds()

    async def life() -> None:
        async with rounds.life() as host:
            for word in ("first", "second"):
                if recurring:
                    await One.ref("a").note.every(HOUR, name="tick")(word)
                else:
                    await One.ref("a").note.after(HOUR, name="tick")(word)
            assert await One.ref("a").names() == ["tick"]
            await rounds.pass_time(host, 3 * HOUR, timedelta(minutes=30))

    asyncio.run(life())
    times = minutes(60, 120, 180) if recurring else minutes(60)
    assert [one.what for one in rounds.ran()] == ["a second"] * len(times)
    assert rounds.times() == times


def test_c4_another_kind_under_the_same_name_replaces_it_too() -> None:
    rounds = Rounds()

    async def life() -> None:
        async with rounds.life() as host:
            await One.ref("a").note.every(MINUTE, name="tick")("every")
            await One.ref("a").note.after(HOUR, name="tick")("after")
            # A name belongs to one instance.
            await One.ref("b").note.after(HOUR, name="tick")("other")
            await rounds.pass_time(host, 3 * HOUR, timedelta(minutes=1))

    asyncio.run(life())
    assert sorted(one.what for one in rounds.ran()) == ["a after", "b other"]


def test_the_same_again_changes_nothing_and_keeps_the_grid() -> None:
    rounds = Rounds()

    async def lives() -> None:
        async with rounds.life() as host:
            await One.ref("a").hourly("same")
            await rounds.pass_time(host, timedelta(minutes=100), timedelta(minutes=10))
            await One.ref("a").hourly("same")
            await rounds.pass_time(host, timedelta(minutes=10), timedelta(minutes=10))
        async with rounds.life() as host:
            await One.ref("a").hourly("same")
            await rounds.pass_time(host, timedelta(minutes=70), timedelta(minutes=10))

    asyncio.run(lives())
    assert rounds.times("a same") == rounds.dues("a same") == minutes(60, 120, 180)


def test_an_edit_never_fires_at_once() -> None:
    rounds = Rounds()

    async def life() -> None:
        async with rounds.life() as host:
            await One.ref("a").note.every(HOUR, name="tick")("hour")
            await rounds.pass_time(host, timedelta(minutes=90), timedelta(minutes=10))
            await One.ref("a").note.every(timedelta(minutes=20), name="tick")("edited")
            assert rounds.times() == minutes(60)
            await rounds.pass_time(host, HOUR, timedelta(minutes=5))

    asyncio.run(life())
    edited = rounds.times("a edited")
    assert edited, "the edited one never ran"
    assert edited[0] > timedelta(minutes=90)
    apart = {two - one for one, two in pairwise(edited)}
    assert apart == {timedelta(minutes=20)}


@pytest.mark.parametrize(
    "first", [timedelta(minutes=5), 300.0, START + timedelta(minutes=5)], ids=["delta", "s", "at"]
)
def test_the_first_due_time_can_be_given(first: timedelta | float | datetime) -> None:
    rounds = Rounds()

    async def life() -> None:
        async with rounds.life() as host:
            await One.ref("a").note.every(HOUR, name="tick", first=first)("x")
            await rounds.pass_time(host, timedelta(minutes=130), timedelta(minutes=5))

    asyncio.run(life())
    assert rounds.times() == minutes(5, 65, 125)


def test_c6_due_time_and_period_are_integers_in_microseconds() -> None:
    rounds = Rounds()

    async def life() -> None:
        async with rounds.life():
            await One.ref("a").note.every(timedelta(seconds=90.5), name="tick")("x")
            await One.ref("a").note.after(60, name="once")("x")
            await One.ref("a").note.cron("0 9 * * *", tz="Europe/Berlin", name="nine")("x")

    asyncio.run(life())
    lines = [json.loads(line) for line in rounds.world.journals["One"].splitlines()]
    records = {line["schedule"]: line for line in lines if line.get("schedule") and "due" in line}
    start_us = (START - datetime(1970, 1, 1, tzinfo=UTC)) // US
    assert records["tick"]["due"] == start_us + 90_500_000
    assert records["tick"]["period"] == 90_500_000
    assert records["once"]["due"] == start_us + 60_000_000
    assert records["once"].get("period") is None
    assert records["nine"]["due"] == start_us + 8 * 3600 * 1_000_000
    for record in records.values():
        assert type(record["due"]) is int
        assert record.get("period") is None or type(record["period"]) is int


def test_c7_an_instance_that_nobody_ever_called_begins_by_the_clock_alone() -> None:
    rounds = Rounds()

    async def lives() -> None:
        async with rounds.life():
            await Many.ref("caller").note("x")
            await One.ref("never").note.every(HOUR, name="tick")("by the clock")
        async with rounds.life() as host:
            await rounds.pass_time(host, 2 * HOUR, timedelta(minutes=30))

    asyncio.run(lives())
    assert rounds.times("never by the clock") == minutes(60, 120)


@pytest.mark.parametrize("delay", [0, -1, timedelta(0), timedelta(days=-400)], ids=repr)
@pytest.mark.parametrize("name", [None, "soon"], ids=["single", "named"])
def test_c11_a_delay_of_nothing_or_less_runs_at_once(
    delay: float | timedelta, name: str | None
) -> None:
    rounds = Rounds()

    async def life() -> None:
        async with rounds.life() as host:
            await One.ref("a").note.after(delay, name=name)("x")
            await rounds.pass_time(host, SECOND, SECOND)

    asyncio.run(life())
    assert [one.what for one in rounds.ran()] == ["a x"]


@pytest.mark.parametrize("days", [45, 3653, 36525], ids=["45-days", "10-years", "100-years"])
@pytest.mark.parametrize("name", [None, "far"], ids=["single", "named"])
def test_c11_a_far_time_raises_nothing_and_nothing_is_early(days: int, name: str | None) -> None:
    rounds = Rounds()
    far = START + timedelta(days=days)

    async def lives() -> None:
        async with rounds.life() as host:
            await One.ref("a").note.at(far, name=name)("x")
            await rounds.pass_time(host, timedelta(days=days - 1), timedelta(days=days - 1))
        async with rounds.life() as host:
            assert rounds.ran() == []
            await rounds.pass_time(host, timedelta(days=2), timedelta(hours=12))

    asyncio.run(lives())
    assert [one.at for one in rounds.ran()] == [far]


def test_c11_a_period_of_45_days_keeps_its_grid() -> None:
    rounds = Rounds()

    async def lives() -> None:
        async with rounds.life() as host:
            await One.ref("a").note.every(timedelta(days=45), name="x")("x")
            await rounds.pass_time(host, timedelta(days=46), timedelta(days=1))
        async with rounds.life() as host:
            await rounds.pass_time(host, timedelta(days=46), timedelta(days=1))

    asyncio.run(lives())
    assert rounds.times() == [timedelta(days=45), timedelta(days=90)]


def test_what_a_handler_scheduled_stays_if_it_fails() -> None:
    rounds = Rounds()

    async def life() -> None:
        async with rounds.life() as host:
            with pytest.raises(AgentError, match="after it was set"):
                await One.ref("a").set_and_fail("x")
            assert await One.ref("a").names() == ["kept"]
            assert await One.ref("a").count() == 0, "its state didn't roll back"
            await rounds.pass_time(host, HOUR, timedelta(minutes=30))

    asyncio.run(life())
    assert rounds.times("a x") == minutes(60)


def test_a_handle_tells_due_time_period_and_handler() -> None:
    rounds = Rounds()

    async def life() -> None:
        async with rounds.life() as host:
            await One.ref("a").hourly("x")
            assert await One.ref("a").facts("hourly") == (START + HOUR, HOUR, "note")
            await rounds.pass_time(host, timedelta(minutes=90), timedelta(minutes=30))
            assert await One.ref("a").facts("hourly") == (START + 2 * HOUR, HOUR, "note")
            await One.ref("a").note.at(START + 9 * HOUR, name="once")("y")
            assert await One.ref("a").facts("once") == (START + 9 * HOUR, None, "note")

    asyncio.run(life())
    assert rounds.times() == minutes(60)


def test_a_one_shot_by_name_is_gone_from_the_schedules_when_it_ran() -> None:
    rounds = Rounds()

    async def life() -> None:
        async with rounds.life() as host:
            await One.ref("a").note.after(60, name="once")("x")
            assert await One.ref("a").names() == ["once"]
            await rounds.pass_time(host, timedelta(minutes=2), MINUTE)
            assert await One.ref("a").names() == []

    asyncio.run(life())
    assert rounds.times() == minutes(1)


def test_a_name_gets_its_number_when_due_and_an_event_without_one_now() -> None:
    rounds = Rounds()

    async def life() -> tuple[str, str]:
        async with rounds.life() as host:
            await One.ref("a").note.after(60, name="once")("named")
            single = await One.ref("a").note.after(120)("single")
            other = await One.ref("a").note.trigger()("now")
            await rounds.pass_time(host, timedelta(minutes=3), MINUTE)
            return single.address, other.address

    assert asyncio.run(life()) == ("One/a#1", "One/a#2")
    events = {}
    for line in map(json.loads, rounds.world.journals["One"].splitlines()):
        if line.get("event") and "handler" in line:
            events[line["event"]] = line["args"][0]
    assert events == {1: "single", 2: "now", 3: "named"}


def test_what_no_schedule_began_has_no_occurrence() -> None:
    rounds = Rounds()

    async def life() -> None:
        async with rounds.life():
            await One.ref("a").note("called")
            token = await One.ref("a").note.trigger()("triggered")
            await token.result()

    asyncio.run(life())
    assert rounds.dues() == [None, None]


@pytest.mark.parametrize("when", [datetime(2026, 3, 1), "2026-03-01T00:00:00Z"], ids=repr)
def test_a_moment_without_a_zone_or_that_is_none_is_refused(when: datetime) -> None:
    rounds = Rounds()

    async def life() -> None:
        async with rounds.life():
            with pytest.raises((AgentctlError, TypeError, ValueError), match=r"zone|datetime"):
                await One.ref("a").note.at(when)("x")
            assert await One.ref("a").names() == []

    asyncio.run(life())
    assert b'"x"' not in rounds.world.journals["One"], "something of it is on record"
