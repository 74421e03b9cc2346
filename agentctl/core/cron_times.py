"""When a cron expression is due in a zone (R18).

Due times rise, and a wall time that the expression names comes once a day, but where the zone's
clocks change: one that isn't there runs at the first moment that is, unless the expression comes
every hour; one that is there twice runs the first time, or both times if the minutes or the hours
begin with a star, as Debian's cron has it.

cronsim's own steps aren't taken: where clocks change they can lead back, and past due times where
the change is of half an hour.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, tzinfo
from functools import lru_cache
from typing import Final

from agentctl.core.cron import EPOCH_DAY, Expression, read_cron
from agentctl.times import LAST_INSTANT_US, SECOND_US, to_datetime
from agentctl.zones import find_zone

_DAY_S: Final = 86_400


def due_times(cron: str, tz: str, after_us: int) -> Iterator[int]:
    """Give the due times strictly after an instant, rising; none after year 9999, here or there."""
    expression, last = read_cron(cron), after_us
    for ordinal in expression.days(_utc_day(after_us) - 1):
        day = _day(cron, tz, ordinal)
        dues: Sequence[int] = day.dues
        if day.changes and dues and expression.means(ordinal + 1):
            # Clocks set back over midnight: some of the next day comes before some of this one.
            early = (due for due in _day(cron, tz, ordinal + 1).dues if due < day.dues[-1])
            dues = sorted({*dues, *early})
        for due in dues[bisect_right(dues, last) :]:
            if due > LAST_INSTANT_US:
                return
            yield due
            last = due


def last_due_times(cron: str, tz: str, until_us: int, count: int) -> Sequence[int]:
    """The last due times up to an instant, itself included, rising; at most so many."""
    found: set[int] = set()
    for ordinal in read_cron(cron).days(_utc_day(until_us) + 1, step=-1):
        enough = len(found) >= count
        found.update(due for due in _day(cron, tz, ordinal).dues if due <= until_us)
        if enough:  # one day more: clocks may have been set back over midnight
            break
    return sorted(found)[-count:]


def clock_note(cron: str, tz: str, due_us: int) -> str | None:
    """Say what is unusual about a due time: that the zone's clocks change; None: nothing is."""
    expression, today = read_cron(cron), _utc_day(due_us)
    for ordinal in (today - 1, today, today + 1):
        if expression.means(ordinal):
            note = _day(cron, tz, ordinal).notes.get(due_us)
            if note is not None:
                return note
    return None


@dataclass(frozen=True, slots=True)
class _Day:
    """The due times of one day of a zone's calendar, rising.

    Attributes:
        notes: what is unusual, by due time.
        changes: the zone's clocks change on that day.
    """

    dues: tuple[int, ...]
    notes: Mapping[int, str]
    changes: bool


def _utc_day(instant_us: int) -> int:
    return instant_us // (_DAY_S * SECOND_US) + EPOCH_DAY


@lru_cache(maxsize=128)
def _day(cron: str, tz: str, ordinal: int) -> _Day:
    """When it is due on a day on which it comes."""
    zone, expression, day = find_zone(tz), read_cron(cron), date.fromordinal(ordinal)
    start_s = (ordinal - EPOCH_DAY) * _DAY_S
    offsets = {off for wall in (time(0), time(23, 59)) for off in _offsets(day, wall, zone)}
    if len(offsets) > 1:
        return _changing_day(expression, zone, day, start_s)
    start_s -= offsets.pop()
    return _Day(tuple((start_s + 60 * m) * SECOND_US for m in expression.minutes), {}, False)


def _offsets(day: date, wall: time, zone: tzinfo) -> tuple[int, int]:
    """How far ahead of UTC the zone's clocks are at a wall time, in seconds.

    They differ where that time comes twice, then the first is the larger one; and where it isn't
    there, then the first is what it was before.
    """
    moment = datetime.combine(day, wall, zone)
    ahead = [moment.replace(fold=fold).utcoffset() for fold in (0, 1)]
    first, second = (0 if one is None else one.days * _DAY_S + one.seconds for one in ahead)
    return first, second


def _changing_day(expression: Expression, zone: tzinfo, day: date, start_s: int) -> _Day:
    dues: set[int] = set()
    notes: dict[int, str] = {}
    missing: dict[int, list[str]] = {}
    for minute in expression.minutes:
        wall, wall_s = time(*divmod(minute, 60)), start_s + 60 * minute
        first, second = _offsets(day, wall, zone)
        if first < second:
            if not expression.every_hour:  # else its neighbours run
                due = _first_valid_us(zone, wall_s - second, wall_s - first)
                missing.setdefault(due, []).append(f"{wall:%H:%M}")
            continue
        offsets = (first, second) if expression.both else (first,)
        runs = {(wall_s - offset) * SECOND_US for offset in offsets}
        dues |= runs
        if first > second:
            often = "both times" if expression.both else "once"
            note = f"{wall:%H:%M} comes twice on {day} in {zone}: it runs {often}"
            notes |= dict.fromkeys(runs, note)
    for due, walls in missing.items():
        notes[due] = _missing_note(walls, day, zone, due)
    return _Day(tuple(sorted(dues.union(missing))), notes, True)


def _first_valid_us(zone: tzinfo, before_s: int, after_s: int) -> int:
    """Find when a zone's clocks were set forward: after the one moment, at the other at latest."""
    old = to_datetime(before_s * SECOND_US).astimezone(zone).utcoffset()
    while after_s - before_s > 1:
        middle_s = (before_s + after_s) // 2
        if to_datetime(middle_s * SECOND_US).astimezone(zone).utcoffset() == old:
            before_s = middle_s
        else:
            after_s = middle_s
    return after_s * SECOND_US


def _missing_note(walls: Sequence[str], day: date, zone: tzinfo, due_us: int) -> str:
    due = to_datetime(due_us).astimezone(zone)
    at = f"{due:%H:%M}" if due.date() == day else f"{due:%Y-%m-%d %H:%M}"
    if len(walls) == 1:
        return f"{walls[0]} isn't there on {day} in {zone}: it runs at {at}"
    return f"{walls[0]} to {walls[-1]} aren't there on {day} in {zone}: it runs once, at {at}"
