"""Whatever becomes of a schedule: each due time once, none early, the grid where it was."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

from cronsim import CronSim
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from agentctl.core.cron_times import clock_note, due_times, last_due_times
from agentctl.core.timetable import (
    MOST_AT_ONCE,
    ON_TIME_US,
    Run,
    Skip,
    begins_us,
    due_after,
    passed,
    plan,
    shift_us,
)
from agentctl.record_schedules import ScheduleRecord
from agentctl.times import to_us

SECOND = 1_000_000
MINUTE = 60 * SECOND
T = 1_741_500_000 * SECOND
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

periods = st.one_of(st.integers(1_000, 5 * SECOND), st.integers(10 * SECOND, 100 * MINUTE))
crons = st.sampled_from(
    ["* * * * *", "*/7 * * * *", "30 1-3 * * *", "0 * * * *", "15 2 * * 0", "45 1 * * *"]
)
zones = st.sampled_from(["UTC", "America/New_York", "Australia/Lord_Howe"])


@st.composite
def schedules(draw):
    policies = {
        "missed": draw(st.sampled_from(["coalesce", "skip", "all"])),
        "overlap": draw(st.sampled_from(["skip", "queue", "allow"])),
        "late": draw(st.none() | st.integers(0, 3 * 60 * MINUTE)),
        "seed": draw(st.text("ab", max_size=2)),
    }
    kind = draw(st.sampled_from(["period", "cron", "once"]))
    if kind == "period":
        period = draw(periods)
        jitter = draw(st.just(0) | st.integers(0, period - 1))
        return ScheduleRecord("s", due=T, period=period, jitter=jitter, **policies)
    jitter = draw(st.just(0) | st.integers(0, MINUTE - 1))
    if kind == "once":
        return ScheduleRecord("s", due=T, jitter=jitter, **policies)
    cron, tz = draw(crons), draw(zones)
    due = next(due_times(cron, tz, T))
    return ScheduleRecord("s", due=due, cron=cron, tz=tz, jitter=jitter, **policies)


waits = st.one_of(
    st.integers(0, 3 * SECOND), st.integers(-MINUTE, 3 * MINUTE), st.integers(0, 4 * 60 * MINUTE)
)
turns = st.lists(st.tuples(waits, st.booleans(), st.booleans()), min_size=1, max_size=8)


def stood_for(schedule, step):
    """The due times that a step answers for, by the grid."""
    count = step.count if isinstance(step, Skip) else max(1, step.missed)
    found = [step.due_us]
    if isinstance(step, Skip):
        while len(found) < count:
            found.append(due_after(replace(schedule, due=T), found[-1]))
        return found
    if schedule.period is not None:
        return [step.due_us - n * schedule.period for n in reversed(range(count))]
    if schedule.cron is not None and count > 1:
        return list(last_due_times(schedule.cron, schedule.tz, step.due_us, count))
    return found


def check_step(schedule, step, now):
    """What holds for each step on its own."""
    lateness = now - step.due_us - shift_us(schedule, step.due_us)
    assert lateness >= 0, "early"
    if isinstance(step, Run):
        assert schedule.late is None or lateness <= schedule.late
        return
    assert step.count > 0
    if step.why == "late":
        assert lateness > schedule.late
    elif step.why == "missed":
        begins = step.due_us + shift_us(schedule, step.due_us)
        another = step.next_us is not None and step.next_us <= now
        assert step.count > 1 or another or now - begins > ON_TIME_US
    else:
        assert (step.why, schedule.overlap) == ("overlap", "skip")


@settings(max_examples=300, deadline=None)
@given(schedules(), turns)
def test_each_due_time_is_answered_for_once_and_in_order(schedule, turns):
    now, since, first, answered = T, T, schedule.due, []
    for wait, busy, starts in turns:
        now += wait
        since = now if starts else min(since, now)
        steps = plan(schedule, now_us=now, since_us=since, busy=busy)
        assert bool(steps) == (begins_us(schedule) <= now)
        assert sum(isinstance(step, Run) for step in steps) <= MOST_AT_ONCE
        if not (busy and schedule.overlap == "skip") or not (schedule.period or schedule.cron):
            assert not any(isinstance(s, Skip) and s.why == "overlap" for s in steps)
        for step in steps:
            check_step(schedule, step, now)
            answered += stood_for(schedule, step)
            if step.next_us is None:
                assert answered == [first]
                return
            schedule = replace(schedule, due=step.next_us)
        assert not steps or begins_us(schedule) > now
    if schedule.period is not None:
        count = (schedule.due - first) // schedule.period
        grid = [first + n * schedule.period for n in range(count)]
        assert schedule.due == first + count * schedule.period
    elif schedule.cron is None:
        grid = []
    else:
        dues = due_times(schedule.cron, schedule.tz, first - 1)
        grid = list(takewhile(lambda due: due < schedule.due, dues))
    assert answered == grid


@settings(max_examples=100, deadline=None)
@given(schedules(), st.integers(-MINUTE, 600 * MINUTE))
def test_a_pause_passes_over_just_the_due_times_until_now(schedule, wait):
    now = T + wait
    count, due = passed(schedule, now)
    if schedule.period is None and schedule.cron is None:
        assert (count, due) == (0, schedule.due)
        return
    assert due > now
    assert count == max(0, len(list(takewhile(lambda one: one < due, _grid(schedule)))))


def _grid(schedule):
    due = schedule.due
    while due is not None:
        yield due
        due = due_after(schedule, due)


# Cron, against a clock that is read minute by minute

NIGHTS = [
    ("Europe/London", "2022-03-27"), ("Europe/London", "2022-10-30"),
    ("America/New_York", "2025-03-09"), ("America/New_York", "2025-11-02"),
    ("US/Pacific", "2026-03-08"), ("US/Pacific", "2026-11-01"),
    ("Europe/Berlin", "2024-03-31"), ("Europe/Berlin", "2024-10-27"),
    ("Australia/Lord_Howe", "2025-10-05"), ("Australia/Lord_Howe", "2026-04-05"),
    ("Africa/Cairo", "2024-04-26"), ("Asia/Beirut", "2025-10-26"),
    ("UTC", "2025-03-09"),
]  # fmt: skip


def _field(low, high):
    number = st.integers(low, high)
    ranges = st.tuples(number, number).map(lambda pair: f"{min(pair)}-{max(pair)}")
    listed = st.lists(number, min_size=1, max_size=3).map(lambda ones: ",".join(map(str, ones)))
    return st.one_of(st.just("*"), listed, ranges, st.integers(2, high).map(lambda n: f"*/{n}"))


expressions = st.tuples(
    _field(0, 59),
    st.one_of(_field(0, 23), _field(0, 4)),
    st.just("*") | _field(1, 31),
    st.just("*"),
    st.just("*") | _field(0, 6),
).map(" ".join)


def reference(cron, tz, start, end):
    """Walk through UTC minute by minute, and look at the zone's clock at each."""
    zone, sim = ZoneInfo(tz), CronSim(cron, datetime(2000, 1, 1))
    minute_field, hour_field = cron.split()[:2]
    both = "*" in (minute_field[0], hour_field[0])
    every_hour = len(sim.hours) == 24

    def named(wall):
        return wall.minute in sim.minutes and wall.hour in sim.hours and sim.match_day(wall.date())

    dues, seen, before = [], set(), None
    moment = start - timedelta(days=1)
    while moment < end:
        wall = moment.astimezone(zone).replace(tzinfo=None, fold=0)
        skipped = []
        if before is not None and wall > before + timedelta(minutes=1) and not every_hour:
            gap = int((wall - before) / timedelta(minutes=1))
            skipped = [before + timedelta(minutes=n) for n in range(1, gap)]
        if (named(wall) and (both or wall not in seen)) or any(map(named, skipped)):
            dues.append(moment)
        seen.add(wall)
        before = wall
        moment += timedelta(minutes=1)
    return [to_us(due - EPOCH) for due in dues if due >= start]


