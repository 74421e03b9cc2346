"""A branch: one line of a handler's work, with the counter that its calls share (R4).

The handler itself is the branch ""; a task that it starts takes a number there and counts its own
calls below it. Each branch also owns its own stream of random numbers.
"""

from __future__ import annotations

import random


class Branch:
    """A counter of calls, steps and tasks, in the order in which the handler made them."""

    __slots__ = ("_count", "_prefix", "_random")

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._count = 0
        self._random: random.Random | None = None

    def next_path(self) -> str:
        """Take the next place: `3` in the handler itself, `2.3` in its second thing, a task."""
        self._count += 1
        return f"{self._prefix}{self._count}"

    def fork(self) -> Branch:
        """Take the next place for a task, and return the task's branch."""
        return Branch(self.next_path() + ".")

    def random(self, nonce: str) -> random.Random:
        """This branch's random numbers, seeded by the event's random part."""
        if self._random is None:
            self._random = random.Random(f"{nonce}/{self._prefix}")  # noqa: S311 - repeatable, on purpose
        return self._random
