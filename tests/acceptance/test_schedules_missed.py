"""Due times in which no program ran, by each policy (C2, C10, C13), on a fake clock."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from agentctl import MissedRun

from .rota import said
from .rounds import HOUR, Many, One, Rounds, minutes, rest, seconds

SECOND = timedelta(seconds=1)
DOWN = timedelta(seconds=10.5)


def downtime(missed: str, down: timedelta = DOWN, agent: type[One] | type[Many] = One) -> Rounds:
    """A second's schedule, its program down for so long from the first run on; two seconds more."""
    rounds = Rounds()

    async def lives() -> None:
        async with rounds.life() as host:
            await agent.ref("a").note.every(SECOND, name="tick", missed=missed)("x")  # type: ignore[arg-type]
            await rounds.pass_time(host, SECOND, SECOND)
            assert rounds.times() == seconds(1)
        rounds.away(down)
        async with rounds.life() as host:
            await rounds.pass_time(host, timedelta(seconds=2), timedelta(seconds=0.5))

    asyncio.run(lives())
    return rounds


@pytest.mark.parametrize("agent", [One, Many])
def test_c2_coalesce_is_one_run_at_start_that_stands_for_all(agent: type[One] | type[Many]) -> None:
    rounds = downtime("coalesce", agent=agent)
    assert rounds.times() == seconds(1, 11.5, 12, 13)
    assert rounds.dues() == seconds(1, 11, 12, 13)
    assert [one.missed for one in rounds.ran()] == [0, 10, 0, 0]
    lines = rounds.audit(agent.__name__, "missed")
    assert len(lines) == 1, f"not one line: {lines}"
    assert said(lines, 10), f"no line says that 10 were missed: {lines}"
    assert f" {agent.__name__}/a missed: " in lines[0]


def test_c2_coalesce_is_what_a_schedule_does_that_says_nothing() -> None:
    rounds = Rounds()

    async def lives() -> None:
        async with rounds.life():
            await One.ref("a").note.every(SECOND, name="tick")("x")
        rounds.away(DOWN)
        async with rounds.life() as host:
            await rounds.pass_time(host, SECOND / 2, SECOND / 2)

    asyncio.run(lives())
    assert rounds.times() == seconds(10.5, 11)
    assert [one.missed for one in rounds.ran()] == [10, 0]


def test_c2_skip_runs_none_of_them() -> None:
    rounds = downtime("skip")
    assert rounds.times() == rounds.dues() == seconds(1, 12, 13)
    assert [one.missed for one in rounds.ran()] == [0, 0, 0]
    lines = rounds.audit("One", "missed")
    assert len(lines) == 1, f"not one line: {lines}"
    assert said(lines, 10), f"no line says that 10 were missed: {lines}"


@pytest.mark.parametrize("agent", [One, Many])
def test_c2_all_runs_each_with_its_own_due_time(agent: type[One] | type[Many]) -> None:
    rounds = downtime("all", agent=agent)
    assert sorted(one for one in rounds.dues() if one) == seconds(*range(1, 14))
    if agent is One:
        assert rounds.dues() == seconds(*range(1, 14)), "one at a time, but not in their order"
    at_once = [one for one in rounds.times() if one == timedelta(seconds=11.5)]
    assert len(at_once) == 10


def test_c2_all_is_at_most_the_last_100() -> None:
    rounds = downtime("all", timedelta(seconds=250.5))
    late = rounds.dues()[1:-2]
    assert late == seconds(*range(152, 252)), f"{len(late)} runs, {late[:1]} to {late[-1:]}"
    assert said(rounds.audit("One", "missed"), 150, 250), "the 150 that don't run aren't on record"


@pytest.mark.parametrize("missed", ["coalesce", "skip", "all"])
def test_c2_a_downtime_in_which_nothing_fell_due_is_no_miss(missed: str) -> None:
    rounds = downtime(missed, SECOND / 2)
    assert rounds.times() == rounds.dues() == seconds(1, 2, 3)
    assert [one.missed for one in rounds.ran()] == [0, 0, 0]
    assert rounds.audit("One", "missed") == []


@pytest.mark.parametrize("missed", ["coalesce", "skip", "all"])
def test_c2_a_start_a_moment_after_a_single_due_time_keeps_it(missed: str) -> None:
    """A deploy at nine costs no policy its report."""
    rounds = downtime(missed, timedelta(seconds=1.5))
    assert rounds.times() == seconds(1, 2.5, 3, 4)
    assert rounds.dues() == seconds(1, 2, 3, 4)
    assert [one.missed for one in rounds.ran()] == [0, 0, 0, 0]


