"""Time zones by their names, and wall times in them; what is open isn't guessed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from agentctl.errors import UsageError
from agentctl.zones import find_zone, in_zone


def test_a_zone_is_found_by_its_name():
    assert find_zone("Europe/Berlin") == ZoneInfo("Europe/Berlin")
    assert find_zone("US/Pacific") == ZoneInfo("US/Pacific")


@pytest.mark.parametrize("name", ["UTC", "utc"])
def test_utc_needs_no_file(name):
    assert find_zone(name) is UTC


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Europe/Berlim", "did you mean Europe/Berlin?"),
        ("zzz", "name it like Europe/Berlin"),
        ("", "name it like Europe/Berlin"),
        ("posix/Europe/Berlin", "did you mean Europe/Berlin?"),
        ("right/Europe/Berlin", "did you mean Europe/Berlin?"),
    ],
)
def test_one_that_is_unknown_is_refused_with_the_nearest(name, hint):
    with pytest.raises(UsageError, match="there is no time zone") as caught:
        find_zone(name)
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    "name", ["Europe", "localtime", "/etc/passwd", "../UTC", "a\0b", "\ud800", "x" * 9000]
)
def test_what_is_no_name_of_a_zone_is_refused_and_cut(name):
    with pytest.raises(UsageError, match="there is no time zone") as caught:
        find_zone(name)
    assert len(caught.value.message) < 130


def test_a_wall_time_has_the_offset_of_its_day() -> None:
    berlin = find_zone("Europe/Berlin")
    summer = in_zone(datetime(2026, 7, 1, 9), berlin)
    winter = in_zone(datetime(2026, 12, 1, 9), berlin)
    assert (summer.utcoffset(), winter.utcoffset()) == (timedelta(hours=2), timedelta(hours=1))


@pytest.mark.parametrize(
    ("wall", "says"),
    [
        ("2026-03-29T02:30:00", "isn't there in Europe/Berlin: its clocks are set forward"),
        ("2026-10-25T02:30:00", "comes twice in Europe/Berlin: its clocks are set back"),
    ],
)
def test_a_wall_time_that_is_open_is_refused_with_both_readings(wall: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        in_zone(datetime.fromisoformat(wall), find_zone("Europe/Berlin"))
    assert f"{wall}+01:00" in str(caught.value.hint)
    assert f"{wall}+02:00" in str(caught.value.hint)
