"""DueTimes: what waits for a moment of the wall clock, each known by a key.

A moment is the wall clock's: it is looked at again at least once a minute, so that a clock that
was set, or a machine that slept, makes nothing early, and nothing late by more than that. One
timer serves all of them.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable, Iterable
from typing import Final, Generic, TypeVar

from agentctl.engines.local.events.timers import ManualClock, Timer
from agentctl.engines.local.running.program import ProgramCore
from agentctl.times import SECOND_US

K = TypeVar("K")

LOOK_S: Final = 60.0
"""How long a change of the wall clock may go unnoticed."""
_AT_ONCE: Final = 256
"""So many come in one go; then the program's loop gets its breath."""


class DueTimes(Generic[K]):
    """The due times of one agent.

    Args:
        come: takes a key whose moment has come.
    """

    def __init__(self, program: ProgramCore, come: Callable[[K], None]) -> None:
        self._program = program
        self._come = come
        self._manual = isinstance(program.clock, ManualClock)
        self._heap: list[tuple[int, int, K]] = []
        self._waiting: dict[K, int] = {}
        self._count = itertools.count()
        self._timer: Timer | None = None
        self._handle: asyncio.Handle | None = None
        self._armed_us: int | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, key: object) -> bool:
        return key in self._waiting

    def add(self, key: K, due_us: int) -> None:
        """Let a key come at a moment, in microseconds since the epoch; it has only one."""
        self._waiting[key] = due_us
        heapq.heappush(self._heap, (due_us, next(self._count), key))
        if len(self._heap) > 64 + 2 * len(self._waiting):
            self._heap = [entry for entry in self._heap if self._waiting.get(entry[2]) == entry[0]]
            heapq.heapify(self._heap)
        if self._armed_us is None or due_us < self._armed_us:
            self._arm()
            self._program.moved.set()

    def add_all(self, moments: Iterable[tuple[K, int]]) -> None:
        """Let many keys come, each at its moment: the timer is set once for all of them."""
        for key, due_us in moments:
            self._waiting[key] = due_us
            self._heap.append((due_us, next(self._count), key))
        heapq.heapify(self._heap)
        self._arm()
        self._program.moved.set()

    def withdraw(self, key: K) -> None:
        """Let a key no longer wait."""
        if self._waiting.pop(key, None) == self._armed_us:
            self._arm()

    @property
    def next_us(self) -> int | None:
        """The next moment; None if nothing waits."""
        while self._heap and self._waiting.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    @property
    def rest_s(self) -> float | None:
        """Seconds until the next moment, by the wall clock; None if nothing waits."""
        next_us = self.next_us
        if next_us is None:
            return None
        return max(0.0, (next_us - self._program.clock.now_us()) / SECOND_US)

    def _arm(self) -> None:
        self.close()
        rest_s = self.rest_s
        if rest_s is None:
            return
        self._armed_us = self.next_us
        if self._manual:
            self._timer = self._program.timers.arm(rest_s, self._look)
        else:
            wait_s = min(rest_s, LOOK_S)
            self._handle = self._program.loop.call_later(wait_s, self._program.guard, self._look)

    def _look(self) -> None:
        """Let come what is due, in the order of the moments."""
        self._timer = self._handle = None
        if self._program.is_ending:
            return  # the next start sees to it
        now_us = self._program.clock.now_us()
        for _ in range(_AT_ONCE):
            next_us = self.next_us
            if next_us is None or next_us > now_us:
                break
            key = heapq.heappop(self._heap)[2]
            del self._waiting[key]
            self._come(key)
        self._arm()
        self._program.moved.set()

    def close(self) -> None:
        """Wait no longer; what is due comes at the next start."""
        if self._timer is not None:
            self._program.timers.cancel(self._timer)
        if self._handle is not None:
            self._handle.cancel()
        self._timer = self._handle = self._armed_us = None
