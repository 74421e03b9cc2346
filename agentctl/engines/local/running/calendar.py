"""Calendar: what an agent is to begin at a moment: its due events, and its schedules (R18).

An occurrence is accepted by one record, which moves its schedule on: accepted and moved can't come
apart. `core.timetable` decides which occurrences run; this puts them on record and lets them begin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from agentctl.core import timetable
from agentctl.core.audit import audit_lines
from agentctl.core.event_history import EventHistory
from agentctl.core.history import JournalHistory
from agentctl.core.lanes import priority_of
from agentctl.core.schedules import ScheduleId, id_of
from agentctl.engines.local.running.accepting import Wanted, digest_of, find_same
from agentctl.engines.local.running.due import DueTimes
from agentctl.engines.local.running.holders import Holders
from agentctl.engines.local.running.program import ProgramCore
from agentctl.errors import Conflict, EventError, UsageError
from agentctl.names import Identity, format_instance, shell_words
from agentctl.record_schedules import ScheduleRecord, SkippedRecord
from agentctl.records import EventRecord, Record, encode
from agentctl.sdk.fields import AgentSpec

MOST_STUCK: Final = 10
"""So many occurrences of a schedule may be stuck; further ones are skipped."""

Moment: TypeAlias = int | ScheduleId
"""What comes at a moment: an event, or a schedule's next occurrence."""


@dataclass(frozen=True)
class Agenda:
    """What a calendar works on.

    Attributes:
        write: puts bodies and their audit lines on record.
        soon: sees to it that what was put on record is durable within 10 ms.
        begin: takes an event whose moment has come, or that was made by a schedule.
        moved: is told of a schedule that fired, or was changed.
    """

    spec: AgentSpec
    history: JournalHistory
    program: ProgramCore
    write: Callable[[Sequence[bytes], Sequence[str]], None]
    soon: Callable[[], None]
    begin: Callable[[EventHistory], None]
    moved: Callable[[ScheduleId], None]


