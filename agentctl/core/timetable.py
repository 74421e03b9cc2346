"""When a schedule is due, and what becomes of due times that have passed (R18).

Decides; knows nothing of events, journals or clocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Run:
    """An occurrence that runs.

    Attributes:
        due_us: its due time.
        missed: the missed ones that it stands for, itself included if it was; 0 in its turn.
        next_us: the due time that follows; None: there is none.
        note: what is unusual about it, for people: a night on which the clock changes.
    """

    due_us: int
    missed: int
    next_us: int | None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Skip:
    """Occurrences that don't run: `count` of them, from `due_us` on.

    Attributes:
        why: `missed`, `late` or `overlap`.
    """

    due_us: int
    count: int
    why: str
    next_us: int | None


Step: TypeAlias = Run | Skip
