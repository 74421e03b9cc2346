"""The model of schedules: what each journal says became of every due time, and whether it may.

`Ledger.take` is given the records of a journal in order, with what the clock showed meanwhile. It
keeps the grid of each schedule by itself, and holds every record to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any

from agentctl import Agent, Capability, call_key, handler, occurrence, sleep
from agentctl.core.cron_times import due_times
from agentctl.core.timetable import ON_TIME_US
from agentctl.times import to_us

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MINUTE_US = 60_000_000
MOST_AT_ONCE = 100


class World(Capability):
    async def mark(self, name: str, due_us: int, missed: int) -> None: ...


class Marks(World):
    """What occurrences left in the world: the due time and the missed ones, by call key."""

    def __init__(self) -> None:
        self.made: dict[str, tuple[str, int, int]] = {}

    async def mark(self, name: str, due_us: int, missed: int) -> None:
        key = str(call_key())
        assert self.made.setdefault(key, (name, due_us, missed)) == (name, due_us, missed)
        await asyncio.sleep(0)


class Rota(Agent):
    """Without state: its events run side by side, unless their schedule says otherwise."""

    world: World

    @handler
    async def mark(self, name: str, seconds: float) -> None:
        one = occurrence()
        assert one is not None
        await self.world.mark(name, to_us(one.due - EPOCH), one.missed)
        if seconds:
            await sleep(seconds)


@dataclass(frozen=True)
class Span:
    """One life of a program, or one change without one.

    Attributes:
        since_us: when it began to attend to schedules; None: it never did.
        highest_us: the latest time that the clock showed.
        steady: the clock wasn't set.
    """

    since_us: int | None
    highest_us: int
    steady: bool


@dataclass
class Known:
    """One schedule as the model knows it; `due_us` is the next due time, and `record` all else."""

    record: dict[str, Any]
    due_us: int
    paused: bool = False

    def after(self, due_us: int) -> Iterator[int]:
        """The grid behind a due time that stands on it."""
        if "cron" in self.record:
            yield from due_times(self.record["cron"], self.record["tz"], due_us)
        while "period" in self.record:
            due_us += self.record["period"]
            yield due_us

    def grid(self) -> Iterator[int]:
        """The due times from the next one on."""
        yield self.due_us
        yield from self.after(self.due_us)

    def until(self, due_us: int) -> list[int]:
        """The due times up to one, which must be one of them."""
        found = list(takewhile(lambda one: one <= due_us, self.grid()))
        assert found[-1:] == [due_us], "the grid was left"
        return found

    @property
    def recurs(self) -> bool:
        return "period" in self.record or "cron" in self.record


@dataclass
class Ledger:
    """What became of every schedule.

    Attributes:
        answered: the due times of each reign of a schedule that were answered for.
        runs: the occurrences that were accepted: event, name, due time, missed.
        skips: how many records say that due times don't run.
    """

    live: dict[str, Known] = field(default_factory=dict)
    runs: dict[int, tuple[str, int, int]] = field(default_factory=dict)
    skips: int = 0
    reigns: int = 0
    answered: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    reign: dict[str, int] = field(default_factory=dict)
    open: dict[str, set[int]] = field(default_factory=dict)
    begun: dict[str, set[int]] = field(default_factory=dict)
    side_by_side: set[str] = field(default_factory=set)

    def take(self, record: dict[str, Any], span: Span) -> None:
        """Hold one record to what is known."""
        kind = next(iter(record))
        if kind == "schedule":
            self._set(record, span)
        elif kind == "event" and "schedule" in record:
            self._event(record, span)
        elif kind == "skipped":
            self._skip(record, span)
        elif kind == "unschedule":
            assert record.get("due", 0) == self.live.pop(record[kind]).due_us
        elif kind == "paused":
            self.live[record[kind]].paused = True
        elif kind == "resumed":
            self._resume(record, span)
        elif kind == "start":
            self._start(record[kind])
        elif kind in ("done", "cancelled", "missed"):
            for events in (*self.open.values(), *self.begun.values()):
                events.discard(record[kind])

    def _set(self, record: dict[str, Any], span: Span) -> None:
        name, before = record["schedule"], self.live.get(record["schedule"])
        paused = record.get("paused", False)
        assert paused == (before is not None and before.paused), "a pause came or went by itself"
        self.live[name] = Known(record, record["due"], paused)
        self.reigns += 1
        self.reign[name] = self.reigns
        if record.get("overlap") == "allow":
            self.side_by_side.add(name)

    def _answer(self, name: str, dues: list[int]) -> None:
        self.answered.setdefault((name, self.reign[name]), []).extend(dues)

    def _event(self, record: dict[str, Any], span: Span) -> None:
        number, name, due_us = record["event"], record["schedule"], record["occurrence"]
        assert number not in self.runs, "a number was used again"
        self.runs[number] = (name, due_us, record.get("missed", 0))
        if record.get("beside"):
            return
        known, missed = self.live[name], record.get("missed", 0)
        policy, dues = known.record.get("missed", "coalesce"), known.until(due_us)
        assert not known.paused, "it ran while it was paused"
        assert due_us <= span.highest_us, "early"
        assert span.since_us is not None, "nobody attended to schedules"
        assert len(dues) == max(1, missed), "it stands for other due times than those missed"
        assert not missed or (policy == "coalesce" and known.recurs)
        late_us = known.record.get("late")
        if late_us is not None and span.steady:
            assert record["at"] - due_us <= late_us, "it began too late"
        if known.recurs and policy != "all" and not missed:
            soon = record["at"] - due_us <= ON_TIME_US
            assert due_us >= span.since_us or soon, "it was missed, and nothing says so"
        if self.open.get(name) and known.recurs and policy != "all":
            assert known.record.get("overlap", "skip") != "skip", "two at once"
        self.open.setdefault(name, set()).add(number)
        self._answer(name, dues)
        self._move(name, known, due_us, record.get("next"))

    def _skip(self, record: dict[str, Any], span: Span) -> None:
        name, why, count = record["skipped"], record.get("why", "missed"), record.get("count", 1)
        known = self.live[name]
        grid = known.grid()
        dues = [due for due, _ in zip(grid, range(count), strict=False)]
        assert len(dues) == count
        assert record["due"] == dues[0], "what is skipped isn't next"
        assert dues[-1] <= span.highest_us, "early"
        assert not known.paused
        policy = known.record.get("missed", "coalesce")
        if why == "late":
            assert "late" in known.record
        elif why == "overlap":
            assert known.record.get("overlap", "skip") == "skip"
            assert self.open.get(name), "nothing was in its way"
        else:
            assert why == "missed"
            assert policy == "skip" or (policy == "all" and record.get("next") is not None)
        self.skips += 1
        self._answer(name, dues)
        self._move(name, known, dues[-1], record.get("next"))

    def _move(self, name: str, known: Known, due_us: int, next_us: int | None) -> None:
        assert next_us == next(known.after(due_us), None), "the grid was left"
        if next_us is None:
            del self.live[name]
        else:
            known.due_us = next_us

    def _resume(self, record: dict[str, Any], span: Span) -> None:
        known = self.live[record["resumed"]]
        count = record.get("count", 0)
        if known.recurs:
            passed = known.until(record["due"])[:-1]
            assert count == len(passed), "a pause passed over other due times"
            assert all(due <= span.highest_us for due in passed)
        else:
            assert (count, record["due"]) == (0, known.due_us)
        known.paused = False
        known.due_us = record["due"]

    def _start(self, number: int) -> None:
        name = self.runs[number][0] if number in self.runs else None
        if name is None or number not in self.open.get(name, ()):
            return
        begun = self.begun.setdefault(name, set())
        assert not begun - {number} or name in self.side_by_side, "side by side"
        begun.add(number)

    def check(self, now_us: int | None) -> None:
        """Each due time was answered for once; and with everything at rest none is left behind."""
        for dues in self.answered.values():
            assert len(dues) == len(set(dues)), "a due time was answered for twice"
        for known in self.live.values() if now_us is not None else ():
            assert known.paused or known.due_us > now_us, "a due time was lost"
