"""Schedules folded from their records: what one of them costs where an instance has very many."""

from __future__ import annotations

from msgspec import Raw

from agentctl.core.schedules import Schedules
from agentctl.record_schedules import ScheduleRecord, SkippedRecord, UnscheduleRecord
from agentctl.records import EventRecord


class Name(str):
    """A name that counts what it is compared with."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other):
        Name.compared += 1
        return str.__eq__(self, other)


def test_that_one_schedule_is_over_costs_no_look_at_the_instances_others():
    schedules = Schedules()
    names = [Name(f"n{n}") for n in range(1000)]
    for name in names:
        schedules.set(ScheduleRecord(name, ("a",), "ring", due=5))
    Name.compared = 0
    at = {"of": ("a",), "schedule": names[-1], "occurrence": 5}
    schedules.moved(EventRecord(1, "ring", Raw(b"[]"), **at))
    schedules.skipped(SkippedRecord(names[-2], ("a",), due=5))
    schedules.cancelled(UnscheduleRecord(names[-3], ("a",), due=5))
    assert Name.compared < 30
    assert [one.schedule for one in schedules.of(("a",))] == names[:-3]


def test_a_name_set_anew_keeps_its_place_among_the_others():
    schedules = Schedules()
    for name in ("one", "two", "three", "one"):
        schedules.set(ScheduleRecord(name, ("a",), "ring", due=5))
    assert [one.schedule for one in schedules.of(("a",))] == ["one", "two", "three"]
    schedules.cancelled(UnscheduleRecord("one", ("a",)))
    schedules.set(ScheduleRecord("one", ("a",), "ring", due=6))
    assert [one.schedule for one in schedules.of(("a",))] == ["two", "three", "one"]
