"""Timing: when something is to run, as code, `kavach.toml` and the shell ask for it.

All instants are microseconds since the epoch, all durations microseconds. It says what is wanted;
`timetable` says when that is due. What can't be meant is refused here, before anything is set.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final, Literal, TypeAlias, get_args

from msgspec import Struct

from agentctl.core.cron import check_cron, read_cron
from agentctl.core.lanes import Priority, check_priority
from agentctl.errors import UsageError
from agentctl.times import LAST_INSTANT_US, format_duration
from agentctl.zones import find_zone

Missed: TypeAlias = Literal["coalesce", "skip", "all"]
Overlap: TypeAlias = Literal["skip", "queue", "allow"]
Source: TypeAlias = Literal["code", "file", "shell"]

LONGEST_NAME: Final = 128
"""Of a schedule, in characters."""

LONGEST_KEY: Final = 256
"""An idempotency key, in characters."""

SHORTEST_PERIOD_US: Final = 1_000
"""1 ms: each run is an event whose records are synced, and no disk keeps up with more."""

_DAY_US: Final = 86_400_000_000
_MISSED: Final = get_args(Missed)
_OVERLAP: Final = get_args(Overlap)


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
        priority: the lane in which its events queue.
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
    priority: Priority = "medium"

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
        period_us: of a periodic schedule; cron: of one by cron.
        key: the idempotency key of its event.
    """

    instance: str
    handler: str
    event: int | None = None
    schedule: str | None = None
    due_us: int | None = None
    period_us: int | None = None
    key: str | None = None
    cron: str | None = None

    @property
    def recurs(self) -> bool:
        """Whether it is a schedule that makes more than one event."""
        return self.period_us is not None or self.cron is not None

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


def check(timing: Timing) -> None:
    """Refuse a timing that can't be meant.

    Raises:
        UsageError: it says what is wrong, and how to go on.
    """
    if timing.name is not None:
        _check_name(timing.name)
    elif timing.recurs:
        raise UsageError("what recurs needs a name", hint='name it, like name="cleanup"')
    if timing.key is not None:
        check_key(timing.key)
    if timing.cron is not None:
        _check_cron(timing)
    if timing.due_us is not None:
        _check_instant(timing.due_us + max(0, timing.jitter_us), timing.due_us)
    check_priority(timing.priority)
    _check_policies(timing)


def check_key(key: str) -> None:
    """Refuse an idempotency key that can't be one.

    Raises:
        UsageError: it is too long, or nothing.
    """
    if not 0 < len(key) <= LONGEST_KEY:
        raise UsageError(
            f"an idempotency key has 1 to {LONGEST_KEY} characters", hint="choose another key"
        )


def _check_name(name: str) -> None:
    shown = ascii(name if len(name) <= 40 else f"{name[:37]}...")
    if not name or name != name.strip():
        what = "begins or ends with a space" if name.strip() else "is empty"
        raise UsageError(f"the schedule's name {shown} {what}", hint="name it like cleanup")
    if len(name) > LONGEST_NAME:
        raise UsageError(
            f"the schedule's name {shown} has {len(name)} characters",
            hint=f"use at most {LONGEST_NAME}",
        )
    if "/" in name or not name.isprintable():
        raise UsageError(
            f"the schedule's name {shown} has a / or a control character in it",
            hint="use letters, digits, - and _, like daily-report",
        )


def _check_cron(timing: Timing) -> None:
    assert timing.cron is not None
    if timing.period_us is not None:
        raise UsageError("a period and a cron expression don't go together", hint="leave one out")
    if timing.tz is None:
        raise UsageError(
            f"the cron expression {timing.cron[:80]!r} has no zone",
            hint="say where its clock hangs, like Europe/Berlin, or UTC",
        )
    check_cron(timing.cron)
    find_zone(timing.tz)


def _check_instant(last_us: int, due_us: int) -> None:
    if not (due_us >= 0 and last_us <= LAST_INSTANT_US):
        raise UsageError("this moment is none that a date can show", hint="from 1970 to 9999")


def _check_policies(timing: Timing) -> None:
    for what, word, words in (
        ("missed", timing.missed, _MISSED),
        ("overlap", timing.overlap, _OVERLAP),
    ):
        if word not in words:
            raise UsageError(f"{what} can't be {word!r:.80}", hint=f"it is {', '.join(words)}")
    for what, duration_us, least_us in (
        ("period", timing.period_us, SHORTEST_PERIOD_US),
        ("jitter", timing.jitter_us, 0),
        ("time that it may be late", timing.late_us, 0),
    ):
        _check_duration(what, duration_us, least_us)
    if timing.recurs and timing.jitter_us:
        gap_us = timing.period_us or read_cron(timing.cron or "").shortest_gap_us()
        if timing.jitter_us >= gap_us:
            raise UsageError(
                f"the jitter {_shown(timing.jitter_us)} is too long: the next one is due by then",
                hint=f"make it shorter than {_shown(gap_us)}",
            )


def _check_duration(what: str, duration_us: int | None, least_us: int) -> None:
    if duration_us is None or least_us <= duration_us <= LAST_INSTANT_US:
        return
    bound = "short" if duration_us < least_us else "long"
    limit_us = least_us if duration_us < least_us else LAST_INSTANT_US // _DAY_US * _DAY_US
    raise UsageError(
        f"the {what}, {_shown(duration_us)}, is too {bound}",
        hint=f"the {bound}est is {_shown(limit_us)}",
    )


def _shown(us: int) -> str:
    if us < 0:
        return f"-{_shown(-us)}"
    try:
        return format_duration(timedelta(microseconds=us))
    except OverflowError:
        return f"{us}us"
