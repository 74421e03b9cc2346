"""R18: when schedules are due, and what becomes of due times that have passed."""

from __future__ import annotations

from itertools import pairwise

import pytest
from msgspec import Raw

from agentctl.core.timetable import (
    MOST_AT_ONCE,
    MOST_COUNTED,
    ON_TIME_US,
    Run,
    Skip,
    Upcoming,
    begins_us,
    due_after,
    first_due,
    passed,
    plan,
    same,
    shift_us,
    upcoming,
)
from agentctl.core.timing import Timing
from agentctl.errors import UsageError
from agentctl.record_schedules import ScheduleRecord
from agentctl.times import LAST_INSTANT_US

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
T = 1_741_500_000 * SECOND  # 2025-03-09T06:00:00Z, 01:00 in New York on the night of the change


def once(**more):
    return ScheduleRecord(**{"schedule": "s", "due": T, "seed": "ab"} | more)


def every(period=MINUTE, **more):
    return once(period=period, **more)


def cron(expression="0 9 * * *", tz="UTC", **more):
    return once(cron=expression, tz=tz, **more)


def planned(schedule, now, *, since=0, busy=False):
    return list(plan(schedule, now_us=now, since_us=since, busy=busy))


# When


def test_the_first_due_time_is_what_was_asked_for_or_follows_from_now():
    assert first_due(Timing(), T) == T
    assert first_due(Timing(due_us=5), T) == 5
    assert first_due(Timing(period_us=MINUTE), T) == T + MINUTE
    assert first_due(Timing(period_us=MINUTE, due_us=T + 1), T) == T + 1
    assert first_due(Timing(period_us=MINUTE, due_us=T), T) == T
    assert first_due(Timing(period_us=MINUTE, due_us=T - 1), T) == T + MINUTE - 1
    assert first_due(Timing(period_us=MINUTE, due_us=T - 90 * MINUTE - 1), T) == T + MINUTE - 1
    assert first_due(Timing(period_us=MINUTE, due_us=T - 90 * MINUTE), T) == T
    assert first_due(Timing(cron="0 9 * * *", tz="UTC"), T) == T + 3 * HOUR
    assert first_due(Timing(cron="0 6 * * *", tz="UTC"), T) == T + DAY


def test_what_is_first_due_after_the_last_year_is_refused():
    for timing in (Timing(period_us=MINUTE), Timing(cron="* * * * *", tz="UTC")):
        with pytest.raises(UsageError, match="after the year 9999"):
            first_due(timing, LAST_INSTANT_US - SECOND)


def test_a_grid_goes_forward_from_the_first_due_time():
    schedule = every()
    assert due_after(schedule, T - DAY) == T
    assert due_after(schedule, T - 1) == T
    assert due_after(schedule, T) == T + MINUTE
    assert due_after(schedule, T + MINUTE - 1) == T + MINUTE
    assert due_after(schedule, T + 1000 * MINUTE + 1) == T + 1001 * MINUTE
    assert due_after(schedule, LAST_INSTANT_US) is None
    assert due_after(once(), 0) is None
    assert due_after(cron("0 9 * * *"), T) == T + 3 * HOUR
    assert due_after(cron("0 9 * * *"), LAST_INSTANT_US) is None


def test_the_shift_of_an_occurrence_is_drawn_once_and_stays_within_the_jitter():
    schedule = every(jitter=1000)
    shifts = {shift_us(schedule, T + n * MINUTE) for n in range(300)}
    assert min(shifts) >= 0
    assert max(shifts) <= 1000
    assert len(shifts) > 200
    # The same in each process, on each version of Python: a restart doesn't draw again.
    assert [shift_us(schedule, T + n) for n in range(3)] == [937, 138, 702]
    assert begins_us(schedule) == T + 937
    assert shift_us(every(jitter=1000, seed="other"), T) != 937
    assert shift_us(every(), T) == 0


# What becomes of those that have passed


def test_one_in_its_turn_runs():
    for policy in ("coalesce", "skip", "all"):
        schedule = every(missed=policy)
        assert planned(schedule, T) == [Run(T, 0, T + MINUTE)]
        assert planned(schedule, T + MINUTE - 1) == [Run(T, 0, T + MINUTE)]
        assert planned(schedule, T - 1) == []


def test_c2_a_second_s_grid_after_ten_seconds_and_a_half_down():
    schedule = every(SECOND)
    now = T + 9 * SECOND + SECOND // 2
    assert planned(schedule, now, since=now) == [Run(T + 9 * SECOND, 10, T + 10 * SECOND)]


def test_c13_78_minutes_asleep_under_a_ten_second_schedule_are_one_run():
    schedule = every(10 * SECOND)
    now = T + 78 * MINUTE + 3
    last = T + 78 * MINUTE
    assert planned(schedule, now) == [Run(last, 469, last + 10 * SECOND)]


