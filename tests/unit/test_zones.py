"""Time zones by their names."""

from __future__ import annotations

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from agentctl.errors import UsageError
from agentctl.zones import find_zone


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


@pytest.mark.parametrize("name", ["Europe", "/etc/passwd", "../UTC", "a\0b", "\ud800", "x" * 9000])
def test_what_is_no_name_of_a_zone_is_refused_and_cut(name):
    with pytest.raises(UsageError, match="there is no time zone") as caught:
        find_zone(name)
    assert len(caught.value.message) < 130