@settings(max_examples=150, deadline=None)
@given(expressions, st.sampled_from(NIGHTS), st.integers(0, MINUTE - 1))
@example("15 * * * *", ("Australia/Lord_Howe", "2025-10-05"), 0)
@example("45 * * * *", ("Australia/Lord_Howe", "2026-04-05"), 0)
@example("*/20 1,2 * * *", ("Australia/Lord_Howe", "2026-04-05"), 0)
@example("59 0-3 * * 0", ("Europe/Berlin", "2024-10-27"), 0)
def test_cron_is_due_when_a_clock_on_the_wall_says_so(cron, night, into):
    tz, day = night
    start = datetime.fromisoformat(day).replace(tzinfo=UTC) - timedelta(hours=26)
    end = start + timedelta(hours=56)
    expected = reference(cron, tz, start, end)
    after, end_us = to_us(start - EPOCH) - MINUTE + into, to_us(end - EPOCH)
    assert list(takewhile(lambda due: due < end_us, due_times(cron, tz, after))) == expected
    count = len(expected)
    if count:
        assert list(last_due_times(cron, tz, end_us - 1, count)) == expected
    for due in expected[::7]:  # wherever one begins
        later = [one for one in expected if one > due]
        found = takewhile(lambda due: due < end_us, due_times(cron, tz, due))
        assert list(found) == later
    if tz == "UTC":
        assert not any(clock_note(cron, tz, due) for due in expected)
