"""Rounds keep to their grid, whatever comes between them; backoff grows up to its cap."""

from __future__ import annotations

import asyncio
import math
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentctl import Agent, Occurrence, Tick, backoff, every, handler, occurrence, sleep
from agentctl.errors import AgentctlError, UsageError
from agentctl.sdk.execution import Fired
from agentctl.sdk.ops import TimerOp

from .fakes import START_US, FakeRun, in_handler

HOUR_US = 3600 * 1_000_000
START = datetime(2026, 1, 1, tzinfo=UTC)


class Bot(Agent):
    @handler
    async def rounds(self, period_us: int, count: int, work_us: int) -> list[Tick]:
        ticks = []
        async for tick in every(timedelta(microseconds=period_us)):
            ticks.append(tick)
            if len(ticks) == count:
                break
            if work_us:
                await sleep(timedelta(microseconds=work_us))
        return ticks


class Acting(Agent):
    @handler
    async def act(self) -> Any:
        return await self.acts(self)  # type: ignore[attr-defined]


def hours(*pairs: tuple[float, int]) -> list[Tick]:
    return [Tick(START + timedelta(hours=after), missed) for after, missed in pairs]


def test_rounds_come_one_period_apart_the_first_after_one():
    run = FakeRun(Bot, "rounds", HOUR_US, 3, 0)
    for _ in range(3):
        run.fire()
    assert run.result == hours((1, 0), (2, 0), (3, 0))
    assert [op.until_us - START_US for op in run.ops] == [HOUR_US, 2 * HOUR_US, 3 * HOUR_US]


def test_a_round_that_is_late_but_in_its_turn_missed_nothing_and_moves_no_other():
    run = FakeRun(Bot, "rounds", HOUR_US, 2, 0)
    run.fire(START_US + HOUR_US + HOUR_US // 3)
    run.fire()
    assert run.result == hours((1, 0), (2, 0))


def test_k13_down_for_two_rounds_and_a_half_one_round_at_once_and_the_next_after_half_an_hour():
    before = FakeRun(Bot, "rounds", HOUR_US, 3, 0)
    before.fire()
    before.loop.let_go()
    after = FakeRun(Bot, "rounds", HOUR_US, 3, 0, journal=before.journal)
    assert after.ops == before.ops
    after.fire(START_US + 3 * HOUR_US + HOUR_US // 2)
    (waits,) = after.open.values()
    assert waits.until_us == START_US + 4 * HOUR_US
    after.fire()
    assert after.result == hours((1, 0), (3, 2), (4, 0))


def test_rounds_that_passed_while_the_handler_worked_are_one():
    run = FakeRun(Bot, "rounds", HOUR_US, 3, 2 * HOUR_US + 1)
    for _ in range(3):
        run.fire()
    assert run.result == hours((1, 0), (3, 2), (5, 2))


@given(
    period_us=st.integers(1, 10**16),
    late=st.lists(st.integers(0, 10**17), min_size=1, max_size=6),
    cut=st.integers(0, 5),
)
def test_due_times_stay_on_the_grid_to_the_microsecond_also_over_a_restart(period_us, late, cut):
    run = FakeRun(Bot, "rounds", period_us, len(late), 0)
    for at in late[:cut]:
        run.fire(START_US + at)
    if len(late) > cut:
        run.loop.let_go()
        again = FakeRun(Bot, "rounds", period_us, len(late), 0, journal=run.journal)
        assert again.ops == run.ops
        run = again
        for at in late[cut:]:
            run.fire(START_US + at)
    assert all(
        isinstance(op, TimerOp) and (op.until_us - START_US) % period_us == 0 for op in run.ops
    )
    over = 0
    for tick, (_, _, at_us) in zip(run.result, run.journal, strict=True):
        passed, rest = divmod((tick.due - START) // timedelta(microseconds=1), period_us)
        assert rest == 0
        assert passed == (at_us - START_US) // period_us
        assert tick.missed == (0 if passed - over == 1 else passed - over)
        over = passed


def test_rounds_can_be_left_early_and_run_in_tasks_side_by_side():
    async def act(_self):
        async def first(seconds):
            async with aclosing(every(timedelta(seconds=seconds))) as rounds:
                async for tick in rounds:
                    return tick.due
            raise AssertionError("rounds never end by themselves")

        async with asyncio.timeout(5):
            return await asyncio.gather(first(1), first(2))

    run = in_handler(Acting, act)
    ends = {op.path: op.until_us for op in run.ops}
    for path in sorted(ends, key=ends.__getitem__)[:2]:
        run.deliver(path, Fired(), ends[path])
    assert run.result == [START + timedelta(seconds=1), START + timedelta(seconds=2)]
    assert run.open == {}


def test_a_cancelled_round_takes_its_timer_back():
    async def act(_self):
        rounds = every(timedelta(seconds=9))
        waits = asyncio.create_task(anext(rounds))
        await asyncio.sleep(0)
        waits.cancel()
        await asyncio.wait({waits})
        await rounds.aclose()
        return "closed"

    run = in_handler(Acting, act)
    assert run.result == "closed"
    assert run.dropped == [op.path for op in run.ops]


@pytest.mark.parametrize(
    "period", [0, 60, 1.5, None, timedelta(0), timedelta(seconds=-1), timedelta.max, "1h"]
)
def test_a_period_is_a_timedelta_above_zero(period):
    async def act(_self):
        every(period)

    with pytest.raises(UsageError, match="the period is"):
        _ = in_handler(Acting, act).result


def test_outside_a_handler_there_are_no_rounds_and_no_occurrence():
    with pytest.raises(AgentctlError, match=r"every\(\) works in a handler"):
        every(timedelta(hours=1))
    with pytest.raises(AgentctlError, match=r"occurrence\(\) works in a handler"):
        occurrence()


def test_an_event_of_a_schedule_knows_when_it_was_due():
    async def act(_self):
        return occurrence()

    assert in_handler(Acting, act).result is None
    found = in_handler(Acting, act, occurrence=(START_US + HOUR_US, 3)).result
    assert found == Occurrence(START + timedelta(hours=1), 3)


def test_g8_the_delay_doubles_up_to_its_cap():
    delays = [backoff(60, failures, cap=3600) for failures in range(1, 9)]
    assert delays == [120, 240, 480, 960, 1920, 3600, 3600, 3600]
    assert backoff(60, 0, cap=3600) == 60
    assert isinstance(backoff(60, 0, cap=3600), float)


def test_a_delay_overflows_into_its_cap():
    for failures in (2000, 10**9, 10**400):
        assert backoff(1, failures, cap=30) == 30
        assert backoff(1e300, failures, cap=30) == 30
        assert backoff(0, failures, cap=30) == 0
        assert backoff(5, failures, cap=30, factor=1) == 5
    assert backoff(9, 0, cap=3) == 3


@pytest.mark.parametrize(
    ("base", "failures", "options"),
    [
        (-1, 1, {"cap": 9}),
        (math.nan, 1, {"cap": 9}),
        (math.inf, 1, {"cap": 9}),
        (1, -1, {"cap": 9}),
        (1, 1, {"cap": -1}),
        (1, 1, {"cap": math.nan}),
        (1, 1, {"cap": math.inf}),
        (1, 1, {"cap": 9, "factor": 0.5}),
        (1, 1, {"cap": 9, "factor": math.nan}),
    ],
)
def test_numbers_that_make_no_delay_are_refused(base, failures, options):
    with pytest.raises(UsageError, match="backoff: "):
        backoff(base, failures, **options)
