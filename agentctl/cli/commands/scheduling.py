"""The timing that the options of `agentctl schedule set` ask for.

Invariant: what is ambiguous is refused, and names the flag: a bare number, a moment without a zone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeVar

from agentctl.cli.commands.invoking import instant, later
from agentctl.cli.inputs import duration
from agentctl.cli.output import Output
from agentctl.cli.place import find_project
from agentctl.core.timing import Missed, Overlap, Timing
from agentctl.errors import NotFound, UsageError
from agentctl.nearest import nearest_hint
from agentctl.times import Clock, to_us

_Word = TypeVar("_Word")

_MISSED: Final[dict[str, Missed]] = {"coalesce": "coalesce", "skip": "skip", "all": "all"}
_OVERLAP: Final[dict[str, Overlap]] = {"skip": "skip", "queue": "queue", "allow": "allow"}


@dataclass(frozen=True, kw_only=True)
class When:
    """When a schedule is to be due, as it was typed."""

    at: str | None
    after: str | None
    every: str | None
    first: str | None
    cron: str | None
    tz: str | None


@dataclass(frozen=True, kw_only=True)
class Policies:
    """What else was typed of a schedule."""

    missed: str | None
    overlap: str | None
    jitter: str | None
    late: str | None
    key: str | None


def timing_of(name: str, when: When, policies: Policies, clock: Clock) -> Timing:
    """Read what a schedule was asked to be; a cron expression may lack its zone yet.

    Raises:
        UsageError: it is none, or two at once, or isn't clear.
    """
    due_us, anchored = _due(when, clock)
    period_us = None if when.every is None else to_us(duration("--every", when.every))
    if period_us is not None and due_us is None:
        due_us = later("--every", period_us, clock)
    jitter, late = policies.jitter, policies.late
    _check_read(policies, recurs=bool(when.every or when.cron))
    return Timing(
        name,
        due_us,
        period_us,
        anchored,
        when.cron,
        when.tz if when.cron is not None else None,
        missed=_one_of("--missed", policies.missed, _MISSED, "coalesce"),
        overlap=_one_of("--overlap", policies.overlap, _OVERLAP, "skip"),
        jitter_us=0 if jitter is None else to_us(duration("--jitter", jitter)),
        late_us=None if late is None else to_us(duration("--max-late", late)),
        key=policies.key,
    )


def _check_read(policies: Policies, *, recurs: bool) -> None:
    """Refuse what nothing would act on."""
    if recurs and policies.key is not None:
        raise UsageError(
            "-i names one event, and this makes many", hint="leave it out: each has its own number"
        )
    of_many = {"--missed": policies.missed, "--overlap": policies.overlap}
    said = [flag for flag, text in of_many.items() if text is not None]
    if said and not recurs:
        raise UsageError(
            f"{' and '.join(said)} {'goes' if len(said) == 1 else 'go'} with --every and --cron, "
            "and this is due once",
            hint="leave it out" if len(said) == 1 else "leave them out",
        )


def _due(when: When, clock: Clock) -> tuple[int | None, bool]:
    """The first due time, and whether it was asked for by the clock."""
    asked = {
        "--at": when.at,
        "--in": when.after,
        "--every": when.every,
        "--cron": when.cron,
    }
    said = [flag for flag, text in asked.items() if text is not None]
    if not said:
        raise UsageError(
            "it isn't said when", hint="say it: --at TIME, --in DURATION, --every DURATION, --cron"
        )
    if len(said) > 1:
        raise UsageError(f"{' and '.join(said)} don't go together", hint="leave one of them out")
    if when.first is not None and when.every is None:
        raise UsageError("--first goes with --every", hint="the first time alone is --at TIME")
    flag, text = ("--at", when.at) if when.at is not None else ("--first", when.first)
    if when.tz is not None and text is None and when.cron is None:
        raise UsageError("--tz says in which zone a TIME or --cron is", hint="leave it out")
    if when.after is not None:
        return later("--in", to_us(duration("--in", when.after)), clock), False
    if text is None:
        return None, False
    return instant(flag, text, when.tz, clock), text.strip()[:1] not in ("+", "-", "n")


def zone_or_projects(zone: str | None, output: Output) -> str:
    """The zone of a cron expression: the one that was named, or the project's.

    Raises:
        UsageError: there is none.
    """
    if zone is not None:
        return zone
    try:
        tz = find_project(output).tz
    except NotFound:
        tz = None
    if tz is None:
        raise UsageError(
            "a cron expression needs a zone",
            hint="add --tz Europe/Berlin, or --tz UTC; or set tz in [project] of kavach.toml",
        )
    return tz


def _one_of(flag: str, text: str | None, known: dict[str, _Word], default: _Word) -> _Word:
    if text is None:
        return default
    if text not in known:
        raise UsageError(
            f"{flag} can't be {text[:80]!r}", hint=nearest_hint(text, known, "policies")
        )
    return known[text]
