"""Room: how many events of each lane wait to begin, and who waits outside until fewer do (R22).

Only what comes from outside waits here, or is turned away; what handlers and schedules send goes
in whatever the room. Those outside come in in the order in which they came. One that gives up,
also at the moment at which it is let in, neither takes nor blocks a place.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agentctl.core.lanes import LANES


class _Lane:
    """One lane.

    Attributes:
        inside: the events that wait to begin.
        outside: who waits for room, the first in front.
        coming: how many were let in and aren't inside yet.
    """

    __slots__ = ("coming", "inside", "outside")

    def __init__(self) -> None:
        self.inside: set[int] = set()
        self.outside: deque[asyncio.Future[None]] = deque()
        self.coming = 0


class Room:
    """The room of one agent; a lane is given by its rank."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._lanes = tuple(_Lane() for _ in LANES)

    def add(self, number: int, rank: int) -> None:
        """Note that an event waits to begin; there may be no room for it."""
        self._lanes[rank].inside.add(number)

    def leave(self, number: int, rank: int) -> None:
        """Note that an event doesn't wait to begin, or no longer."""
        lane = self._lanes[rank]
        lane.inside.discard(number)
        if lane.outside:
            self._let_in(lane)

    def count(self, rank: int) -> int:
        """How many events of a lane wait to begin."""
        return len(self._lanes[rank].inside)

    def is_full(self, rank: int) -> bool:
        """Whether who comes now has to wait; whoever is outside has been let in before."""
        return not self._has_place(self._lanes[rank])

    @asynccontextmanager
    async def place(self, rank: int) -> AsyncGenerator[None]:
        """Wait for a place; it is kept until the block ends, and then free if nobody took it.

        It also ends when the program does: the block has to look.
        """
        lane, waiter = self._lanes[rank], asyncio.get_running_loop().create_future()
        lane.outside.append(waiter)
        try:
            await waiter
            yield
        finally:
            if waiter.done() and not waiter.cancelled():
                lane.coming -= 1
                self._let_in(lane)
            elif waiter in lane.outside:
                lane.outside.remove(waiter)

    def close(self) -> None:
        """Let everybody in: no event begins any more, so that no place becomes free."""
        for lane in self._lanes:
            while lane.outside:
                self._let_one_in(lane)

    def _has_place(self, lane: _Lane) -> bool:
        return len(lane.inside) + lane.coming < self._capacity

    def _let_in(self, lane: _Lane) -> None:
        while lane.outside and self._has_place(lane):
            self._let_one_in(lane)

    def _let_one_in(self, lane: _Lane) -> None:
        waiter = lane.outside.popleft()
        if not waiter.done():  # else it was cancelled, and hasn't heard of it yet
            waiter.set_result(None)
            lane.coming += 1
