"""Instants and durations: exact to the microsecond, written and read without loss."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentctl.errors import UsageError
from agentctl.times import (
    SystemClock,
    format_duration,
    parse_duration,
    to_datetime,
    to_rfc3339,
    to_us,
)

LAST_US = 253_402_300_799_999_999  # the end of the year 9999


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90s", timedelta(seconds=90)),
        ("1d2h30m", timedelta(days=1, hours=2, minutes=30)),
        ("500ms", timedelta(milliseconds=500)),
        ("PT5M", timedelta(minutes=5)),
        ("P1DT2H", timedelta(days=1, hours=2)),
        ("P2W", timedelta(weeks=2)),
        ("PT0.000001S", timedelta(microseconds=1)),
        ("1.5h", timedelta(minutes=90)),
        ("2w", timedelta(days=14)),
        ("0s", timedelta(0)),
        (" 5s ", timedelta(seconds=5)),
        ("999999999d", timedelta(days=999999999)),
    ],
)
def test_a_duration_is_read_in_each_way_it_can_be_written(text, expected):
    assert parse_duration(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "5", "5x", "s", "-5s", "5s junk", "1h 30m", "P", "PT", "5S", "1,5s", "inf", "nan", "1e3s"],
)
def test_a_bare_number_or_an_unknown_unit_is_refused_with_examples(text):
    with pytest.raises(UsageError, match="is no duration") as refused:
        parse_duration(text)
    assert "90s" in str(refused.value.hint)


@pytest.mark.parametrize("text", ["1000000000d", "9" * 400 + "s", "P" + "9" * 400 + "D"])
def test_a_duration_longer_than_python_can_hold_is_refused(text):
    with pytest.raises(UsageError, match="too long"):
        parse_duration(text)


@given(
    st.text(max_size=12) | st.from_regex(r"(P?T?[0-9.]{1,40}(ms|[smhdwSMHDW]))+", fullmatch=True)
)
def test_whatever_is_typed_as_a_duration_gives_one_or_a_usage_error(text):
    try:
        assert parse_duration(text) >= timedelta(0)
    except UsageError:
        pass


@given(st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=100_000)))
def test_a_duration_that_is_written_is_read_back_exactly(duration):
    assert parse_duration(format_duration(duration)) == duration


def test_durations_are_written_as_people_do():
    shown = [format_duration(timedelta(seconds=s)) for s in (0, 1.5, 90, 95_400)]
    assert shown == ["0s", "1.5s", "1m30s", "1d2h30m"]


@given(st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(9999, 12, 31)))
def test_an_instant_is_exact_to_the_microsecond(moment):
    moment = moment.replace(tzinfo=UTC)
    us = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    assert to_datetime(us) == moment
    assert datetime.fromisoformat(to_rfc3339(us)) == moment


def test_an_instant_is_written_with_six_decimals_always():
    assert to_rfc3339(0) == "1970-01-01T00:00:00.000000Z"
    assert to_rfc3339(LAST_US) == "9999-12-31T23:59:59.999999Z"


def test_seconds_and_timedeltas_become_whole_microseconds():
    assert to_us(1) == to_us(1.0) == to_us(timedelta(seconds=1)) == 1_000_000
    assert to_us(0.1) == 100_000
    assert to_us(timedelta(days=3650)) == 3650 * 86_400 * 1_000_000
    assert to_us(-1) == -1_000_000


def test_the_system_clock_is_the_machines():
    clock = SystemClock()
    before = time.time_ns() // 1000
    assert before <= clock.now_us() <= time.time_ns() // 1000
    before_s = time.monotonic()
    assert before_s <= clock.monotonic_s() <= time.monotonic()
