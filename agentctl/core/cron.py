"""Cron expressions: five fields, what they mean, and which ones are refused.

cronsim reads them and says which days they mean. When a day is due is `cron_times`' to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import MAXYEAR, date, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from agentctl.errors import UsageError
from agentctl.times import SECOND_US

if TYPE_CHECKING:
    from cronsim import CronSim

EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_LAST_DAY: Final = date.max.toordinal()
_GIVE_UP_DAYS: Final = 50 * 366
"""29 February on a Monday is at most 40 years away; what is further never comes."""

_EXAMPLE: Final = "0 9 * * 1-5 is nine in the morning, Monday to Friday"
_FIELDS: Final = (
    ("minute", "0 to 59"),
    ("hour", "0 to 23"),
    ("day of the month", "1 to 31, L (the last) or LW (the last weekday)"),
    ("month", "1 to 12 or JAN to DEC"),
    ("day of the week", "0 to 7 or SUN to SAT, 5L (the last Friday) or 1#2 (the second Monday)"),
)
_SIGNS: Final = re.compile(r"[0-9A-Za-z*,/#-]+", re.ASCII)
_NICKNAMES: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


def check_cron(cron: str) -> None:
    """Refuse what isn't five fields, or never comes.

    Raises:
        UsageError: it names the field that is wrong, and what that may hold.
    """
    shown, fields = repr(cron[:80]), cron.split()
    if cron.strip().startswith("@"):
        written = _NICKNAMES.get(cron.strip().lower())
        hint = f"write {written}" if written else f"write five fields: {_EXAMPLE}"
        raise UsageError(f"{shown} is a short form, and those aren't taken", hint=hint)
    if len(fields) != len(_FIELDS):
        more = "; seconds aren't taken" if len(fields) == 6 else ""
        names = ", ".join(name for name, _ in _FIELDS)
        raise UsageError(
            f"{shown} has {len(fields)} fields, and cron has five{more}",
            hint=f"write {names}: {_EXAMPLE}",
        )
    if not cron.isprintable():
        raise UsageError(f"{shown} holds more than fields", hint="part them by spaces alone")
    for place, (field, (name, holds)) in enumerate(zip(fields, _FIELDS, strict=True)):
        alone = ["*"] * len(_FIELDS)
        alone[place] = field
        if not _SIGNS.fullmatch(field) or _parse(" ".join(alone)) is None:
            raise UsageError(
                f"{field[:80]!r} in {shown} is no {name}",
                hint=f"it holds {holds}; * for each, 1-5, 1,3 and */2 work, too",
            )
    if _parse(cron) is None or next(read_cron(cron).days(EPOCH_DAY), None) is None:
        raise UsageError(
            f"{shown} never comes: there is no such day", hint=f"change day or month: {_EXAMPLE}"
        )


@dataclass(frozen=True, slots=True)
class Expression:
    """What a cron expression means.

    Attributes:
        minutes: of the day, rising.
        every_hour: it comes in each hour of the day.
        both: of an hour that comes twice it runs in both.
    """

    sim: CronSim
    minutes: tuple[int, ...]
    every_hour: bool
    both: bool

    def means(self, ordinal: int) -> bool:
        """Whether it comes on that day."""
        if not 1 <= ordinal <= _LAST_DAY:
            return False
        day = date.fromordinal(ordinal)
        return day.month in self.sim.months and self.sim.match_day(day)

    def days(self, ordinal: int, step: int = 1) -> Iterator[int]:
        """Give the days on which it comes, from one on, forward or (-1) back."""
        found = ordinal = max(1, min(ordinal, _LAST_DAY))
        while abs(ordinal - found) <= _GIVE_UP_DAYS and 1 <= ordinal <= _LAST_DAY:
            day = date.fromordinal(ordinal)
            if day.month not in self.sim.months:
                ordinal = _next_month(day) if step > 0 else ordinal - day.day
                continue
            if self.sim.match_day(day):
                yield ordinal
                found = ordinal
            ordinal += step

    def shortest_gap_us(self) -> int:
        """How near two due times can be to each other, clock changes aside."""
        first, *later = self.minutes
        sooner = (first, *later)
        gaps = [after - before for before, after in zip(sooner, later, strict=False)]
        return min(*gaps, first + 1440 - sooner[-1], 1440) * 60 * SECOND_US


def _next_month(day: date) -> int:
    year, month = day.year + day.month // 12, day.month % 12 + 1
    return date(year, month, 1).toordinal() if year <= MAXYEAR else _LAST_DAY + 1


@lru_cache(maxsize=256)
def read_cron(cron: str) -> Expression:
    """Read an expression; `check_cron` says what is wrong with one.

    Raises:
        UsageError: it is none.
    """
    sim = _parse(cron)
    if sim is None:
        raise UsageError(f"{cron[:80]!r} is no cron expression", hint=f"write it like {_EXAMPLE}")
    minute, hour, *_ = cron.split()
    return Expression(
        sim,
        tuple(60 * h + m for h in sorted(sim.hours) for m in sorted(sim.minutes)),
        every_hour=len(sim.hours) == 24,
        both=minute.startswith("*") or hour.startswith("*"),
    )


def _parse(cron: str) -> CronSim | None:
    from cronsim import CronSim, CronSimError

    try:
        return CronSim(cron, datetime(2000, 1, 1))  # noqa: DTZ001 - only its fields are asked for
    except (CronSimError, AssertionError, TypeError, ValueError):
        return None  # it asserts that 1#2/3 can't be
