"""When cron expressions are due: each wall time once, but on nights when the clocks change."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from zoneinfo import ZoneInfo

import pytest

from agentctl.core.cron_times import clock_note, due_times, last_due_times
from agentctl.errors import UsageError
from agentctl.times import LAST_INSTANT_US, to_us

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def us(text):
    """Read `2025-03-09T07:00Z`."""
    return to_us(datetime.fromisoformat(text) - EPOCH)


def shown(due_us):
    return datetime.fromtimestamp(due_us / 1e6, UTC).strftime("%Y-%m-%dT%H:%MZ")


def dues(cron, tz, after, count=3):
    return [shown(due) for due in islice(due_times(cron, tz, us(after)), count)]


def on_day(cron, tz, day):
    """The due times that fall on a day of the zone's calendar, and their notes."""
    start = datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(tz))
    end = start.replace(hour=23, minute=59, second=59)
    found = []
    for due in due_times(cron, tz, to_us(start - EPOCH) - 1):
        if due > to_us(end - EPOCH):
            return found
        found.append((shown(due)[11:], clock_note(cron, tz, due)))
    return found


def test_c8_a_daily_time_that_comes_twice_runs_once():
    night = on_day("30 1 * * *", "Europe/London", "2022-10-30")
    note = "01:30 comes twice on 2022-10-30 in Europe/London: it runs once"
    assert night == [("00:30Z", note)]
    assert dues("30 1 * * *", "Europe/London", "2022-10-29T12:00Z", 2) == [
        "2022-10-30T00:30Z",
        "2022-10-31T01:30Z",
    ]


def test_c8_an_hourly_one_runs_in_both_hours():
    found = dues("0 * * * *", "US/Pacific", "2026-11-01T07:00Z")
    assert found == ["2026-11-01T08:00Z", "2026-11-01T09:00Z", "2026-11-01T10:00Z"]
    note = "01:00 comes twice on 2026-11-01 in US/Pacific: it runs both times"
    notes = [clock_note("0 * * * *", "US/Pacific", us(due)) for due in found]
    assert notes == [note, note, None]


def test_c9_the_day_of_the_change_keeps_its_wall_time():
    assert dues("4 16 * * *", "America/New_York", "2025-03-09T05:00Z", 1) == ["2025-03-09T20:04Z"]


def test_c9_a_time_that_is_missing_runs_once_at_the_first_valid_moment_and_says_so():
    note = "02:30 isn't there on 2025-03-09 in America/New_York: it runs at 03:00"
    assert on_day("30 2 * * *", "America/New_York", "2025-03-09") == [("07:00Z", note)]
    assert dues("30 2 * * *", "America/New_York", "2025-03-08T12:00Z", 2) == [
        "2025-03-09T07:00Z",
        "2025-03-10T06:30Z",
    ]


@pytest.mark.parametrize(
    ("cron", "tz", "day", "times"),
    [
        # each quarter of the missing hour: once, together
        ("*/15 2 * * *", "America/New_York", "2025-03-09", ["07:00Z"]),
        ("0,30 2,3 * * *", "America/New_York", "2025-03-09", ["07:00Z", "07:30Z"]),
        # half of an hour is missing; half of one comes twice
        ("15 2 * * *", "Australia/Lord_Howe", "2025-10-05", ["15:30Z"]),
        ("45 1 * * *", "Australia/Lord_Howe", "2025-04-06", ["14:45Z"]),
        ("45 0-3 * * *", "Australia/Lord_Howe", "2025-04-06",
         ["13:45Z", "14:45Z", "16:15Z", "17:15Z"]),
        ("*/30 1,2 * * *", "Australia/Lord_Howe", "2025-04-06",
         ["14:00Z", "14:30Z", "15:00Z", "15:30Z", "16:00Z"]),
        # clocks are set forward at midnight: the day begins at one
        ("0 0 * * *", "Africa/Cairo", "2024-04-26", ["22:00Z"]),
        ("30 0 * * *", "Asia/Beirut", "2025-03-30", ["22:00Z"]),
        # clocks are set back at midnight: the last hour of the day comes twice
        ("30 23 * * *", "Asia/Beirut", "2025-10-25", ["20:30Z"]),
    ],
)  # fmt: skip
def test_nights_on_which_clocks_change(cron, tz, day, times):
    assert [time for time, _ in on_day(cron, tz, day)] == times


def test_what_comes_every_hour_has_no_run_in_a_missing_hour_nor_in_its_place():
    # Its neighbours are an hour apart.
    found = dues("30 * * * *", "Europe/Berlin", "2025-03-30T00:00Z", 2)
    assert found == ["2025-03-30T00:30Z", "2025-03-30T01:30Z"]


def test_a_day_that_a_zone_left_out_runs_at_the_next_one_s_beginning():
    found = dues("0 9 30 12 *", "Pacific/Apia", "2011-12-01T00:00Z", 1)
    assert found == ["2011-12-30T10:00Z"]
    note = "09:00 isn't there on 2011-12-30 in Pacific/Apia: it runs at 2011-12-31 00:00"
    assert clock_note("0 9 30 12 *", "Pacific/Apia", us(found[0])) == note
    # Every hour's has nothing at all on that day.
    assert dues("0 * 30,31 12 *", "Pacific/Apia", "2011-12-30T09:30Z", 1) == ["2011-12-30T10:00Z"]
    assert dues("0 * 30 12 *", "Pacific/Apia", "2011-12-01T00:00Z", 1) == ["2012-12-29T10:00Z"]