def test_c10_one_that_is_due_once_and_too_late_is_dropped():
    assert planned(once(late=HOUR), T + 25 * DAY) == [Skip(T, 1, "late", None)]
    assert planned(once(late=HOUR), T + HOUR) == [Run(T, 0, None)]
    assert planned(once(late=0), T) == [Run(T, 0, None)]


@pytest.mark.parametrize("policy", ["coalesce", "skip", "all"])
def test_what_is_due_once_is_never_missed_nor_in_anybody_s_way(policy):
    schedule = once(missed=policy, overlap="skip")
    assert planned(schedule, T + DAY, since=T + DAY, busy=True) == [Run(T, 0, None)]


def test_missed_is_what_begins_more_than_a_minute_late_or_after_the_next_was_due():
    schedule = every(HOUR, missed="skip")
    ran, gone = [Run(T, 0, T + HOUR)], [Skip(T, 1, "missed", T + HOUR)]
    assert planned(schedule, T + 5, since=T) == ran
    assert planned(schedule, T + 5, since=T + 1) == ran, "a start just after it keeps it"
    assert planned(schedule, T + ON_TIME_US) == ran
    assert planned(schedule, T + ON_TIME_US + 1) == gone
    assert planned(every(HOUR), T + 5, since=T + 1) == [Run(T, 0, T + HOUR)]


def test_the_missed_ones_are_skipped_and_the_one_in_its_turn_runs():
    schedule = every(missed="skip")
    now = T + 3 * MINUTE + 5
    assert planned(schedule, now) == [
        Skip(T, 3, "missed", T + 3 * MINUTE),
        Run(T + 3 * MINUTE, 0, T + 4 * MINUTE),
    ]
    assert planned(schedule, now, since=now) == [Skip(T, 4, "missed", T + 4 * MINUTE)]


def test_all_of_them_run_but_at_most_the_last_hundred():
    schedule = every(missed="all")
    dues = [T + n * MINUTE for n in range(252)]
    assert planned(schedule, dues[2]) == [Run(due, 0, after) for due, after in pairwise(dues[:4])]
    steps = planned(schedule, dues[250])
    assert steps[0] == Skip(T, 151, "missed", dues[151])
    assert steps[1:] == [Run(dues[n], 0, dues[n + 1]) for n in range(151, 251)]
    assert len(steps) == 1 + MOST_AT_ONCE


def test_those_that_are_too_late_go_first_and_the_rest_by_the_policy():
    now = T + 10 * MINUTE
    late = Skip(T, 8, "late", T + 8 * MINUTE)
    assert planned(every(late=2 * MINUTE), now) == [late, Run(now, 3, now + MINUTE)]
    assert planned(every(late=2 * MINUTE, missed="skip"), now) == [
        late,
        Skip(T + 8 * MINUTE, 2, "missed", now),
        Run(now, 0, now + MINUTE),
    ]
    assert planned(every(HOUR, late=SECOND), now) == [Skip(T, 1, "late", T + HOUR)]


def test_under_an_earlier_one_that_still_runs_nothing_begins():
    now = T + 3 * MINUTE
    follow = now + MINUTE
    assert planned(every(), T, busy=True) == [Skip(T, 1, "overlap", T + MINUTE)]
    assert planned(every(), now, busy=True) == [Skip(T, 4, "overlap", follow)]
    assert planned(every(missed="all"), now, busy=True) == [Skip(T, 4, "overlap", follow)]
    assert planned(every(missed="skip"), now, busy=True) == [
        Skip(T, 3, "missed", now),
        Skip(now, 1, "overlap", follow),
    ]
    missed = planned(every(missed="skip"), now, since=now + 1, busy=True)
    assert missed == [Skip(T, 4, "missed", follow)]


@pytest.mark.parametrize("overlap", ["queue", "allow"])
def test_where_overlapping_is_wanted_it_is_in_nobody_s_way(overlap):
    schedule = every(overlap=overlap)
    assert planned(schedule, T, busy=True) == [Run(T, 0, T + MINUTE)]


def test_none_begins_before_its_shift():
    schedule = every(jitter=MINUTE - 1)
    begin = begins_us(schedule)
    assert planned(schedule, begin - 1) == []
    assert planned(schedule, begin) == [Run(T, 0, T + MINUTE)]
    second = T + MINUTE + shift_us(schedule, T + MINUTE)
    assert planned(schedule, second - 1, since=T)[0].due_us == T
    assert planned(schedule, second) == [Run(T + MINUTE, 2, T + 2 * MINUTE)]


