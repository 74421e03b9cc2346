"""When a schedule is due in the times to come, as `core.timetable` has it.

Invariant: loads zones and cron only when they are asked for. Changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import structs

from agentctl.core.timing import Timing, check
from agentctl.engines.desk import Desk
from agentctl.engines.schedules import ScheduleView
from agentctl.errors import UsageError
from agentctl.names import Address
from agentctl.ops.schedule_documents import DueTime, ScheduleDocument, SchedulePreviewDocument
from agentctl.ops.schedules import find_schedule, in_full
from agentctl.record_schedules import ScheduleRecord
from agentctl.times import to_datetime, to_rfc3339

_SHOWN: Final = 5


def show_schedule(
    desk: Desk, instance: Address, name: str, *, now_us: int, show_secrets: bool = False
) -> tuple[ScheduleDocument, str | None]:
    """Show one schedule, and when it is due in the times to come.

    Returns:
        The document; and why there are no times, if this machine can't tell: the zone is unknown.

    Raises:
        NotFound: there is none of this name; with the nearest.
        JournalDamaged, FormatTooNew: what the journal says can't be trusted.
    """
    view = find_schedule(desk, instance, name)
    kept = in_full(view, show_secrets=show_secrets)
    times, why = _next(view, now_us)
    return ScheduleDocument(**structs.asdict(kept), next=tuple(times)), why


def preview(cron: str, tz: str, *, number: int, after_us: int) -> SchedulePreviewDocument:
    """Tell when a cron expression is due after an instant.

    Raises:
        UsageError: it is no cron expression, or there is no such zone.
    """
    check(Timing("preview", cron=cron, tz=tz))
    schedule = ScheduleRecord("preview", cron=cron, tz=tz)
    times = _upcoming(schedule, after_us, number)
    return SchedulePreviewDocument(cron, tz, tuple(times))


def _next(view: ScheduleView, now_us: int) -> tuple[Sequence[DueTime], str | None]:
    record = ScheduleRecord(
        view.name, due=view.due_us, period=view.period_us, cron=view.cron, tz=view.tz
    )
    try:
        return _upcoming(record, now_us, _SHOWN), None
    except UsageError as error:  # it was set on another machine
        return (), error.message


def _upcoming(schedule: ScheduleRecord, after_us: int, count: int) -> Sequence[DueTime]:
    from agentctl.core.timetable import upcoming

    return [
        DueTime(to_rfc3339(one.due_us), _local(one.due_us, schedule.tz), one.note)
        for one in upcoming(schedule, after_us=after_us, count=count)
    ]


def _local(due_us: int, tz: str | None) -> str | None:
    if tz is None:
        return None
    from agentctl.zones import find_zone

    return to_datetime(due_us).astimezone(find_zone(tz)).isoformat()
