"""AgentSettings: how an agent is run; the one place for names, defaults and bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from agentctl.core.lanes import LANES, Priority
from agentctl.errors import UsageError

SMALLEST: Final[Mapping[str, int]] = {"max_starts": 1, "concurrency": 1, "keep": 0, "capacity": 1}
"""The smallest number that each setting of a number can be."""

MAY_BE_NONE: Final = frozenset({"grace"})
"""Durations that may be without an end; `kavach.toml` writes it as "none"."""


@dataclass(frozen=True, kw_only=True)
class AgentSettings:
    """How an agent is run; the names are those of `kavach.toml`.

    Attributes:
        journal: False: nothing survives the program.
        audit: keep `audit.log`.
        max_starts: starts without a new result after which an event is set aside.
        concurrency: events that execute at once; sleeping ones don't count.
        permits: how many of them at most may be of a lane, for lanes that have a limit.
        grace: what running calls get to end when the program stops; None waits for them.
        retention: how long the outcome of an event with an idempotency key is kept.
        keep_failed: how long a failed event is kept with its calls.
        keep: how many ended events are kept with their calls, the last ones.
        capacity: events of a lane that wait to begin; then more from outside are refused or wait.
    """

    journal: bool = True
    audit: bool = True
    max_starts: int = 3
    concurrency: int = 64
    permits: Mapping[Priority, int] = field(default_factory=dict)
    grace: timedelta | None = timedelta(seconds=5)
    retention: timedelta = timedelta(days=7)
    keep_failed: timedelta = timedelta(days=30)
    keep: int = 100
    capacity: int = 10_000

    def __post_init__(self) -> None:
        for name, smallest in SMALLEST.items():
            if getattr(self, name) < smallest:
                raise UsageError(
                    f"{name} is {getattr(self, name)}, and must be at least {smallest}"
                )
        for lane, permits in self.permits.items():
            if lane not in LANES:
                raise UsageError(f"permits has no lane {lane!r}", hint=f"it has {', '.join(LANES)}")
            if permits < 1:
                raise UsageError(f"permits of {lane} is {permits}, and must be at least 1")
        if self.grace is not None and self.grace < timedelta(0):
            raise UsageError("grace is negative", hint='use 0s, or "none" to wait')
        for name in ("retention", "keep_failed"):
            if getattr(self, name) < timedelta(0):
                raise UsageError(f"{name} is negative", hint="use timedelta(0) to keep nothing")
