"""Time zones by their names, and wall times in them.

Invariant: a name that can't be found, and a wall time that isn't there or comes twice, is refused;
nothing is guessed.
"""

from __future__ import annotations

from datetime import UTC, datetime, timezone, tzinfo
from functools import lru_cache
from typing import Final

from agentctl.errors import UsageError

_NOT_NAMES: Final = ("localtime", "posix/", "right/", "posixrules")
"""Files that lie beside the zones; `localtime` is another zone on another machine, and `right/`
counts leap seconds, as no other clock here does."""


@lru_cache(maxsize=256)
def find_zone(name: str) -> tzinfo:
    """Find a time zone.

    Raises:
        UsageError: this machine knows none of that name; with the nearest.
    """
    if name.upper() == "UTC":
        return UTC
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        if not name.startswith(_NOT_NAMES):
            return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        pass
    raise UsageError(f"there is no time zone {name[:80]!r}", hint=_hint(name))


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


def _hint(name: str) -> str:
    import difflib
    from zoneinfo import available_timezones

    close = difflib.get_close_matches(name[:80], sorted(available_timezones()), n=1)
    return f"did you mean {close[0]}?" if close else "name it like Europe/Berlin"


def _with_offset(moment: datetime) -> str:
    offset = moment.utcoffset()
    assert offset is not None
    return moment.replace(tzinfo=timezone(offset)).isoformat()
