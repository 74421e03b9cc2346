"""FakeClock: time that only a test moves."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import inf

from agentctl.engines.local.events.timers import Timers
from agentctl.errors import UsageError
from agentctl.times import SECOND_US, Uptime, from_datetime, to_datetime, to_us

START_US = 1_767_225_600_000_000
"""2026-01-01T00:00:00Z, where a fake clock begins unless told otherwise."""


class FakeClock:
    """A clock that a test moves on; implements `Clock`.

    The wall clock may be set anywhere; the monotonic one only goes forward, with `advance`. Both
    count whole microseconds, so that ten steps of 0.01 s are 0.1 s.

    Args:
        start_us: where the wall clock begins: microseconds since the Unix epoch, or a datetime
            with its zone.

    Raises:
        UsageError: the datetime has no zone.
    """

    def __init__(self, start_us: int | datetime = START_US) -> None:
        self._wall_us = _begun_at(start_us) if isinstance(start_us, datetime) else start_us
        self._passed_us = 0
        self._boot = "fake"
        self._timers: list[Timers] = []

    def now_us(self) -> int:
        """Microseconds since the Unix epoch."""
        return self._wall_us

    @property
    def now(self) -> datetime:
        """The wall clock, as a datetime in UTC."""
        return to_datetime(self._wall_us)

    def monotonic_s(self) -> float:
        """Seconds that were advanced so far."""
        return self._passed_us / SECOND_US

    def uptime(self) -> Uptime:
        """The same as `monotonic_s`, which goes on over a world's programs."""
        return Uptime(self._boot, self._passed_us)

    def reboot(self) -> None:
        """Let the machine have been booted anew: its uptime no longer tells what passed."""
        self._boot += "+"

    def attach(self, timers: Timers) -> None:
        """Take note of whose waits to end when time moves on."""
        self._timers = [timers]

    def advance(self, duration: timedelta | float) -> None:
        """Let so much time pass, seconds or a timedelta; waits that are over then end."""
        passing_us = to_us(duration)
        self._passed_us += passing_us
        self._wall_us += passing_us
        for timers in self._timers:
            timers.fire_soon()

    def set_wall(self, instant_us: int) -> None:
        """Set the wall clock forward or back, as a person or a time server does."""
        self._wall_us = instant_us

    def jump(self, until_s: float = inf) -> bool:
        """Advance to the end of the next wait; False if nobody waits, or none ends by `until_s`."""
        dues = [due for one in self._timers if (due := one.next_due_s) is not None]
        if not dues or min(dues) > until_s:
            return False
        self.advance(max(0.0, min(dues) - self.monotonic_s()))
        return True


def _begun_at(moment: datetime) -> int:
    if moment.utcoffset() is None:
        raise UsageError(
            f"{moment.isoformat()} has no zone", hint="say which: datetime(…, tzinfo=UTC)"
        )
    return from_datetime(moment)
