"""Time zones by name, and wall times in them.

Invariant: a wall time that a zone's clocks show twice or never is refused, never guessed.
"""

from __future__ import annotations

from datetime import UTC, datetime, timezone, tzinfo
from typing import Final

from agentctl.errors import UsageError

# What these mean differs from machine to machine.
_OF_A_MACHINE: Final = ("localtime", "posix/", "posixrules", "right/")


def zone_named(name: str) -> tzinfo:
    """Find a time zone.

    Raises:
        UsageError: this machine knows none of that name; with the nearest.
    """
    from zoneinfo import ZoneInfo, available_timezones

    if name.upper() == "UTC":
        return UTC
    try:
        if not name.startswith(_OF_A_MACHINE):
            return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        pass
    import difflib

    close = difflib.get_close_matches(name[:80], available_timezones(), n=1)
    hint = f"did you mean {close[0]}?" if close else "name it like Europe/Berlin or UTC"
    raise UsageError(f"there is no time zone {name[:80]!r}", hint=hint)


def in_zone(wall: datetime, zone: tzinfo) -> datetime:
    """Read a wall time in a zone.

    Raises:
        UsageError: its clocks show it twice, or never; with both readings.
    """
    first, second = (wall.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    if first.utcoffset() == second.utcoffset():
        return first
    readings = f"{_with_offset(first)}, or {_with_offset(second)}"
    if first.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != wall:
        raise UsageError(
            f"{wall.isoformat()} isn't there in {zone}: its clocks are set forward then",
            hint=f"write which is meant: {readings}",
        )
    raise UsageError(
        f"{wall.isoformat()} comes twice in {zone}: its clocks are set back then",
        hint=f"write which is meant: {readings}",
    )


def _with_offset(moment: datetime) -> str:
    offset = moment.utcoffset()
    assert offset is not None
    return moment.replace(tzinfo=timezone(offset)).isoformat()
