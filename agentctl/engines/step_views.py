"""What a reader sees of an event's steps: how each stands, and its attempts.

As `views`: all of it follows from the journal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

StepState: TypeAlias = Literal[
    "queued", "running", "backing_off", "waiting", "done", "failed", "undone", "dropped"
]


class AttemptView(Struct, frozen=True):
    """One try of a step or a call.

    Attributes:
        n: which, from 1.
        ended_us: None as long as it is under way, or needs an input.
        error: of one that failed: type and text.
    """

    n: int
    at_us: int
    ended_us: int | None = None
    error: str | None = None


class StepView(Struct, frozen=True):
    """One step of an event, or what undoes one.

    Attributes:
        name: the step's; of what undoes it `undo charge`.
        key: its call key.
        state: without a program, one that ran counts as queued.
        attempts: at least one, the last one last.
        next_us: of one that backs off: when the next attempt begins.
        value: of one that is done: the result as JSON.
        asks: of one that waits: what for.
        undoes: it undoes a step.
    """

    name: str
    key: str
    state: StepState
    attempts: Sequence[AttemptView]
    next_us: int | None = None
    value: bytes | None = None
    asks: str | None = None
    undoes: bool = False

    @property
    def error(self) -> str | None:
        """What the last attempt failed with that did."""
        return next((one.error for one in reversed(self.attempts) if one.error), None)
