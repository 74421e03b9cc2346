"""Instants, durations, and the clock port.

Instants are integers, microseconds since the Unix epoch (`_us`). Only `SystemClock` reads the
machine's clocks; everything else is given a `Clock`.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import Final, Protocol

from agentctl.errors import UsageError

SECOND_US: Final = 1_000_000
LAST_INSTANT_US: Final = 253_402_300_799_999_999
"""The last one that a date can show: the end of the year 9999."""
_LONGEST_DIGITS: Final = 18

DAY_S: Final = 86_400.0


class Clock(Protocol):
    """What agentctl knows of time.

    `now_us` is the wall clock and may jump. `monotonic_s` never goes back; it measures waits.
    `uptime` goes on from one process to the next, whatever is done to the wall clock.
    """

    def now_us(self) -> int:
        """Microseconds since the Unix epoch."""
        ...

    def monotonic_s(self) -> float:
        """Seconds since some fixed moment of this process."""
        ...

    def uptime(self) -> Uptime | None:
        """How long the machine has been up; None where it doesn't say."""
        ...


@dataclass(frozen=True, slots=True)
class Uptime:
    """How long a machine has been up, sleep included; `boot` tells one boot from another."""

    boot: str
    us: int

    def __str__(self) -> str:
        return f"{self.boot}:{self.us}"

    def since(self, text: str | None) -> int | None:
        """Microseconds since an uptime that was written down; None: that was another boot."""
        boot, _, us = (text or "").partition(":")
        if boot != self.boot or not (us.isascii() and us.isdigit() and len(us) < _LONGEST_DIGITS):
            return None
        return max(0, self.us - int(us))


class SystemClock:
    """The machine's clocks."""

    def now_us(self) -> int:
        """Microseconds since the Unix epoch."""
        return time.time_ns() // 1000

    def monotonic_s(self) -> float:
        """Seconds since some fixed moment of this process."""
        return time.monotonic()

    def uptime(self) -> Uptime | None:
        """How long the machine has been up; None where it doesn't say."""
        boot = _boot()
        return None if boot is None else Uptime(boot, time.clock_gettime_ns(_UP) // 1000)


_BOOT_ID: Final = "/proc/sys/kernel/random/boot_id"
_UP: Final[int] = getattr(time, "CLOCK_BOOTTIME", -1)


@cache
def _boot() -> str | None:
    """What tells this boot of the machine from others; None where nothing does."""
    try:
        with open(_BOOT_ID, encoding="ascii") as file:  # noqa: PTH123 - pathlib is slow to load
            text = file.read(36).replace("-", "")
    except (OSError, ValueError):
        return None
    return text[:16] if _UP >= 0 and len(text) == 32 and text.isalnum() else None


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def to_datetime(instant_us: int) -> datetime:
    """Turn an instant into an aware UTC datetime, exact to the microsecond."""
    return _EPOCH + timedelta(microseconds=instant_us)


def from_datetime(moment: datetime) -> int:
    """Turn an aware datetime into an instant, exact to the microsecond."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def to_rfc3339(instant_us: int) -> str:
    """Write an instant as `2026-11-30T09:14:02.511034Z`: UTC, six decimals, always."""
    second, rest_us = divmod(instant_us, SECOND_US)
    return f"{_second(second)}.{rest_us:06d}Z"


@lru_cache(64)
def _second(second: int) -> str:
    # Kept, since each audit line has one, and most are of the same second as those before.
    return (_EPOCH + timedelta(seconds=second)).isoformat()[:-6]


def to_us(duration: float | timedelta) -> int:
    """Turn seconds, or a timedelta, into whole microseconds."""
    if isinstance(duration, timedelta):
        return duration // timedelta(microseconds=1)
    return round(duration * SECOND_US)


_UNITS: Final = {"ms": 1_000, "s": SECOND_US, "m": 60 * SECOND_US, "h": 3600 * SECOND_US}
_UNITS_LONG: Final = {**_UNITS, "d": 86_400 * SECOND_US, "w": 604_800 * SECOND_US}
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhdw])")
_ISO: Final = re.compile(
    r"P(?:(?P<w>\d+)W)?(?:(?P<d>\d+)D)?"
    r"(?:T(?:(?P<h>\d+)H)?(?:(?P<m>\d+)M)?(?:(?P<s>\d+(?:\.\d+)?)S)?)?"
)


def parse_duration(text: str) -> timedelta:
    """Read `90s`, `1d2h30m`, `500ms` or `PT5M`.

    Raises:
        UsageError: a bare number, an unknown unit, or nothing at all.
    """
    stripped = text.strip()
    parts = _PART.findall(stripped)
    if parts and "".join(number + unit for number, unit in parts) == stripped:
        us = sum(_part_us(number, unit) for number, unit in parts)
        return _as_timedelta(us, text)
    iso = _ISO.fullmatch(stripped)
    if iso and any(iso.groups()):
        us = sum(_part_us(n, u) for u, n in iso.groupdict().items() if n)
        return _as_timedelta(us, text)
    raise UsageError(
        f"{text!r} is no duration", hint="write it with a unit: 90s, 1d2h30m, 500ms or PT5M"
    )


def _part_us(number: str, unit: str) -> int:
    """Whole microseconds, rounded once; floats would lose them in long durations."""
    whole, _, fraction = number.partition(".")
    whole, fraction = whole.lstrip("0")[: _LONGEST_DIGITS + 1], fraction[:_LONGEST_DIGITS]
    unit_us = _UNITS_LONG[unit]
    us = int(whole or "0") * unit_us
    if fraction:
        scale = 10 ** len(fraction)
        us += (int(fraction) * unit_us + scale // 2) // scale
    return us


def _as_timedelta(us: int, text: str) -> timedelta:
    try:
        return timedelta(microseconds=us)
    except OverflowError:
        raise UsageError(
            f"the duration {text!r} is too long", hint="the longest is 999999999d"
        ) from None


def format_duration(duration: timedelta) -> str:
    """Write a duration so that `parse_duration` reads the same back: `1d2h30m`, `1.5s`, `0s`."""
    us = to_us(duration)
    out = []
    for unit in ("d", "h", "m"):
        count, us = divmod(us, _UNITS_LONG[unit])
        if count:
            out.append(f"{count}{unit}")
    if us or not out:
        out.append(f"{us / SECOND_US:.6f}".rstrip("0").rstrip(".") + "s")
    return "".join(out)
