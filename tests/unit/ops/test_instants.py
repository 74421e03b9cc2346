"""Moments as people write them; one without a zone is refused."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from agentctl.errors import UsageError
from agentctl.ops.instants import parse_instant

NOW = 1_773_570_600_000_000


class Noon:
    def now_us(self) -> int:
        return NOW

    def monotonic_s(self) -> float:
        return 0.0


@pytest.mark.parametrize(
    ("text", "instant_us"),
    [
        ("2026-03-15T10:30:00Z", NOW),
        ("2026-03-15T11:30:00+01:00", NOW),
        ("@1773570600", NOW),
        ("@1773570600.5", NOW + 500_000),
        ("now", NOW),
        ("-5m", NOW - 300_000_000),
        ("+1d2h", NOW + 93_600_000_000),
    ],
)
def test_each_form_is_read(text: str, instant_us: int) -> None:
    assert parse_instant(text, Noon()) == instant_us


@pytest.mark.parametrize("text", ["", "5m", "-", "@", "@nan", "@1e400", "yesterday", "10:30", "-5"])
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_instant(text, Noon())


@pytest.fixture
def machine_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Set the machine's zone."""

    def set_zone(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield set_zone
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("zone", "hint"),
    [
        (
            "Europe/Berlin",
            "write which is meant: 2026-03-15T10:30:00Z, or 2026-03-15T10:30:00+01:00",
        ),
        ("UTC", "write 2026-03-15T10:30:00Z if UTC is meant"),
    ],
)
def test_a_moment_without_a_zone_is_refused_with_each_reading(
    machine_in: Callable[[str], None], zone: str, hint: str
) -> None:
    machine_in(zone)
    for flag, by_flag in (("", ""), ("--tz", "; or name its zone with --tz")):
        with pytest.raises(UsageError, match="no zone") as caught:
            parse_instant("2026-03-15T10:30:00", Noon(), zone_flag=flag)
        assert caught.value.hint == hint + by_flag
