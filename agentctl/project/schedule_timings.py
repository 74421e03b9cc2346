"""Reads when a `[schedules.NAME]` is due, and what becomes of due times that can't be kept.

Invariant: as in `reading`; a key that the way in which a schedule is due wouldn't read is refused
too, and a time without a zone isn't guessed. Never reads a clock.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final, get_args

from msgspec.structs import replace

from agentctl.core.lanes import LANES
from agentctl.core.timing import Missed, Overlap, Timing, check
from agentctl.errors import UsageError
from agentctl.project.checks import read_choice, read_duration, read_tz
from agentctl.project.layers import SCHEDULE_WAYS
from agentctl.project.toml_file import Table, describe
from agentctl.times import LAST_INSTANT_US, from_datetime, to_us
from agentctl.zones import find_zone, in_zone

MOMENT: Final = "a time with an offset, as 2026-03-15T10:30:00Z"

_RECURRING_KEYS: Final = ("missed", "overlap", "jitter")


def read_timing(table: Table, name: str, project_tz: str | None) -> Timing:
    """Read how a schedule of this name is due."""
    ways = [key for key in table.values if key in SCHEDULE_WAYS]
    if len(ways) != 1:
        raise table.error(
            ways[1] if ways else "cron",
            f"{' and '.join(ways)} stand together" if ways else "the key is missing",
            hint="write one of cron, every, at",
        )
    (way,) = ways
    _check_read(table, way)
    tz = read_tz(table) or project_tz
    due_us, is_wall = _read_moment(table, "at" if way == "at" else "first", tz)
    if "tz" in table.values and way != "cron" and not is_wall:
        raise table.error(
            "tz",
            "nothing would read it: only cron and a time without an offset do",
            hint="take the key out",
        )
    cron = table.text("cron")
    if cron and not tz:
        raise table.error(
            "tz",
            "the key is missing: cron needs a time zone",
            hint='write tz = "Europe/Berlin" here, or once in [project]',
        )
    timing = Timing(
        name=name,
        due_us=due_us,
        period_us=to_us(read_duration(table, "every")) if way == "every" else None,
        anchored=due_us is not None,
        cron=cron,
        tz=tz if cron else None,
        missed=read_choice(table, "missed", get_args(Missed)),  # type: ignore[arg-type]
        overlap=read_choice(table, "overlap", get_args(Overlap)),  # type: ignore[arg-type]
        jitter_us=_read_us(table, "jitter") or 0,
        late_us=_read_us(table, "max_late", or_none=True),
        priority=read_choice(table, "priority", LANES, "medium"),  # type: ignore[arg-type]
    )
    _check(table, way, replace(timing, jitter_us=0, late_us=None))
    _check(table, "jitter", replace(timing, late_us=None))
    _check(table, "max_late", timing)
    return timing


def _check(table: Table, key: str, timing: Timing) -> None:
    try:
        check(timing)
    except UsageError as error:
        raise table.error(key, error.message, hint=error.hint) from None


def _check_read(table: Table, way: str) -> None:
    unread = ("first",) if way != "every" else ()
    for key in (*unread, *(_RECURRING_KEYS if way == "at" else ())):
        if key in table.values:
            raise table.error(key, f"nothing would read it beside {way}", hint="take the key out")


def _read_us(table: Table, key: str, *, or_none: bool = False) -> int | None:
    if key not in table.values or (or_none and table.values[key] == "none"):
        return None
    return to_us(read_duration(table, key, ' or "none"' if or_none else ""))


def _read_moment(table: Table, key: str, tz: str | None) -> tuple[int | None, bool]:
    """Read a moment, and tell whether it is a wall time, which needs a zone."""
    value: object = table.values.get(key)
    if value is None:
        return None, False
    moment = value
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value) if ":" in value else None
        except ValueError:
            moment = None
    if not isinstance(moment, datetime):
        raise table.error(key, f"expected {MOMENT}, not {describe(value)}")
    is_wall = moment.tzinfo is None
    if is_wall:
        moment = _in_zone(table, key, moment, tz)
    due_us = from_datetime(moment)
    if not 0 <= due_us <= LAST_INSTANT_US:
        raise table.error(key, "expected a time from 1970 to 9999")
    return due_us, is_wall


def _in_zone(table: Table, key: str, wall: datetime, tz: str | None) -> datetime:
    if tz is None:
        raise table.error(
            key,
            f"expected {MOMENT}: {wall.isoformat()} has none",
            hint=f'write {wall.isoformat()}Z if UTC is meant, or its zone: tz = "Europe/Berlin"',
        )
    try:
        return in_zone(wall, find_zone(tz))
    except UsageError as error:
        raise table.error(key, error.message, hint=error.hint) from None
