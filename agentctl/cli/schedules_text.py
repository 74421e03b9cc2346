"""What is to come, in words: how it recurs, and the rows of a list.

Never decides when a schedule is due.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from agentctl.cli.moments import Moments
from agentctl.ops.instants import parse_instant
from agentctl.ops.schedule_documents import DueTime, KeptSchedule, SeenSchedule
from agentctl.times import format_duration, to_datetime

TITLES: Final = ("instance", "name, or event", "handler", "due", "how, set by")
DUE_TITLES: Final = ("due", "local time", "note")

_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def rows_of(schedules: Sequence[SeenSchedule], moments: Moments) -> list[Sequence[str]]:
    """One row a schedule or event, for a pipe; `-` where there is nothing to say."""
    return [
        (
            one.instance,
            _called(one),
            one.handler,
            due_of(one.due, moments),
            how(one),
            one.source or "-",
            "paused" if one.paused else "-",
        )
        for one in schedules
    ]


def screen_rows(schedules: Sequence[SeenSchedule], moments: Moments) -> list[Sequence[str]]:
    """One row a schedule or event, under `TITLES`; narrower, for a terminal."""
    return [
        (
            one.instance,
            _called(one),
            one.handler,
            "paused" if one.paused else due_of(one.due, moments),
            f"{how(one)}, {one.source}" if one.source else how(one),
        )
        for one in schedules
    ]


def _called(one: SeenSchedule) -> str:
    return one.name or " ".join(filter(None, (one.event, one.key)))


def due_rows(times: Sequence[DueTime], moments: Moments) -> list[Sequence[str]]:
    """One row a due time."""
    return [(due_of(one.at, moments), one.local or "-", one.note or "-") for one in times]


def how(schedule: SeenSchedule | KeptSchedule) -> str:
    """Say how it recurs: `every 1h`, `cron 0 9 * * 1-5 Europe/Berlin`, `once`."""
    if schedule.cron is not None:
        return f"cron {schedule.cron} {schedule.tz or ''}".rstrip()
    return "once" if schedule.period_s is None else f"every {seconds(schedule.period_s)}"


def policies(schedule: KeptSchedule) -> str:
    """Say what holds for due times that pass, or overlap."""
    said = [f"missed={schedule.missed}", f"overlap={schedule.overlap}"]
    if schedule.jitter_s:
        said.append(f"jitter={seconds(schedule.jitter_s)}")
    if schedule.max_late_s is not None:
        said.append(f"max-late={seconds(schedule.max_late_s)}")
    if schedule.priority != "medium":
        said.append(f"priority={schedule.priority}")
    return " ".join(said)


def arguments(schedule: KeptSchedule) -> str:
    """Write its arguments as JSON, those by name behind those by position."""
    by_name = [] if schedule.kwargs is None else [schedule.kwargs]
    return " ".join(bytes(part).decode() for part in (schedule.args, *by_name))


def due_of(due: str | None, moments: Moments) -> str:
    """Say when it is due."""
    return "-" if due is None else moments(parse_instant(due))


def wall_time(due_us: int, tz: str) -> str:
    """Say what the clocks of a zone show then: `Mon 2026-12-07 09:00 in Europe/Berlin`.

    Raises:
        UsageError: this machine doesn't know the zone.
    """
    from agentctl.zones import find_zone

    local = to_datetime(due_us).astimezone(find_zone(tz))
    return f"{_DAYS[local.weekday()]} {local:%Y-%m-%d %H:%M} in {tz}"


def seconds(duration_s: float) -> str:
    """Write a duration as it is typed."""
    return format_duration(timedelta(seconds=duration_s))
