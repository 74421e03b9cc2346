"""Changes of schedules: set, cancelled, paused, run once beside their grid (R18).

As `operations`: decides from what the journal says, and puts the answer on record with the change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from msgspec import Raw

from agentctl.core import setting, timetable
from agentctl.core.finding import find_occurrence, status_of
from agentctl.core.lanes import priority_of
from agentctl.core.lifecycle import Cancellation
from agentctl.core.setting import Wish
from agentctl.engines.changes import Accepted, Change
from agentctl.engines.local.changing.ground import Ground
from agentctl.engines.local.running.accepting import Wanted
from agentctl.engines.schedules import (
    FireRequest,
    Paused,
    PauseRequest,
    Scheduled,
    Unscheduled,
    UnscheduleRequest,
)
from agentctl.errors import Conflict, NotFound
from agentctl.names import Identity, format_instance, shell_words
from agentctl.nearest import nearest_hint
from agentctl.record_schedules import (
    PausedRecord,
    ResumedRecord,
    ScheduleRecord,
    SkippedRecord,
    UnscheduleRecord,
)
from agentctl.records import Record
from agentctl.value_errors import clean

Answered: TypeAlias = Callable[[Ground, Change, Any], Sequence[Record]]


def put(
    ground: Ground,
    wish: Wish,
    seed: str,
    answered: Callable[[Scheduled], Sequence[Record]],
    *,
    force: bool,
) -> Scheduled:
    """Set a schedule.

    Args:
        answered: the record of the answer, where it is to be remembered.

    Raises:
        Conflict: another source has set it, and this one doesn't insist.
    """
    name, of = wish.timing.name or "", wish.identity
    known = ground.history.schedules.live.get((of, name))
    wanted = wish.record(seed, ground.wall_us(), at_us=ground.now_us())
    record = setting.decide(ground.agent, known, wanted, anchored=wish.timing.anchored, force=force)
    stands = record or known
    assert stands is not None
    answer = Scheduled(
        format_instance(ground.agent, of),
        name,
        stands.due,
        record is not None,
        record is not None and known is not None,
        stands.paused,
    )
    records = [*answered(answer), *(() if record is None else (record,))]
    if records:
        ground.commit(records)
    # Crash here: set, whether it was answered or not: the same again changes nothing.
    if record is not None:
        ground.take(record)
    return answer


def unschedule(ground: Ground, request: UnscheduleRequest, answered: Answered) -> Unscheduled:
    """Cancel a schedule, or say what became of it.

    Raises:
        Conflict: `kavach.toml` sets it, and would again.
    """
    schedules, at = ground.history.schedules, (request.identity, request.name)
    known = schedules.live.get(at)
    if known is not None and request.due_us not in (None, known.due):
        known = None  # that one was replaced
    if known is None:
        return _unscheduled(ground, request, _what_became(ground, request))
    if known.source == "file":
        where = format_instance(ground.agent, known.of)
        raise Conflict(
            f"the schedule {known.schedule!r} of {where} is set by kavach.toml, and would be again",
            hint="take it out there and start the program anew; or let it rest: "
            f"agentctl schedule pause {shell_words(where, known.schedule)}",
        )
    answer = _unscheduled(ground, request, Cancellation.CANCELLED)
    by = clean(request.by)
    record = UnscheduleRecord(known.schedule, known.of, known.due, by, at=ground.now_us())
    ground.commit([*answered(ground, request, answer), record])
    # Crash here: cancelled, on record, whether it was answered or not.
    ground.take(record)
    return answer


def _unscheduled(ground: Ground, request: UnscheduleRequest, answer: Cancellation) -> Unscheduled:
    return Unscheduled(answer, format_instance(ground.agent, request.identity), request.name)


def _what_became(ground: Ground, request: UnscheduleRequest) -> Cancellation:
    """What to answer about a schedule that isn't there, or about an earlier one of its name."""
    schedules, at = ground.history.schedules, (request.identity, request.name)
    due_us = request.due_us
    event = find_occurrence(ground.history, request.identity, request.name, due_us)
    if event is not None:
        if event.end is None:
            return Cancellation.RUNNING
        cancelled = status_of(event.end) == Cancellation.CANCELLED
        return Cancellation.ALREADY_CANCELLED if cancelled else Cancellation.FINISHED
    if (gone := schedules.gone.get(at)) is not None:
        missed = isinstance(gone, SkippedRecord)
        return Cancellation.FINISHED if missed else Cancellation.ALREADY_CANCELLED
    if due_us is not None and due_us > ground.wall_us():
        return Cancellation.ALREADY_CANCELLED  # another took its place before it was due
    return Cancellation.UNKNOWN


def pause(ground: Ground, request: PauseRequest, answered: Answered) -> Paused:
    """Pause a schedule, or let it fire again.

    Raises:
        NotFound: there is none.
    """
    known = find(ground, request.identity, request.name)
    instance = format_instance(ground.agent, request.identity)
    if known.paused == request.pause:
        return Paused(instance, known.schedule, known.paused, changed=False, due_us=known.due)
    now_us, by = ground.now_us(), clean(request.by)
    record: PausedRecord | ResumedRecord
    if request.pause:
        record, due_us, passed = PausedRecord(known.schedule, known.of, by, at=now_us), known.due, 0
    else:
        passed, due_us = timetable.passed(known, ground.wall_us())
        record = ResumedRecord(known.schedule, known.of, due_us, passed, by, at=now_us)
    answer = Paused(instance, known.schedule, request.pause, True, due_us, passed)
    ground.commit([*answered(ground, request, answer), record])
    # Crash here: on record, whether it was answered or not.
    ground.take(record)
    return answer


def fire(ground: Ground, request: FireRequest) -> Accepted:
    """Run a schedule's handler once, beside its grid.

    Raises:
        NotFound: there is no such schedule.
    """
    known = find(ground, request.identity, request.name)
    return ground.accept(
        Wanted(
            known.of,
            known.handler,
            bytes(known.args),
            bytes(known.kwargs) if isinstance(known.kwargs, Raw) else None,
            priority=priority_of(known.lane),
            schedule=known.schedule,
            occurrence=timetable.Run(ground.wall_us(), 0, None),
            beside=True,
            request=request.id,
        )
    )


def find(ground: Ground, of: Identity, name: str) -> ScheduleRecord:
    """One of an instance's schedules.

    Raises:
        NotFound: it has none of that name.
    """
    found = ground.history.schedules.live.get((of, name))
    if found is None:
        where = format_instance(ground.agent, of)
        names = [one.schedule for one in ground.history.schedules.of(of)]
        raise NotFound(
            f"{where} has no schedule {name!r}",
            hint=nearest_hint(name, names, "schedules")
            if names
            else f"see what there is: agentctl schedule list {ground.agent}",
        )
    return found
