"""Audit lines of schedules: set, fired, skipped, paused, cancelled; each says how many (R18)."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from agentctl.record_schedules import (
    PausedRecord,
    ResumedRecord,
    ScheduleRecord,
    SkippedRecord,
    UnscheduleRecord,
)
from agentctl.records import EventRecord, Record
from agentctl.times import format_duration, to_rfc3339

OF_SCHEDULES: Final = (ScheduleRecord, SkippedRecord, UnscheduleRecord, PausedRecord, ResumedRecord)

_WHY: Final = {
    "missed": ("missed", "nothing ran them in time"),
    "late": ("missed", "later than they may begin"),
    "overlap": ("skipped", "the one before hasn't ended"),
    "stuck": ("skipped", "so many before it are stuck"),
    "key": ("skipped", "its idempotency key stands for another event"),
}


def schedule_lines(record: Record) -> list[str]:
    """What happened to a schedule; [] of a record of another kind."""
    match record:
        case ScheduleRecord():
            how = f"{record.schedule} of {record.handler}, due {_at(record.due)}{_again(record)}"
            return [f"schedule set: {how}{_by(record.by or record.source)}"]
        case SkippedRecord():
            verb, why = _WHY.get(record.why, ("skipped", record.why))
            times = f"{_times(record.count)} of schedule {record.skipped}"
            return [f"{verb}: {times} from {_at(record.due)} on ({why})"]
        case UnscheduleRecord():
            return [f"schedule cancelled: {record.unschedule}{_by(record.by)}"]
        case PausedRecord():
            return [f"schedule paused: {record.paused}{_by(record.by)}"]
        case ResumedRecord():
            passed = f", {_times(record.count)} passed" if record.count else ""
            return [
                f"schedule resumed: {record.resumed}, due {_at(record.due)}{passed}{_by(record.by)}"
            ]
        case _:
            return []


def of_schedule(record: EventRecord) -> str:
    """Of an occurrence: which one, and what is unusual about it."""
    if record.schedule is None or record.occurrence is None:
        return ""
    note = f"; {record.note}" if record.note else ""
    return f" (schedule {record.schedule}, due {_at(record.occurrence)}{note})"


def stands_for(record: EventRecord) -> str:
    """Of an occurrence that stands for missed ones: how many, itself included."""
    run = "which this run counts for"
    return f"missed: {_times(record.missed)} of schedule {record.schedule} ({run})"


def _again(record: ScheduleRecord) -> str:
    if record.period is not None:
        return f", every {format_duration(timedelta(microseconds=record.period))}"
    return f", cron {record.cron} {record.tz}" if record.cron is not None else ""


def _by(who: str) -> str:
    return f" (by {who})" if who else ""


def _times(count: int) -> str:
    return "1 due time" if count == 1 else f"{count} due times"


def _at(instant_us: int) -> str:
    return to_rfc3339(instant_us)
