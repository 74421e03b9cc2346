"""`every` in a handler: rounds on a grid, and what was missed while nothing ran (K13, R19)."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from agentctl import AgentctlError, every

from .rounds import HOUR, START, Many, One, Rounds, minutes, rest

MINUTE = timedelta(minutes=1)


def begin(period: timedelta = HOUR, most: int = 100) -> asyncio.Task[int]:
    """An event that goes round, whose caller is this program."""
    return asyncio.ensure_future(Many.ref("m").rounds(period, most))


@pytest.mark.parametrize("away", [1, 2, 5], ids=["half-a-round", "one-and-a-half", "more"])
def test_k13_rounds_missed_while_down_are_one_at_once_and_the_grid_goes_on(away: int) -> None:
    rounds = Rounds()

    async def lives() -> None:
        async with rounds.life() as host:
            caller = begin()
            await rest(host)
            await rounds.pass_time(host, HOUR, MINUTE)
            caller.cancel()
        rounds.away(timedelta(minutes=60 * away - 30))
        async with rounds.life() as host:
            await rounds.pass_time(host, 2 * HOUR, MINUTE)

    asyncio.run(lives())
    back = 60 + 60 * away - 30
    at_once = minutes(back) if away > 1 else []
    next_round = 60 * (away + 1)
    assert rounds.times("m round") == minutes(60) + at_once + minutes(next_round, next_round + 60)
    missed = [one.missed for one in rounds.ran("m round")]
    passed = away - 1
    stands_for = passed if passed > 1 else 0  # a single one only stands for itself
    assert missed == ([0, stands_for, 0, 0] if passed else [0, 0, 0])
    due = [one for one in rounds.ran("m round") if one.missed]
    assert [one.due for one in due] == [START + HOUR * away] * len(due)


def test_k13_an_hour_down_for_two_rounds_and_a_half() -> None:
    """The case as it stands: one round at once, and the next after half an hour."""
    rounds = Rounds()

    async def lives() -> None:
        async with rounds.life() as host:
            caller = begin()
            await rest(host)
            await rounds.pass_time(host, HOUR, MINUTE)
            caller.cancel()
        rounds.away(timedelta(hours=2.5))
        async with rounds.life() as host:
            assert rounds.times("m round") == minutes(60, 210)
            await rounds.pass_time(host, timedelta(minutes=29), MINUTE)
            assert len(rounds.ran("m round")) == 2, "the next round came early"
            await rounds.pass_time(host, MINUTE, MINUTE)
            assert rounds.times("m round") == minutes(60, 210, 240)

    asyncio.run(lives())
    assert [one.missed for one in rounds.ran("m round")] == [0, 2, 0]


def test_the_first_round_comes_after_one_period_and_each_on_the_grid() -> None:
    rounds = Rounds()

    async def life() -> int:
        async with rounds.life() as host:
            caller = begin(most=3)
            await rest(host)
            assert rounds.ran("m round") == []
            await rounds.pass_time(host, 4 * HOUR, timedelta(minutes=5))
            return await caller

    assert asyncio.run(life()) == 0
    assert rounds.dues("m round") == rounds.times("m round") == minutes(60, 120, 180)
    assert [one.missed for one in rounds.ran("m round")] == [0, 0, 0]


def test_c13_a_machine_that_slept_under_a_round_gives_one_round() -> None:
    rounds = Rounds()

    async def life() -> None:
        async with rounds.life() as host:
            caller = begin(timedelta(seconds=10))
            await rest(host)
            await rounds.pass_time(host, timedelta(seconds=20), timedelta(seconds=5))
            await rounds.pass_time(host, timedelta(minutes=78), timedelta(minutes=78))
            assert len(rounds.ran("m round")) == 3
            await rounds.pass_time(host, timedelta(seconds=10), timedelta(seconds=5))
            caller.cancel()

    asyncio.run(life())
    slept = 78 * 6
    assert [one.missed for one in rounds.ran("m round")] == [0, 0, slept, 0]
    last = timedelta(seconds=20 + 78 * 60)
    assert rounds.dues("m round")[2:] == [last, last + timedelta(seconds=10)]


def test_rounds_go_on_where_the_clock_was_set_back() -> None:
    """R19: never longer than was asked for, also if the clock was set back."""
    rounds = Rounds()

    async def lives() -> None:
        async with rounds.life() as host:
            caller = begin()
            await rest(host)
            await rounds.pass_time(host, timedelta(minutes=30), MINUTE)
            caller.cancel()
        rounds.clock.set_wall(rounds.clock.now_us() - 2 * 3600 * 1_000_000)
        async with rounds.life() as host:
            assert rounds.ran("m round") == []
            await rounds.pass_time(host, HOUR, MINUTE)

    asyncio.run(lives())
    assert len(rounds.ran("m round")) == 1


@pytest.mark.parametrize("period", [timedelta(0), timedelta(seconds=-1)], ids=["none", "less"])
def test_a_period_of_nothing_is_refused(period: timedelta) -> None:
    rounds = Rounds()

    async def life() -> None:
        async with rounds.life():
            with pytest.raises(AgentctlError, match="period"):
                await asyncio.wait_for(Many.ref("m").rounds(period, 3), 5)

    asyncio.run(life())
    assert rounds.ran("m round") == []


def test_rounds_are_for_handlers_only() -> None:
    async def outside() -> None:
        async for _ in every(HOUR):
            raise AssertionError("a round outside of a handler")

    with pytest.raises((AgentctlError, RuntimeError), match="handler"):
        asyncio.run(asyncio.wait_for(outside(), 5))


def test_an_instance_with_state_is_held_between_its_rounds() -> None:
    """R16: an event holds its instance while it sleeps; a schedule of it waits its turn."""
    rounds = Rounds()

    async def life() -> None:
        async with rounds.life() as host:
            slow = asyncio.ensure_future(One.ref("o").slow("x", 7200))
            await rest(host)
            await Many.ref("m").note("before")
            await One.ref("o").note.after(60)("waits")
            await rounds.pass_time(host, 3 * HOUR, timedelta(minutes=30))
            await slow

    asyncio.run(life())
    done = [one.what for one in rounds.ran("o ")]
    assert done == ["o begin x", "o end x", "o waits"]
