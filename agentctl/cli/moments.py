"""Moments as people see them: relative on a terminal, RFC 3339 in UTC elsewhere."""

from __future__ import annotations

from typing import Final

from agentctl.times import SECOND_US, to_rfc3339

_UNITS: Final = (("s", 1, 60), ("m", 60, 60), ("h", 3_600, 24))
_DAY_S: Final = 86_400


class Moments:
    """Writes moments for one kind of reader, as of one instant."""

    def __init__(self, now_us: int, *, relative: bool) -> None:
        self._now_us = now_us
        self._relative = relative

    def __call__(self, instant_us: int | None) -> str:
        """Write one: `5m ago`, `in 3s`; or `2026-11-30T09:14:02.511034Z`; `-` for none."""
        if not instant_us:
            return "-"
        if not self._relative:
            return to_rfc3339(instant_us)
        span = span_of(abs(self._now_us - instant_us))
        return f"{span} ago" if instant_us <= self._now_us else f"in {span}"

    def at(self, instant_us: int) -> str:
        """Write one within a sentence: `in 3s`; or `at 2026-11-30T09:14:02.511034Z`."""
        return self(instant_us) if self._relative else f"at {self(instant_us)}"

    def due(self, instant_us: int) -> str:
        """Write one at which something is due, as `at`; one that is past: `was due 3s ago`."""
        return f"was due {self(instant_us)}" if self.is_past(instant_us) else self.at(instant_us)

    def is_past(self, instant_us: int | None) -> bool:
        """Whether an instant was before now."""
        return bool(instant_us) and (instant_us or 0) < self._now_us


def span_of(us: int) -> str:
    """Write how long something takes, to the nearest of its largest unit: `5m`."""
    seconds = us / SECOND_US
    for unit, size, many in _UNITS:
        if (number := round(seconds / size)) < many:
            return f"{number}{unit}"
    return f"{round(seconds / _DAY_S)}d"


def size_of(size: int) -> str:
    """Write a number of bytes for people: `3.6 MB`."""
    if size < 1000:
        return f"{size} B"
    kilobytes = size / 1000
    if kilobytes < 1000:
        return f"{kilobytes:.1f} kB"
    megabytes = kilobytes / 1000
    return f"{megabytes:.1f} MB" if megabytes < 1000 else f"{megabytes / 1000:.1f} GB"
