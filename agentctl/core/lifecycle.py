"""The states of an invocation, and which may follow which (R8), as one table."""

from __future__ import annotations

import enum
from typing import Final


class Phase(enum.StrEnum):
    """Where an open event stands, as its records tell it.

    `executing` also covers an event whose program died meanwhile; `parked` one that only waits
    for time, or that a graceful stop let go of.
    """

    QUEUED = "queued"
    EXECUTING = "executing"
    PARKED = "parked"
    STUCK = "stuck"


ALLOWED: Final[dict[Phase, frozenset[str]]] = {
    Phase.QUEUED: frozenset(["start", "again", "aside", "bug"]),
    Phase.EXECUTING: frozenset(
        [
            "start",
            "again",
            "call",
            "ok",
            "error",
            "fired",
            "dropped",
            "parked",
            "bug",
            "done",
            "failed",
            "aside",
        ]
    ),
    Phase.PARKED: frozenset(
        [
            "start",
            "again",
            "call",
            "ok",
            "error",
            "fired",
            "dropped",
            "parked",
            "bug",
            "done",
            "failed",
        ]
    ),
    Phase.STUCK: frozenset(["start", "again", "bug", "aside"]),
}
"""The kinds of record that may come next for an event in each phase."""
