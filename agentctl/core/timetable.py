"""When a schedule is due, and what becomes of due times that have passed (R18).

Decides; knows nothing of events, journals or clocks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType

from agentctl.core.cron_times import clock_note, due_times, last_due_times
from agentctl.core.timing import Timing
from agentctl.errors import UsageError
from agentctl.record_schedules import ScheduleRecord
from agentctl.times import LAST_INSTANT_US, SECOND_US


@dataclass(frozen=True, slots=True)
class Run:
    """An occurrence that runs.

    Attributes:
        due_us: its due time.
        missed: the due times that it stands for, itself included, if any was missed; 0 in its turn.
        next_us: the due time that follows; None: there is none.
        note: what is unusual about it, for people: a night on which the clock changes.
    """

    due_us: int
    missed: int
    next_us: int | None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Skip:
    """Occurrences that don't run: `count` of them, from `due_us` on.

    Attributes:
        why: `missed`, `late` or `overlap`.
    """

    due_us: int
    count: int
    why: str
    next_us: int | None


Step: TypeAlias = Run | Skip

ON_TIME_US: Final = 60 * SECOND_US
"""An occurrence that begins later than so is missed."""

MOST_AT_ONCE: Final = 100
"""So many missed ones run where all of them are to; earlier ones are skipped."""

MOST_COUNTED: Final = 10_000
"""So many due times of a cron expression are counted; of more, the rest isn't."""


@dataclass(frozen=True, slots=True)
class Upcoming:
    """A due time to come; `note` as in `Run`."""

    due_us: int
    note: str | None = None


def first_due(timing: Timing, now_us: int) -> int:
    """Say when it is due first; a period that isn't anchored begins now.

    The grid of a first due time that has passed already goes on: to set it fires nothing at once.

    Raises:
        UsageError: not before the end of the year 9999.
    """
    if timing.due_us is not None and (timing.period_us is None or timing.due_us >= now_us):
        return timing.due_us
    due_us: int | None = now_us + (timing.period_us or 0)
    if timing.due_us is not None and timing.period_us is not None:
        due_us = now_us + (timing.due_us - now_us) % timing.period_us
    if timing.cron is not None:
        due_us = next(due_times(timing.cron, timing.tz or "UTC", now_us), None)
    if due_us is None or due_us > LAST_INSTANT_US:
        raise UsageError("this is due after the year 9999", hint="choose an earlier time")
    return due_us


