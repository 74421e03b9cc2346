"""Timing: when something is to run, as code, `kavach.toml` and the shell ask for it.

All instants are microseconds since the epoch, all durations microseconds. It says what is wanted;
`timetable` says when that is due.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import Struct

Missed: TypeAlias = Literal["coalesce", "skip", "all"]
Overlap: TypeAlias = Literal["skip", "queue", "allow"]
Source: TypeAlias = Literal["code", "file", "shell"]

LONGEST_NAME: Final = 128
"""Of a schedule, in characters."""


class Timing(Struct, frozen=True, omit_defaults=True):
    """When something is to run.

    Attributes:
        name: of the schedule; without one it is a single event, numbered now.
        due_us: the first due time; None without a period and cron: now; of cron: it follows.
        period_us: again after so long, on the grid of `due_us`.
        anchored: `due_us` was asked for by the clock; else it only follows from when it was asked,
            and the same asked again keeps the old grid.
        cron: five fields, in the zone `tz`.
        late_us: how late it may begin; later it is missed.
        key: the idempotency key of the event.
    """

    name: str | None = None
    due_us: int | None = None
    period_us: int | None = None
    anchored: bool = False
    cron: str | None = None
    tz: str | None = None
    missed: Missed = "coalesce"
    overlap: Overlap = "skip"
    jitter_us: int = 0
    late_us: int | None = None
    key: str | None = None

    @property
    def recurs(self) -> bool:
        """Whether it is due more than once."""
        return self.period_us is not None or self.cron is not None


class Sent(Struct, frozen=True, omit_defaults=True):
    """What a timing made: an event, or a schedule that makes events; as it is recorded.

    Attributes:
        instance: whose handler it runs, `Poller/my-poller`.
        event: the event's number; None of a schedule, whose events are numbered when they are due.
        schedule: the schedule's name.
        due_us: when it is due, of a schedule next.
        period_us: of a periodic schedule.
        key: the idempotency key of its event.
    """

    instance: str
    handler: str
    event: int | None = None
    schedule: str | None = None
    due_us: int | None = None
    period_us: int | None = None
    key: str | None = None

    @property
    def agent(self) -> str:
        """The agent whose handler it runs."""
        return self.instance.partition("/")[0]

    @property
    def shown(self) -> str:
        """What it is, in one line: the event's address, or the schedule and its due time."""
        if self.event is not None:
            return f"{self.instance}#{self.event}"
        return f"{self.instance} {self.schedule} {self.due_us}"
