"""The options of `agentctl invoke`, and when it asks its event to begin."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from agentctl.cli.inputs import duration
from agentctl.core.lanes import Priority, check_priority
from agentctl.errors import UsageError
from agentctl.times import LAST_INSTANT_US, Clock, to_us

ArgsOption: TypeAlias = Annotated[
    str | None, typer.Option("--args", metavar="JSON|@FILE|-", help="all arguments at once")
]
KeyOption: TypeAlias = Annotated[
    str | None,
    typer.Option("-i", "--idempotency-key", metavar="KEY", help="one event a key; - makes one"),
]
TriggerOption: TypeAlias = Annotated[
    bool, typer.Option("-t", "--trigger", help="print the event's address, and don't wait")
]
AtOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--at", "--schedule-at", metavar="TIME", help="begin then; needs --trigger"),
]
InOption: TypeAlias = Annotated[
    str | None, typer.Option("--in", metavar="DURATION", help="begin after so long")
]
ZoneOption: TypeAlias = Annotated[
    str | None, typer.Option("--tz", metavar="ZONE", help="the zone of a TIME without an offset")
]
FullOption: TypeAlias = Annotated[
    str, typer.Option("--if-full", metavar="wait|refuse", help="if too many events queue (wait)")
]
PriorityOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--priority", metavar="high|medium|low", help="the lane to queue in (medium)"),
]
TimeoutOption: TypeAlias = Annotated[
    str | None, typer.Option("--timeout", metavar="DURATION", help="wait no longer; exit code 124")
]
LockWaitOption: TypeAlias = Annotated[
    str, typer.Option("--lock-wait", metavar="DURATION", help="wait for another program (5s)")
]


def priority_named(text: str | None) -> Priority:
    """Read the lane to queue in.

    Raises:
        UsageError: there is no such lane.
    """
    try:
        return check_priority("medium" if text is None else text)
    except UsageError:
        raise UsageError(
            f"--priority can't be {text!r:.80}", hint="it is high, medium or low"
        ) from None


def due_us(at: str | None, after: str | None, zone: str | None, clock: Clock) -> int | None:
    """When the event is to begin, in microseconds since the epoch; None: as soon as it can.

    Raises:
        UsageError: it is no moment, has no zone, or is said twice.
    """
    if at is not None and after is not None:
        raise UsageError("--at and --in don't go together", hint="leave one of them out")
    if zone is not None and at is None:
        raise UsageError("--tz says in which zone --at is, and there is no --at", hint="add it")
    if after is not None:
        return later("--in", to_us(duration("--in", after)), clock)
    return None if at is None else instant("--at", at, zone, clock)


def instant(flag: str, text: str, zone: str | None, clock: Clock) -> int:
    """Read a flag's moment, in microseconds since the epoch.

    Args:
        zone: what a wall time is read in; None refuses it.

    Raises:
        UsageError: it is no moment, or has no zone.
    """
    from agentctl.ops.instants import parse_instant
    from agentctl.zones import find_zone

    try:
        within = None if zone is None else find_zone(zone)
        zone_flag = "" if flag == "--from" else "--tz"  # there it is the cron expression's
        return _checked(parse_instant(text, clock, within, zone_flag=zone_flag))
    except UsageError as error:
        raise UsageError(f"{flag}: {error.message}", hint=error.hint) from None


def later(flag: str, us: int, clock: Clock) -> int:
    """The moment after so long, in microseconds since the epoch.

    Raises:
        UsageError: no date can show it.
    """
    try:
        return _checked(clock.now_us() + us)
    except UsageError as error:
        raise UsageError(f"{flag}: {error.message}", hint=error.hint) from None


def _checked(instant_us: int) -> int:
    if not 0 <= instant_us <= LAST_INSTANT_US:
        raise UsageError("this moment is none that a date can show", hint="from 1970 to 9999")
    return instant_us
