"""Times as an agent's code gives them, to microseconds.

What is no time at all is refused here; what can't be meant, by `timing.check`.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from agentctl.errors import UsageError
from agentctl.sdk.context import Zone
from agentctl.sdk.loop import LONGEST_WAIT_S
from agentctl.times import from_datetime, to_us

_LONGEST_US: Final = to_us(LONGEST_WAIT_S)


def wait_us(what: str, duration: object) -> int:
    """How long to wait; it may be less than zero.

    Raises:
        UsageError: it is no duration, or absurdly long.
    """
    if isinstance(duration, timedelta):
        us = to_us(duration)
    elif not isinstance(duration, int | float) or isinstance(duration, bool):
        raise UsageError(
            f"{what} is {duration!r}, and no duration", hint="give seconds, or a timedelta"
        )
    elif -LONGEST_WAIT_S <= duration <= LONGEST_WAIT_S:  # false of NaN too
        us = to_us(duration)
    else:
        raise _too_long(what, duration)
    if abs(us) > _LONGEST_US:
        raise _too_long(what, duration)
    return us


def _too_long(what: str, duration: object) -> UsageError:
    shown = "too long" if isinstance(duration, int) else str(duration)  # perhaps a million digits
    return UsageError(f"{what} is {shown}", hint="give seconds or a timedelta, 1000 years at most")


def period_us(period: timedelta) -> int:
    """How long a round takes.

    Raises:
        UsageError: it is no timedelta, zero or less, or absurdly long.
    """
    if not isinstance(period, timedelta):
        raise UsageError(
            f"the period is {period!r}, and no timedelta", hint="write timedelta(minutes=5)"
        )
    us = wait_us("the period", period)
    if us <= 0:
        raise UsageError(f"the period is {period}, and must be more than nothing")
    return us


def instant_us(what: str, when: datetime) -> int:
    """The instant that an aware datetime means.

    Raises:
        UsageError: it is no datetime, or has no zone.
    """
    if not isinstance(when, datetime):
        raise UsageError(f"{what} is {when!r}, and no datetime", hint="now() + timedelta(days=1)")
    if when.utcoffset() is None:
        raise UsageError(
            f"{what} is {when}, and has no zone",
            hint="""give it one: datetime(…, tzinfo=ZoneInfo("Europe/Berlin"))""",
        )
    return from_datetime(when)


def zone_name(tz: Zone) -> str:
    """The name of a zone, under which its rules are looked up again.

    Raises:
        UsageError: it has none.
    """
    if tz is UTC or (isinstance(tz, str) and tz.upper() == "UTC"):
        return "UTC"
    name = tz.key if isinstance(tz, ZoneInfo) else tz
    if not isinstance(name, str):
        raise UsageError(f"tz is {tz!r}, and has no name", hint="name it like Europe/Berlin")
    return name
