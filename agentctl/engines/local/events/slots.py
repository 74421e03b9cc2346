"""Slots: so many calls of one capability at once; the others wait in the order they came in.

Invariant: no more than `count` holders, and a free slot is never left lying while somebody waits.
Knows nothing of calls; belongs to one event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque


class Slots:
    """So many at once; whoever is cancelled while waiting leaves the queue."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def is_full(self) -> bool:
        """Whether `take` would wait."""
        return self._free == 0

    async def take(self) -> None:
        """Wait for a slot; who has it must give it back.

        Raises:
            asyncio.CancelledError: no slot was taken.
        """
        if not self.is_full:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._waiting.remove(turn)
            else:  # it was this one's turn already: the next has it instead
                self.give_back()
            raise

    def give_back(self) -> None:
        """Hand the slot to whoever waits longest, or leave it free."""
        for turn in self._waiting:
            if not turn.done():
                self._waiting.remove(turn)
                turn.set_result(None)
                return
        self._free += 1
