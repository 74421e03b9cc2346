"""Time zones by their names.

Invariant: a name that can't be found is refused, with the nearest one; never guessed.
"""

from __future__ import annotations

from datetime import UTC, tzinfo
from functools import lru_cache
from typing import Final

from agentctl.errors import UsageError

_NOT_NAMES: Final = ("posix/", "right/", "posixrules")
"""Files that lie beside the zones; `right/` counts leap seconds, as no other clock here does."""


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


def _hint(name: str) -> str:
    import difflib
    from zoneinfo import available_timezones

    close = difflib.get_close_matches(name[:80], sorted(available_timezones()), n=1)
    return f"did you mean {close[0]}?" if close else "name it like Europe/Berlin"