class Calendar:
    """The calendar of one agent."""

    def __init__(self, agenda: Agenda) -> None:
        self._agenda = agenda
        self._history = agenda.history
        self._schedules = agenda.history.schedules
        self._program = agenda.program
        self._due: DueTimes[Moment] = DueTimes(agenda.program, self._come)
        self._lines: Holders[ScheduleId] = Holders()
        self._under_way: dict[ScheduleId, set[int]] = {}
        self._stuck: dict[ScheduleId, set[int]] = {}
        self._events = 0
        self._since_us: int | None = None

    # -- moments

    @property
    def waiting(self) -> int:
        """How many accepted events wait for their moment."""
        return self._events

    @property
    def rest_s(self) -> float | None:
        """Seconds until the next moment, by the wall clock; None if there is none."""
        return self._due.rest_s

    def holding(self) -> set[int]:
        """The occurrences that others of their schedule wait for."""
        return self._lines.holding()

    def add(self, event: EventHistory, due_us: int) -> None:
        """Let an accepted event begin at its moment."""
        self._events += 1
        self._due.add(event.number, due_us)

    def withdraw(self, event: EventHistory) -> None:
        """Let an event no longer wait, for its moment or for the occurrence before it."""
        if event.number in self._due:
            self._events -= 1
            self._due.withdraw(event.number)
        if (at := _schedule_of(event.accepted)) is not None:
            self._lines.leave(at, event.number)

    def _come(self, key: Moment) -> None:
        if isinstance(key, int):
            self._events -= 1
            self._agenda.begin(self._history.open[key])
        else:
            self._fire(key)

    def close(self) -> None:
        """Wait no longer; what is due comes at the next start."""
        self._due.close()

    # -- schedules

    def open(self) -> None:
        """Attend to the schedules from now on; before, they only lie on record."""
        self._since_us = self._program.clock.now_us()
        live = self._schedules.live.items()
        self._due.add_all((at, timetable.begins_us(one)) for at, one in live if not one.paused)
        self._tell_of_handlers_gone()

    def _tell_of_handlers_gone(self) -> None:
        """Say now which schedules would only make events that are stuck, not when they are due."""
        spec = self._agenda.spec
        for (of, name), one in self._schedules.live.items():
            if one.handler not in spec.handlers:
                where = format_instance(spec.name, of)
                self._program.listener.warned(
                    f"{where}: there is no handler {one.handler!r} any more, which the schedule "
                    f"{name!r} runs: each occurrence will be stuck; put it back, or: "
                    f"agentctl schedule cancel {shell_words(where, name)}"
                )
                return  # one says what to do; the others are told of when they are stuck

    def arm(self, at: ScheduleId) -> None:
        """Wait for a schedule's next occurrence, as it stands now; or for none."""
        self._agenda.moved(at)
        if self._since_us is None:
            return
        schedule = self._schedules.live.get(at)
        if schedule is None or schedule.paused:
            self._due.withdraw(at)
        else:
            self._due.add(at, timetable.begins_us(schedule))

    def take(self, record: Record) -> None:
        """Take what is on record of a schedule, and wait for what comes of it."""
        self._schedules.fold(record, carried_over=False)
        self.arm(id_of(record))

    def forget(self, identity: Identity) -> None:
        """Drop the schedules of an instance that is deleted, from its history, too."""
        names = [schedule.schedule for schedule in self._schedules.of(identity)]
        self._schedules.forget(identity)
        for name in names:
            self.arm((identity, name))

    def _fire(self, at: ScheduleId) -> None:
        """Put on record what becomes of the due times of a schedule that have passed."""
        schedule, now_us = self._schedules.live[at], self._program.clock.now_us()
        assert self._since_us is not None
        if now_us >= timetable.begins_us(schedule):  # else the clock was set back in between
            busy = bool(self._under_way.get(at))
            try:
                steps = timetable.plan(schedule, now_us=now_us, since_us=self._since_us, busy=busy)
            except UsageError as error:  # its zone isn't known on this machine
                name = f"{format_instance(self._agenda.spec.name, schedule.of)} {schedule.schedule}"
                self._program.listener.warned(f"the schedule {name} rests: {error.message}")
                return
            self._take(schedule, [self._unless_skipped(schedule, step) for step in steps])
        self.arm(at)

    def _take(self, schedule: ScheduleRecord, steps: Sequence[timetable.Step]) -> None:
        records: list[EventRecord | SkippedRecord] = []
        number, now_us = self._history.next_event, self._program.now_us()
        for step in steps:
            if isinstance(step, timetable.Run):
                wanted = self._occurrence(schedule, step)
                records.append(wanted.record(number, self._program.entropy(), now_us))
                number += 1
            else:
                records.append(_skipped(schedule, step, now_us))
        bodies = [encode(record) for record in records]
        agent = self._agenda.spec.name
        lines = [line for record in records for line in audit_lines(agent, record, None)]
        self._agenda.write(bodies, lines)
        self._agenda.soon()  # what is only skipped waits for nothing, and is to be told of
        # Crash here: accepted and moved on; or, cut short, the rest is decided anew.
        for record in records:
            if isinstance(record, SkippedRecord):
                self._schedules.skipped(record)
            else:
                self._schedules.moved(record)
                event = EventHistory(record, b"")
                self._history.begin(event)
                self._agenda.begin(event)

    def _occurrence(self, schedule: ScheduleRecord, step: timetable.Run) -> Wanted:
        return Wanted(
            schedule.of,
            schedule.handler,
            bytes(schedule.args),
            bytes(schedule.kwargs) if schedule.kwargs else None,
            key=schedule.key,
            priority=priority_of(schedule.lane),
            digest=None if schedule.key is None else self._digest(schedule),
            occurrence=step,
            schedule=schedule.schedule,
        )

    def _digest(self, schedule: ScheduleRecord) -> str | None:
        """What the occurrence's key stands for; None where its handler is gone or has changed."""
        handler = self._agenda.spec.handlers.get(schedule.handler)
        if handler is None:
            return None
        kwargs = bytes(schedule.kwargs) if schedule.kwargs else None
        return digest_of(handler, bytes(schedule.args), kwargs)

    def _unless_skipped(self, schedule: ScheduleRecord, step: timetable.Step) -> timetable.Step:
        """Skip an occurrence whose key stands for an event already (R17), or that would be stuck.

        Stuck ones hold nobody up, but all of them run at the next start: they mustn't pile up.
        """
        if isinstance(step, timetable.Skip):
            return step
        if len(self._stuck.get(id_of(schedule), ())) >= MOST_STUCK:
            count = max(1, step.missed)
            return timetable.Skip(step.due_us, count, "stuck", step.next_us)
        if schedule.key is None:
            return step
        try:
            wanted = self._occurrence(schedule, step)
            known = find_same(self._agenda.spec.name, self._history, wanted) is not None
        except (Conflict, EventError):
            known = True
        return timetable.Skip(step.due_us, 1, "key", step.next_us) if known else step

    # -- one occurrence after another

    def may_begin(self, accepted: EventRecord) -> bool:
        """Whether an occurrence may begin now; else it waits for the one before it."""
        at = _schedule_of(accepted)
        if at is None:
            return True
        _discard(self._stuck, at, accepted.event)
        self._under_way.setdefault(at, set()).add(accepted.event)
        if accepted.next is None:
            return True  # it fires once: nothing queues behind it
        schedule = self._schedules.live.get(at)
        if schedule is not None and schedule.overlap == "allow":
            return True
        return self._lines.take(at, accepted.event)

    def ended(self, accepted: EventRecord, *, stuck: bool = False) -> int | None:
        """Take note that an event came to rest; returns the occurrence that may begin now."""
        at = _schedule_of(accepted)
        if at is None:
            return None
        _discard(self._under_way, at, accepted.event)
        if stuck:
            self._stuck.setdefault(at, set()).add(accepted.event)
        else:
            _discard(self._stuck, at, accepted.event)
        return self._lines.free(accepted.event)


def _discard(numbers: dict[ScheduleId, set[int]], at: ScheduleId, number: int) -> None:
    there = numbers.get(at)
    if there is not None:
        there.discard(number)
        if not there:
            del numbers[at]


def _schedule_of(accepted: EventRecord) -> ScheduleId | None:
    return (accepted.of, accepted.schedule or "") if accepted.moves else None


def _skipped(schedule: ScheduleRecord, step: timetable.Skip, at_us: int) -> SkippedRecord:
    return SkippedRecord(
        schedule.schedule,
        schedule.of,
        step.due_us,
        step.count,
        step.why,
        step.next_us,
        at=at_us,
    )
