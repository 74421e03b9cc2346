"""The states of an invocation, and which may follow which (R8), as one table."""

from __future__ import annotations

import enum
from typing import Final


class Phase(enum.StrEnum):
    """Where an open event stands, as its records tell it.

    `executing` also covers an event whose program died meanwhile; `parked` one that only waits,
    for time or for another agent, or that a graceful stop let go of.
    """

    QUEUED = "queued"
    EXECUTING = "executing"
    PARKED = "parked"
    STUCK = "stuck"


class Cancellation(enum.StrEnum):
    """How a cancellation is answered (R20)."""

    CANCELLED = "cancelled"
    ALREADY_CANCELLED = "already_cancelled"
    RUNNING = "running"
    FINISHED = "finished"
    UNKNOWN = "unknown"


_WITHOUT_A_RUN: Final = frozenset(["start", "again", "bug", "cancelled", "answer"])
_IN_A_CALL: Final = frozenset(["ok", "error", "fired", "dropped", "tried", "attempt", "waiting"])
_AT_WORK: Final = (
    _WITHOUT_A_RUN | _IN_A_CALL | frozenset(["call", "parked", "done", "failed", "cancel"])
)

ALLOWED: Final[dict[Phase, frozenset[str]]] = {
    Phase.QUEUED: _WITHOUT_A_RUN | {"aside", "missed"},
    Phase.EXECUTING: _AT_WORK | {"aside"},
    Phase.PARKED: _AT_WORK,
    Phase.STUCK: _WITHOUT_A_RUN | {"aside", "retry"},
}
"""The kinds of record that may come next for an event in each phase.

Of one that is over only a failed one goes on, by `retry`.
"""
