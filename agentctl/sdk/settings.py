"""AgentSettings: how an agent is run; the one place for names and defaults."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from agentctl.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class AgentSettings:
    """How an agent is run; the names are those of `kavach.toml`.

    Attributes:
        journal: False: nothing survives the program.
        audit: keep `audit.log`.
        max_starts: starts without a new result after which an event is set aside.
        concurrency: events that execute at once; sleeping ones don't count.
        keep: ended events that are kept with their calls.
        keep_failed: how long failed events are kept with their calls.
        retention: how long the outcome of an event with an idempotency key is kept.
        capacity: events that may wait to begin; what comes from outside waits, or is refused.
        grace: what running calls get to end when the program stops; None waits for them.
    """

    journal: bool = True
    audit: bool = True
    max_starts: int = 3
    concurrency: int = 64
    keep: int = 100
    keep_failed: timedelta = timedelta(days=30)
    retention: timedelta = timedelta(days=7)
    capacity: int = 10_000
    grace: timedelta | None = timedelta(seconds=5)

    def __post_init__(self) -> None:
        for name in ("max_starts", "concurrency"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}, and must be at least 1")
        if self.grace is not None and self.grace < timedelta(0):
            raise UsageError("grace is negative", hint='use 0s, or "none" to wait')