@pytest.mark.parametrize("missed", ["coalesce", "skip", "all"])
def test_c2_the_grid_never_moves_over_many_downtimes(missed: str) -> None:
    rounds = Rounds()

    async def lives() -> None:
        async with rounds.life():
            await One.ref("a").note.every(timedelta(seconds=7), name="t", missed=missed)("x")  # type: ignore[arg-type]
        for down in (0.5, 30.25, 3, 100.75, 13.5, 61, 7):
            rounds.away(timedelta(seconds=down))
            async with rounds.life() as host:
                await rounds.pass_time(host, timedelta(seconds=15), timedelta(seconds=0.25))

    asyncio.run(lives())
    dues = [one for one in rounds.dues() if one is not None]
    assert len(dues) >= 14
    assert len(set(dues)) == len(dues), "an occurrence ran twice"
    assert {due % timedelta(seconds=7) for due in dues} == {timedelta(0)}
    assert all(due <= at for due, at in zip(dues, rounds.times(), strict=True)), "one was early"


def test_c2_what_a_cron_missed_is_one_too() -> None:
    rounds = Rounds()

    async def lives() -> None:
        async with rounds.life():
            await One.ref("a").note.cron("0 * * * *", tz="UTC", name="hourly")("x")
        rounds.away(10.5 * HOUR)
        async with rounds.life() as host:
            await rounds.pass_time(host, HOUR, timedelta(minutes=30))

    asyncio.run(lives())
    assert rounds.times() == minutes(630, 660)
    assert rounds.dues() == minutes(600, 660)
    assert [one.missed for one in rounds.ran()] == [10, 0]


# -- later than max_late


@pytest.mark.parametrize("name", [None, "late"], ids=["single", "named"])
def test_c10_what_is_later_than_it_may_be_is_missed_on_record(name: str | None) -> None:
    rounds = Rounds()

    async def lives() -> None:
        async with rounds.life():
            await One.ref("a").note.after(60, name=name, max_late=HOUR)("late")
        rounds.away(timedelta(days=25))
        async with rounds.life() as host:
            await rounds.pass_time(host, HOUR, timedelta(minutes=30))
        async with rounds.life() as host:
            await rest(host)

    asyncio.run(lives())
    assert rounds.ran() == []
    lines = rounds.audit("One", "missed")
    assert len(lines) == 1, f"not one line: {lines}"
    assert (
        b'"missed"' in rounds.world.journals["One"] or b'"skipped"' in rounds.world.journals["One"]
    )


def test_c10_the_outcome_of_a_missed_one_is_an_error_of_its_own() -> None:
    rounds = Rounds()

    async def again() -> str:
        return await (await One.ref("a").note.trigger(key="k")("late")).result()

    async def lives() -> None:
        async with rounds.life():
            await One.ref("a").note.after(60, max_late=HOUR, key="k")("late")
        rounds.away(timedelta(days=25))
        async with rounds.life():
            with pytest.raises(MissedRun):
                await asyncio.wait_for(again(), 5)

    asyncio.run(lives())
    assert rounds.ran() == []


@pytest.mark.parametrize("name", [None, "late"], ids=["single", "named"])
def test_c10_what_is_late_but_no_later_than_it_may_be_runs(name: str | None) -> None:
    rounds = Rounds()

    async def lives() -> None:
        async with rounds.life():
            await One.ref("a").note.after(60, name=name, max_late=HOUR)("late")
            await One.ref("b").note.after(60, name=name)("any")
        rounds.away(timedelta(minutes=60))
        async with rounds.life() as host:
            await rest(host)

    asyncio.run(lives())
    assert sorted(one.what for one in rounds.ran()) == ["a late", "b any"]


def test_c10_without_a_limit_25_days_late_still_runs_once() -> None:
    rounds = Rounds()

    async def lives() -> None:
        async with rounds.life():
            await One.ref("a").note.after(60)("single")
            await One.ref("b").note.after(60, name="named")("named")
        rounds.away(timedelta(days=25))
        async with rounds.life() as host:
            await rest(host)
        async with rounds.life() as host:
            await rest(host)

    asyncio.run(lives())
    assert sorted(one.what for one in rounds.ran()) == ["a single", "b named"]
    assert rounds.dues() == seconds(60, 60)


