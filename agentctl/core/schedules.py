"""Schedules: the schedules of an agent's instances, folded from their records (R18).

A record that can't follow what stands before it raises `ValueError`. Decides nothing: where a
schedule moves to stands in the record that moves it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from agentctl.names import Identity
from agentctl.record_schedules import (
    PausedRecord,
    ResumedRecord,
    ScheduleRecord,
    SkippedRecord,
    UnscheduleRecord,
)
from agentctl.records import EventRecord, Record

ScheduleId: TypeAlias = tuple[Identity, str]
"""An instance and a name."""


class Schedules:
    """All schedules of one agent.

    Attributes:
        live: by instance and name.
        gone: those that were cancelled, or missed for good, in that order, until they are
            forgotten.
    """

    def __init__(self) -> None:
        self.live: dict[ScheduleId, ScheduleRecord] = {}
        self.gone: OrderedDict[ScheduleId, UnscheduleRecord | SkippedRecord] = OrderedDict()
        self._names: dict[Identity, dict[str, None]] = {}

    def of(self, identity: Identity) -> Iterator[ScheduleRecord]:
        """The schedules of one instance, in the order in which they were first set."""
        for name in self._names.get(identity, ()):
            yield self.live[identity, name]

    def fold(self, record: Any, *, carried_over: bool) -> ScheduleId:
        """Take a record of a schedule, and say of which.

        A rewrite takes along that one is gone, and not the one itself.
        """
        if carried_over and isinstance(record, UnscheduleRecord | SkippedRecord):
            self.remember(record)
        else:
            FOLDS[type(record)](self, record)
        return id_of(record)

    def set(self, record: ScheduleRecord) -> None:
        """Take a schedule, in the place of one of the same name."""
        at = record.of, record.schedule
        if at not in self.live:
            self._names.setdefault(record.of, {})[record.schedule] = None
        self.gone.pop(at, None)
        self.live[at] = record

    def moved(self, record: EventRecord) -> None:
        """Take an occurrence: its record moves the schedule on."""
        assert record.schedule is not None
        self._move(record.of, record.schedule, record.next)

    def skipped(self, record: SkippedRecord) -> None:
        """Take note of occurrences that don't run."""
        self._move(record.of, record.skipped, record.next)
        if record.next is None:
            self.remember(record)

    def _move(self, of: Identity, name: str, due_us: int | None) -> None:
        known = self._known(of, name)
        if due_us is None:
            self._drop((of, name))
        else:
            self.live[of, name] = msgspec.structs.replace(known, due=due_us)

    def cancelled(self, record: UnscheduleRecord) -> None:
        """Take note that a schedule was cancelled."""
        self._known(record.of, record.unschedule)
        self._drop((record.of, record.unschedule))
        self.remember(record)

    def remember(self, record: UnscheduleRecord | SkippedRecord) -> None:
        """Remember that a schedule is gone, for who asks after it."""
        at = id_of(record)
        self.gone.pop(at, None)
        self.gone[at] = record

    def paused(self, record: PausedRecord) -> None:
        """Take note that a schedule is paused."""
        known = self._known(record.of, record.paused)
        self.live[record.of, record.paused] = msgspec.structs.replace(known, paused=True)

    def resumed(self, record: ResumedRecord) -> None:
        """Take note that a schedule fires again."""
        known = self._known(record.of, record.resumed)
        self.live[record.of, record.resumed] = msgspec.structs.replace(
            known, paused=False, due=record.due
        )

    def forget(self, of: Identity) -> None:
        """Drop the schedules of an instance that was deleted."""
        for name in self._names.pop(of, ()):
            del self.live[of, name]
        for at in [at for at in self.gone if at[0] == of]:
            del self.gone[at]

    def forget_gone(self, before_us: int) -> None:
        """Forget what was cancelled before then."""
        while self.gone and (oldest := next(iter(self.gone.values()))).at < before_us:
            del self.gone[id_of(oldest)]

    def _known(self, of: Identity, name: str) -> ScheduleRecord:
        found = self.live.get((of, name))
        if found is None:
            raise ValueError(f"there is no schedule {name!r} of {'/'.join(of) or 'the agent'}")
        return found

    def _drop(self, at: ScheduleId) -> None:
        of, name = at
        del self.live[at]
        names = self._names[of]
        del names[name]
        if not names:
            del self._names[of]


def id_of(record: Any) -> ScheduleId:
    """Which schedule a record is about."""
    return record.of, getattr(record, record.__struct_fields__[0])


FOLDS: Final[Mapping[type, Callable[[Schedules, Any], None]]] = {
    ScheduleRecord: Schedules.set,
    SkippedRecord: Schedules.skipped,
    UnscheduleRecord: Schedules.cancelled,
    PausedRecord: Schedules.paused,
    ResumedRecord: Schedules.resumed,
}


def is_made_by_call(record: Record) -> bool:
    """Whether a call of the same agent made it: it counts once the call's result is there."""
    of = type(record)
    if of is EventRecord:
        return record.from_ is not None and record.asker is None  # type: ignore[union-attr]
    return of is ScheduleRecord and record.from_ is not None  # type: ignore[union-attr]