def test_the_last_due_time_of_all_has_none_after_it():
    due = LAST_INSTANT_US - 5
    assert planned(every(due=due), due) == [Run(due, 0, None)]


# Cron


def test_c9_the_run_for_a_missing_time_says_so():
    schedule = cron("30 2 * * *", "America/New_York", due=T + HOUR)
    note = "02:30 isn't there on 2025-03-09 in America/New_York: it runs at 03:00"
    after = T + HOUR + 23 * HOUR + 30 * MINUTE
    assert planned(schedule, T + HOUR) == [Run(T + HOUR, 0, after, note)]
    assert upcoming(schedule, after_us=T, count=2) == [
        Upcoming(T + HOUR, note),
        Upcoming(after, None),
    ]


def test_missed_ones_of_a_cron_expression_are_counted():
    schedule = cron("*/10 * * * *", missed="skip")
    now = T + 3 * HOUR + MINUTE // 2
    assert planned(schedule, now) == [
        Skip(T, 18, "missed", T + 3 * HOUR),
        Run(T + 3 * HOUR, 0, T + 3 * HOUR + 10 * MINUTE),
    ]


def test_very_many_missed_ones_are_not_all_counted_and_the_last_ones_run():
    now = T + 365 * DAY
    (step,) = planned(cron("* * * * *"), now, since=now + 1)
    assert step == Run(now, MOST_COUNTED, now + MINUTE)
    first, *runs = planned(cron("* * * * *", missed="all"), now)
    assert first == Skip(T, MOST_COUNTED - MOST_AT_ONCE, "missed", runs[0].due_us)
    assert [run.due_us for run in runs] == [now - n * MINUTE for n in reversed(range(100))]
    assert passed(cron("* * * * *"), now) == (MOST_COUNTED, now + MINUTE)


def test_what_just_passes_the_count_is_counted_in_full():
    count = MOST_COUNTED - MOST_AT_ONCE + 5
    now = T + (count - 1) * MINUTE
    assert planned(cron("* * * * *"), now) == [Run(now, count, now + MINUTE)]


# Pauses, the same again, what is to come


def test_a_pause_ends_at_the_next_due_time():
    assert passed(every(), T + 5 * MINUTE) == (6, T + 6 * MINUTE)
    assert passed(every(), T - 1) == (0, T)
    assert passed(once(), T + DAY) == (0, T)
    assert passed(cron("0 9 * * *", due=T + 3 * HOUR), T + 3 * DAY) == (3, T + 3 * DAY + 3 * HOUR)
    # Nothing follows: as with one that is due once.
    assert passed(every(LAST_INSTANT_US), T + DAY) == (0, T)


def test_the_same_again_is_the_same_whatever_the_grid_follows_from():
    schedule = every(args=Raw(b'[{"a":1,"b":2}]'))
    again = every(args=Raw(b'[ {"b":2,"a":1} ]'), kwargs=Raw(b"{}"), due=T + 5, seed="z", by="ana")
    assert same(schedule, again, anchored=False)
    assert not same(schedule, again, anchored=True)
    assert same(schedule, every(args=again.args, due=T - 7 * MINUTE), anchored=True)
    assert same(cron(), cron(due=T + 9), anchored=True)
    assert same(once(), once(), anchored=False)
    assert not same(once(), once(due=T + 1), anchored=False)


@pytest.mark.parametrize(
    "other",
    [
        {"handler": "h"}, {"key": "k"}, {"period": 7}, {"period": None}, {"missed": "all"},
        {"overlap": "allow"}, {"jitter": 1}, {"late": 0}, {"args": Raw(b"[1]")},
        {"args": Raw(b"[1.0]")}, {"args": Raw(b"[true]")}, {"kwargs": Raw(b'{"a":null}')},
        {"cron": "0 9 * * *", "tz": "UTC", "period": None},
    ],
)  # fmt: skip
def test_anything_else_is_another_schedule(other):
    schedules = [every(), every(**other), every(args=Raw(b"[2]"))]
    assert [same(schedules[1], one, anchored=False) for one in schedules] == [False, True, False]


def test_one_zone_or_another_is_another_schedule():
    assert not same(cron(), cron(tz="Europe/Berlin"), anchored=False)


def test_what_is_to_come():
    assert [one.due_us for one in upcoming(every(), after_us=T, count=2)] == [
        T + MINUTE,
        T + 2 * MINUTE,
    ]
    assert upcoming(once(), after_us=0, count=9) == [Upcoming(T)]
    assert upcoming(once(), after_us=T, count=9) == []
    assert upcoming(every(), after_us=T, count=0) == []
    hourly = upcoming(cron("0 * * * *", due=T), after_us=T - DAY, count=2)
    assert [one.due_us for one in hourly] == [T, T + HOUR]