def test_c10_a_recurring_one_misses_what_is_too_late_and_goes_on() -> None:
    rounds = Rounds()

    async def lives() -> None:
        async with rounds.life():
            every = One.ref("a").note.every(timedelta(days=1), name="daily", max_late=HOUR)
            await every("x")
        rounds.away(timedelta(days=25, hours=2))
        async with rounds.life() as host:
            assert rounds.ran() == [], "a run that is two hours late, and may be one"
            await rounds.pass_time(host, timedelta(hours=22), HOUR)

    asyncio.run(lives())
    assert rounds.times() == rounds.dues() == [timedelta(days=26)]
    assert said(rounds.audit("One", "missed"), 25)


# -- a machine that slept


@pytest.mark.parametrize("agent", [One, Many])
def test_c13_a_machine_that_slept_gives_one_run_that_says_how_many(
    agent: type[One] | type[Many],
) -> None:
    rounds = Rounds()
    ten = timedelta(seconds=10)

    async def life() -> None:
        async with rounds.life() as host:
            await agent.ref("a").note.every(ten, name="tick")("x")
            await rounds.pass_time(host, 2 * ten, ten)
            await rounds.pass_time(host, timedelta(minutes=78), timedelta(minutes=78))
            assert len(rounds.ran()) == 3, f"not one run: {len(rounds.ran()) - 2}"
            await rounds.pass_time(host, 2 * ten, ten)

    asyncio.run(life())
    woke = 20 + 78 * 60
    assert rounds.dues() == seconds(10, 20, woke, woke + 10, woke + 20)
    assert [one.missed for one in rounds.ran()] == [0, 0, 468, 0, 0]
    assert said(rounds.audit(agent.__name__, "missed"), 468)


def test_c13_skip_and_all_hold_for_a_machine_that_slept_too() -> None:
    rounds = Rounds()
    ten = timedelta(seconds=10)

    async def life() -> None:
        async with rounds.life() as host:
            await One.ref("skip").note.every(ten, name="tick", missed="skip")("x")
            await One.ref("all").note.every(ten, name="tick", missed="all")("x")
            await rounds.pass_time(host, ten, ten)
            await rounds.pass_time(host, timedelta(seconds=55), timedelta(seconds=55))
            await rounds.pass_time(host, timedelta(seconds=5), timedelta(seconds=5))

    asyncio.run(life())
    # The one at 60 is late, but the machine didn't sleep past the next one.
    assert rounds.dues("skip") in (seconds(10, 70), seconds(10, 60, 70))
    assert rounds.dues("all") == seconds(10, 20, 30, 40, 50, 60, 70)


def test_c13_a_clock_set_forward_while_it_waits_fires_once() -> None:
    """R19: what a suspended machine's other clock shows, which stood still meanwhile."""
    rounds = Rounds()
    ten = timedelta(seconds=10)

    async def life() -> None:
        async with rounds.life() as host:
            await One.ref("a").note.every(ten, name="tick")("x")
            await rounds.pass_time(host, ten, ten)
            rounds.clock.set_wall(rounds.clock.now_us() + 78 * 60 * 1_000_000)
            await rounds.pass_time(host, ten, ten)
            assert len(rounds.ran()) == 2, "a burst, or nothing"
            await rounds.pass_time(host, 2 * ten, ten)

    asyncio.run(life())
    dues = rounds.dues()
    assert len(dues) == 4
    assert all(due is not None and due % ten == timedelta(0) for due in dues), "the grid moved"
    assert sum(one.missed for one in rounds.ran()) >= 467


def test_a_clock_set_back_runs_no_occurrence_twice() -> None:
    rounds = Rounds()

    async def lives() -> None:
        async with rounds.life() as host:
            await One.ref("a").note.every(HOUR, name="tick")("x")
            await rounds.pass_time(host, 3 * HOUR, timedelta(minutes=30))
        rounds.clock.set_wall(rounds.clock.now_us() - 2 * 3600 * 1_000_000)
        async with rounds.life() as host:
            await rounds.pass_time(host, 4 * HOUR, timedelta(minutes=30))

    asyncio.run(lives())
    dues = rounds.dues()
    assert len(set(dues)) == len(dues) >= 4, f"an occurrence ran twice: {dues}"
    assert all(due is not None and due % HOUR == timedelta(0) for due in dues)
    assert all(one.due is not None and one.due <= one.at for one in rounds.ran())
