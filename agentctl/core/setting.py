"""Setting a schedule: what goes on record where one of its name may be there already (R18)."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Raw

from agentctl.core import timetable
from agentctl.core.lanes import recorded
from agentctl.core.timing import Sent, Source, Timing
from agentctl.errors import Conflict
from agentctl.names import Identity, format_instance, shell_words
from agentctl.record_schedules import ScheduleRecord


class Wish(msgspec.Struct, frozen=True):
    """A schedule as somebody wants it, its arguments checked.

    Attributes:
        from_: the call that sets it, of this agent's own.
        by: the person who does.
    """

    identity: Identity
    handler: str
    args: bytes
    kwargs: bytes | None
    timing: Timing
    source: Source
    from_: str | None = None
    by: str = ""

    def record(self, seed: str, now_us: int, *, at_us: int | None = None) -> ScheduleRecord:
        """Its record, with the first due time, which counts from now.

        Args:
            at_us: when it goes on record, where the clock was set back since the last record.
        """
        timing = self.timing
        assert timing.name is not None
        return ScheduleRecord(
            timing.name,
            self.identity,
            self.handler,
            Raw(self.args),
            UNSET if self.kwargs is None else Raw(self.kwargs),
            timetable.first_due(timing, now_us),
            timing.period_us,
            timing.cron,
            timing.tz,
            timing.missed,
            timing.overlap,
            timing.jitter_us,
            timing.late_us,
            timing.key,
            self.source,
            seed,
            lane=recorded(timing.priority),
            from_=self.from_,
            by=self.by,
            at=now_us if at_us is None else at_us,
        )


def decide(
    agent: str, known: ScheduleRecord | None, wanted: ScheduleRecord, *, anchored: bool, force: bool
) -> ScheduleRecord | None:
    """What goes on record; None: it is there already, just so.

    A pause stays, whoever sets the schedule anew.

    Raises:
        Conflict: another source has set it, and this one doesn't insist.
    """
    if known is None:
        return wanted
    if known.source != wanted.source and not force:
        raise taken(agent, known, wanted.source)
    if known.source == wanted.source and timetable.same(known, wanted, anchored=anchored):
        return None
    return msgspec.structs.replace(wanted, paused=known.paused)


_WHO = {"code": "the agent's own code", "file": "the file kavach.toml", "shell": "the shell"}


def taken(agent: str, known: ScheduleRecord, source: str) -> Conflict:
    """The refusal of a name that another source has taken."""
    where = format_instance(agent, known.of)
    cancel = f"agentctl schedule cancel {shell_words(where, known.schedule)}"
    if known.source == "file":
        hint = "choose another name; or take it out of kavach.toml first"
    else:
        hint = f"choose another name; or take it away first: {cancel}"
    if source == "shell":
        hint += "; or replace it all the same, with --force"
    return Conflict(
        f"the schedule {known.schedule!r} of {where} was set by {_WHO[known.source]}, "
        f"and {_WHO[source]} can't replace it",
        hint=hint,
    )


def sent_of(agent: str, schedule: ScheduleRecord) -> Sent:
    """What who set a schedule is told of it."""
    return Sent(
        format_instance(agent, schedule.of),
        schedule.handler,
        schedule=schedule.schedule,
        due_us=schedule.due,
        period_us=schedule.period,
        key=schedule.key,
        cron=schedule.cron,
    )
