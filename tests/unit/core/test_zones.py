"""Zones are known by their names, and a wall time that is open isn't guessed."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from agentctl.core.zones import in_zone, zone_named
from agentctl.errors import UsageError


@pytest.mark.parametrize("name", ["UTC", "utc", "Europe/Berlin", "US/Pacific"])
def test_a_zone_that_is_known_bears_its_name(name: str) -> None:
    assert str(zone_named(name)).lower() == name.lower()


@pytest.mark.parametrize(
    "name", ["Europe/Berln", "Europe", "../etc/passwd", "", "/x", "localtime", "posixrules", "a\0b"]
)
def test_a_zone_that_is_not_known_everywhere_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="there is no time zone") as caught:
        zone_named(name)
    assert caught.value.hint


def test_the_nearest_zone_is_named() -> None:
    with pytest.raises(UsageError) as caught:
        zone_named("Europe/Berln")
    assert caught.value.hint == "did you mean Europe/Berlin?"


def test_a_wall_time_has_the_offset_of_its_day() -> None:
    berlin = zone_named("Europe/Berlin")
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
        in_zone(datetime.fromisoformat(wall), zone_named("Europe/Berlin"))
    assert f"{wall}+01:00" in str(caught.value.hint)
    assert f"{wall}+02:00" in str(caught.value.hint)
