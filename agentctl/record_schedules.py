"""Records of schedules: set, moved on, paused, cancelled (R18).

A schedule is known by its instance and its name. Whatever moves it on says where to: folding a
journal computes no due time, so what was decided once stays, whatever becomes of the time zones.
"""

from __future__ import annotations

from msgspec import UNSET, Raw, UnsetType

from agentctl.record_base import RecordBase


class ScheduleRecord(RecordBase, frozen=True, rename={"from_": "from"}):
    """A schedule was set, in the place of one of the same name if there was one.

    Attributes:
        due: the next due time, on the grid; the grid is that of the first one.
        period: of a periodic one; without it and without `cron` it fires once.
        cron: five fields, in the zone `tz`.
        missed, overlap, jitter, late: the policies; `jitter` is at most so long, `late` how late
            an occurrence may begin.
        key: the idempotency key of the event that a single one makes.
        source: `code`, `file` or `shell`.
        lane: that of its occurrences; None: medium.
        seed: what the shift of each occurrence within `jitter` follows from.
        from_: the call that set it, if one of this agent's did; it counts with that call's result.
    """

    schedule: str
    of: tuple[str, ...] = ()
    handler: str = ""
    args: Raw = Raw(b"[]")
    kwargs: Raw | UnsetType = UNSET
    due: int = 0
    period: int | None = None
    cron: str | None = None
    tz: str | None = None
    missed: str = "coalesce"
    overlap: str = "skip"
    jitter: int = 0
    late: int | None = None
    key: str | None = None
    source: str = "code"
    seed: str = ""
    paused: bool = False
    lane: str | None = None
    from_: str | None = None
    by: str = ""
    at: int = 0


class SkippedRecord(RecordBase, frozen=True):
    """Occurrences don't run: `count` of them, from the due time `due` on.

    Attributes:
        why: `missed`, `late`, `overlap`, `stuck` or `key`.
        next: the due time that follows; None: there is none, and the schedule is gone.
    """

    skipped: str
    of: tuple[str, ...] = ()
    due: int = 0
    count: int = 1
    why: str = "missed"
    next: int | None = None
    at: int = 0


class UnscheduleRecord(RecordBase, frozen=True):
    """A schedule was cancelled; `due` is when it would have fired next."""

    unschedule: str
    of: tuple[str, ...] = ()
    due: int = 0
    by: str = ""
    at: int = 0


class PausedRecord(RecordBase, frozen=True):
    """A schedule fires no more until it is resumed."""

    paused: str
    of: tuple[str, ...] = ()
    by: str = ""
    at: int = 0


class ResumedRecord(RecordBase, frozen=True):
    """A paused schedule fires again, next at `due`; `count` due times passed meanwhile."""

    resumed: str
    of: tuple[str, ...] = ()
    due: int = 0
    count: int = 0
    by: str = ""
    at: int = 0
