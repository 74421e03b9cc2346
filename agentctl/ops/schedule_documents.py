"""The JSON documents of commands that tell about schedules, or change them.

Invariant: as in `documents`. Times are RFC 3339, UTC, and null where there is none; durations are
seconds.
"""

from __future__ import annotations

from msgspec import Raw, Struct


class SeenSchedule(Struct, frozen=True):
    """What is to come: a schedule, which has a name, or a scheduled event, which has a number.

    Attributes:
        args: by position.
        due: when it fires next; of a paused one, when it would.
        source: who set it: `code`, `file` or `shell`; null of an event.
    """

    agent: str
    instance: str
    name: str | None
    event: str | None
    key: str | None
    handler: str
    args: Raw
    due: str | None
    period_s: float | None
    cron: str | None
    tz: str | None
    source: str | None
    paused: bool


class ScheduleListDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.schedule-list/1"):
    """What is to come of some agents, what is due next first."""

    schedules: tuple[SeenSchedule, ...]


class DueTime(Struct, frozen=True):
    """A due time.

    Attributes:
        local: the same in the schedule's zone, null where it has none.
        note: what is unusual about it: a night on which the clock changes.
    """

    at: str
    local: str | None
    note: str | None


class KeptSchedule(Struct, frozen=True):
    """All that is on record of a schedule.

    Attributes:
        due: when it fires next, on its grid; `begins` with its shift within the jitter.
        set: when it was set, and `by` whom, where that is known.
    """

    instance: str
    name: str
    handler: str
    args: Raw
    kwargs: Raw | None
    due: str | None
    begins: str | None
    period_s: float | None
    cron: str | None
    tz: str | None
    missed: str
    overlap: str
    jitter_s: float
    max_late_s: float | None
    source: str
    paused: bool
    set: str | None
    by: str | None
    priority: str


class ScheduleDocument(
    KeptSchedule, frozen=True, tag_field="schema", tag="agentctl.schedule-show/1"
):
    """One schedule, and when it is due in the times to come."""

    next: tuple[DueTime, ...]


class SchedulesOfAgent(Struct, frozen=True):
    """The schedules of one agent."""

    agent: str
    schedules: tuple[KeptSchedule, ...]


class SchedulesDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.schedules/1"):
    """The schedules of some agents."""

    agents: tuple[SchedulesOfAgent, ...]


class ScheduleSetDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.schedule-set/1"):
    """A schedule that is set.

    Attributes:
        changed: false: it was set already, just so.
        replaced: it took the place of another.
    """

    instance: str
    name: str
    handler: str
    due: str | None
    changed: bool
    replaced: bool
    paused: bool


class ScheduleCancelDocument(
    Struct, frozen=True, tag_field="schema", tag="agentctl.schedule-cancel/1"
):
    """How a cancellation was answered, in the words of `agentctl.cancel/1`."""

    answer: str
    instance: str
    name: str


class SchedulePauseDocument(
    Struct, frozen=True, tag_field="schema", tag="agentctl.schedule-pause/1"
):
    """Whether a schedule is paused now.

    Attributes:
        changed: false: it was so already.
        due: when it fires next; null while it is paused.
        skipped: how many due times passed while it was paused.
    """

    instance: str
    name: str
    paused: bool
    changed: bool
    due: str | None
    skipped: int


class SchedulePreviewDocument(
    Struct, frozen=True, tag_field="schema", tag="agentctl.schedule-preview/1"
):
    """When a cron expression is due in the times to come."""

    cron: str
    tz: str
    times: tuple[DueTime, ...]