def due_after(schedule: ScheduleRecord, after_us: int) -> int | None:
    """Give the next due time strictly after an instant; None of a one-shot, and after year 9999.

    A periodic grid begins at `schedule.due`.
    """
    if schedule.cron is not None:
        return next(due_times(schedule.cron, schedule.tz or "UTC", after_us), None)
    if schedule.period is None:
        return None
    rounds = max(0, (after_us - schedule.due) // schedule.period + 1)
    due_us = schedule.due + rounds * schedule.period
    return due_us if due_us <= LAST_INSTANT_US else None


def shift_us(schedule: ScheduleRecord, due_us: int) -> int:
    """How much later than due an occurrence begins: within `jitter`, and always the same."""
    if not schedule.jitter:
        return 0
    import random

    chance = random.Random(f"{schedule.seed}:{due_us}")  # noqa: S311 - repeatable, on purpose
    return int(chance.random() * (schedule.jitter + 1))


def begins_us(schedule: ScheduleRecord) -> int:
    """When the next occurrence begins: its due time with its shift."""
    return schedule.due + shift_us(schedule, schedule.due)


def plan(
    schedule: ScheduleRecord, *, now_us: int, since_us: int, busy: bool
) -> Sequence[Run | Skip]:
    """Say what becomes of the due times that have passed; nothing, if none has.

    Args:
        since_us: since when somebody attends to the schedule; of several that were due before that,
            the last is missed, too.
        busy: an earlier occurrence hasn't ended yet.
    """
    dues = _passed(schedule, now_us)
    while dues and dues[-1] + shift_us(schedule, dues[-1]) > now_us:
        dues = dues[:-1]
    if not dues:
        return ()
    late = _too_late(schedule, dues, now_us)
    parts = [_Part(dues[:late], why="late")] if late else []
    if late < len(dues):
        parts += _by_policy(schedule, dues[late:], _Moment(now_us, since_us, busy))
    follow = [*(part.dues[0] for part in parts[1:]), due_after(schedule, dues[-1])]
    return [_step(schedule, *pair) for pair in zip(parts, follow, strict=True)]


def passed(schedule: ScheduleRecord, now_us: int) -> tuple[int, int]:
    """Say how many due times have passed, and which comes next: where a pause ends.

    What isn't due again keeps its due time, and runs late.
    """
    dues = _passed(schedule, now_us)
    following = due_after(schedule, now_us)
    if not dues or following is None:
        return 0, schedule.due
    return len(dues), following


def same(schedule: ScheduleRecord, wanted: ScheduleRecord, *, anchored: bool) -> bool:
    """Whether a schedule is already as it is wanted, so that it keeps its grid.

    Args:
        anchored: the wanted due time was asked for by the clock; else any grid will do.
    """
    if any(getattr(schedule, name) != getattr(wanted, name) for name in _COMPARED):
        return False
    if _json(schedule.args) != _json(wanted.args) or _json(schedule.kwargs) != _json(wanted.kwargs):
        return False
    if schedule.cron is not None:
        return True
    if schedule.period is None:
        return schedule.due == wanted.due
    return not anchored or (wanted.due - schedule.due) % schedule.period == 0


def upcoming(schedule: ScheduleRecord, *, after_us: int, count: int) -> Sequence[Upcoming]:
    """Give the next due times after an instant, with what is unusual about each."""
    found: list[Upcoming] = []
    due_us = schedule.due if schedule.due > after_us else due_after(schedule, after_us)
    while due_us is not None and len(found) < count:
        found.append(Upcoming(due_us, _note(schedule, due_us)))
        due_us = due_after(schedule, due_us)
    return found


_COMPARED: Final = (
    "handler", "key", "period", "cron", "tz", "missed", "overlap", "jitter", "late", "lane",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Moment:
    now_us: int
    since_us: int
    busy: bool


@dataclass(frozen=True, slots=True)
class _Part:
    """Due times with one outcome: skipped, or without `why` a run of the last of them."""

    dues: Sequence[int]
    why: str | None = None
    missed: int = 0


def _passed(schedule: ScheduleRecord, now_us: int) -> Sequence[int]:
    """The due times up to now, from the schedule's next one on."""
    if schedule.due > now_us:
        return ()
    if schedule.cron is None:
        return range(schedule.due, now_us + 1, schedule.period or now_us + 1)
    zone, dues = schedule.tz or "UTC", [schedule.due]
    for due_us in due_times(schedule.cron, zone, schedule.due):
        if due_us > now_us:
            return dues
        if len(dues) == MOST_COUNTED - MOST_AT_ONCE:
            last = last_due_times(schedule.cron, zone, now_us, MOST_AT_ONCE)
            return [*dues, *(due for due in last if due > dues[-1])]
        dues.append(due_us)
    return dues


def _too_late(schedule: ScheduleRecord, dues: Sequence[int], now_us: int) -> int:
    """How many of the due times, from the first on, are later than allowed."""
    if schedule.late is None:
        return 0
    earliest_us = now_us - schedule.late
    count = bisect_left(dues, earliest_us - schedule.jitter)
    while count < len(dues) and dues[count] + shift_us(schedule, dues[count]) < earliest_us:
        count += 1
    return count


def _by_policy(schedule: ScheduleRecord, dues: Sequence[int], moment: _Moment) -> list[_Part]:
    if schedule.period is None and schedule.cron is None:
        return [_Part(dues)]  # once is never missed, only late
    begins = dues[-1] + shift_us(schedule, dues[-1])
    # A start just after one due time is late as a busy program is; after several, it is too late.
    attended = begins >= moment.since_us or len(dues) == 1
    on_time = attended and moment.now_us - begins <= ON_TIME_US
    missed = len(dues) - on_time
    if schedule.missed == "all":
        skipped, runs = dues[:-MOST_AT_ONCE], [_Part((due,)) for due in dues[-MOST_AT_ONCE:]]
    elif schedule.missed == "skip":
        skipped, runs = dues[:missed], [_Part(dues[-1:])] if on_time else []
    else:
        skipped, runs = (), [_Part(dues, missed=len(dues) if missed else 0)]
    if moment.busy and schedule.overlap == "skip" and runs:
        runs = [_Part(dues[len(skipped) :], why="overlap")]
    return [_Part(skipped, why="missed"), *runs] if skipped else runs


def _step(schedule: ScheduleRecord, part: _Part, next_us: int | None) -> Run | Skip:
    if part.why is not None:
        return Skip(part.dues[0], len(part.dues), part.why, next_us)
    due_us = part.dues[-1]
    return Run(due_us, part.missed, next_us, _note(schedule, due_us))


def _note(schedule: ScheduleRecord, due_us: int) -> str | None:
    if schedule.cron is None:
        return None
    return clock_note(schedule.cron, schedule.tz or "UTC", due_us)


def _json(raw: Raw | UnsetType) -> bytes:
    """Write a JSON value in the one way that equal ones share; without one, `{}`."""
    if raw is UNSET:
        return b"{}"
    return msgspec.json.encode(msgspec.json.decode(raw), order="sorted")