def test_many_times_that_are_missing_are_named_together():
    note = clock_note("*/15 2 * * *", "America/New_York", us("2025-03-09T07:00Z"))
    assert note == (
        "02:00 to 02:45 aren't there on 2025-03-09 in America/New_York: it runs once, at 03:00"
    )


@pytest.mark.parametrize(
    ("cron", "tz", "due"),
    [
        ("15 2 * * *", "Australia/Lord_Howe", "2025-10-04T15:30Z"),
        ("30 23 * * *", "America/Nuuk", "2024-03-31T01:00Z"),
    ],
)
def test_a_night_is_found_where_its_date_isn_t_that_of_utc(cron, tz, due):
    assert "it runs at" in (clock_note(cron, tz, us(due)) or "")
    assert clock_note(cron, tz, us(due) + 60_000_000) is None


def test_clocks_set_back_over_midnight_lose_and_double_nothing():
    # At 00:01 to 23:01 of the day before: St John's, until 2011.
    hourly = dues("30 * * * *", "America/St_Johns", "2010-11-07T01:00Z", 5)
    assert [due[11:] for due in hourly] == ["02:00Z", "03:00Z", "04:00Z", "05:00Z", "06:00Z"]
    each = dues("* * * * *", "America/St_Johns", "2010-11-07T01:00Z", 200)
    first = us("2010-11-07T01:01Z")
    assert [us(due) for due in each] == [first + 60_000_000 * n for n in range(200)]
    back = last_due_times("* * * * *", "America/St_Johns", us(each[-1]), 200)
    assert [shown(due) for due in back] == each
    again = us("2010-11-07T02:40Z")  # 23:10 for the second time
    assert list(last_due_times("* * * * *", "America/St_Johns", again, 1)) == [again]


def test_a_due_time_itself_is_not_after_itself_and_a_microsecond_before_is_not_lost():
    noon = us("2026-01-05T12:00Z")
    assert next(due_times("0 12 * * *", "UTC", noon)) == noon + 86_400_000_000
    assert next(due_times("0 12 * * *", "UTC", noon - 1)) == noon
    assert next(due_times("0 12 * * *", "UTC", noon + 1)) == noon + 86_400_000_000


def test_it_begins_in_the_middle_of_an_hour_that_comes_again():
    # 01:10 for the second time: the fixed time of 01:30 was an hour ago.
    assert dues("30 1 * * *", "Europe/London", "2022-10-30T01:10Z", 1) == ["2022-10-31T01:30Z"]
    assert dues("*/30 1 * * *", "Europe/London", "2022-10-30T01:10Z", 1) == ["2022-10-30T01:30Z"]


def test_rare_days_come():
    assert dues("0 0 29 2 */7", "UTC", "2026-01-01T00:00Z", 2) == [
        "2032-02-29T00:00Z",
        "2060-02-29T00:00Z",
    ]
    assert dues("0 0 29 2 *", "UTC", "2096-03-01T00:00Z", 1) == ["2104-02-29T00:00Z"]
    assert dues("0 12 L 2 *", "UTC", "2027-01-01T00:00Z", 2) == [
        "2027-02-28T12:00Z",
        "2028-02-29T12:00Z",
    ]
    assert dues("0 12 * * MON#2", "UTC", "2026-06-01T00:00Z", 1) == ["2026-06-08T12:00Z"]


@pytest.mark.parametrize(
    ("tz", "last_hours"),
    [("UTC", (21, 22, 23)), ("Pacific/Pago_Pago", (21, 22, 23)), ("Pacific/Kiritimati", (8, 9))],
)
def test_nothing_comes_after_the_year_9999_here_or_there(tz, last_hours):
    after = us(f"9999-12-31T{last_hours[0]:02}:00Z") - 1
    found = list(due_times("0 * * * *", tz, after))
    assert [shown(due) for due in found] == [f"9999-12-31T{h:02}:00Z" for h in last_hours]
    assert list(last_due_times("0 * * * *", tz, LAST_INSTANT_US, 1)) == found[-1:]


def test_nothing_comes_after_the_last_instant():
    assert next(due_times("0 0 1 1 *", "UTC", us("9999-06-01T00:00Z")), None) is None
    assert next(due_times("0 0 1 1 *", "UTC", LAST_INSTANT_US * 2), None) is None


def test_the_last_ones_before_an_instant():
    noon = us("2026-01-05T12:00Z")
    found = last_due_times("0 12 * * 1", "UTC", noon, 3)
    assert [shown(due)[:10] for due in found] == ["2025-12-22", "2025-12-29", "2026-01-05"]
    assert shown(last_due_times("0 12 * * 1", "UTC", noon - 1, 1)[0])[:10] == "2025-12-29"
    june = us("2026-06-15T12:00Z")
    assert shown(last_due_times("0 0 31 1 *", "UTC", june, 1)[0])[:10] == "2026-01-31"
    early = us("2026-01-05T22:50Z")  # already the sixth there
    assert list(last_due_times("*/10 * * * *", "Asia/Tokyo", early, 1)) == [early]


def test_an_unknown_zone_or_expression_is_refused_here_too():
    with pytest.raises(UsageError, match="no time zone"):
        next(due_times("0 0 * * *", "Europe/Berlim", 0))
    with pytest.raises(UsageError, match="no cron expression"):
        next(due_times("0 0 * *", "UTC", 0))
