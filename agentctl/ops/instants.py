"""Moments as people write them on the command line, and as documents have them.

Invariant: a moment without a zone is refused, never guessed.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from typing import Final

from agentctl.errors import UsageError
from agentctl.times import Clock, SystemClock, from_datetime, parse_duration, to_rfc3339, to_us
from agentctl.zones import in_zone

_HINT: Final = "write 2026-03-15T10:30:00Z, @1773570600, now, -5m (five minutes ago) or +5m"


def moment(instant_us: int | None) -> str | None:
    """Write an instant as documents have it; 0 is none."""
    return to_rfc3339(instant_us) if instant_us else None


def parse_instant(
    text: str, clock: Clock | None = None, zone: tzinfo | None = None, *, zone_flag: str = ""
) -> int:
    """Read a moment: RFC 3339 with an offset, `@` and seconds, `now`, `-5m`, `+5m`.

    Args:
        clock: what `now` is by.
        zone: what a wall time without an offset is read in; None refuses it.
        zone_flag: the flag that would name a zone, for the hint.

    Returns:
        Microseconds since the epoch.

    Raises:
        UsageError: it is none of these, or has no zone; then the readings are shown. Or it is a
            wall time that the zone has twice, or never.
    """
    stripped = text.strip()
    if stripped == "now":
        return (clock or SystemClock()).now_us()
    if stripped[:1] in "+-" and stripped:
        shift_us = to_us(parse_duration(stripped[1:]))
        now_us = (clock or SystemClock()).now_us()
        return now_us + shift_us if stripped[0] == "+" else now_us - shift_us
    try:
        if stripped.startswith("@"):
            return round(float(stripped[1:]) * 1_000_000)
        moment = datetime.fromisoformat(stripped)
    except (ValueError, OverflowError):
        raise UsageError(f"{text!r} is no moment", hint=_HINT) from None
    if moment.tzinfo is None and zone is not None:
        moment = in_zone(moment, zone)
    if moment.tzinfo is None:
        by_flag = f"; or name its zone with {zone_flag}" if zone_flag else ""
        raise UsageError(f"{text!r} has no zone", hint=f"{_readings(moment)}{by_flag}")
    return from_datetime(moment)


def _readings(moment: datetime) -> str:
    utc = moment.replace(tzinfo=UTC).isoformat().replace("+00:00", "Z")
    try:
        here = moment.astimezone()
    except (ValueError, OverflowError):  # next to the first or last year
        return f"write {utc} if UTC is meant"
    if not here.utcoffset():
        return f"write {utc} if UTC is meant"
    return f"write which is meant: {utc}, or {here.isoformat()}"
