"""Waits of the stage: they end when its clock says so, and nothing sleeps."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from agentctl.engines.local.events.timers import Timer
from agentctl.testing import FakeClock


class StageTimers:
    """Waits that end when the stage says so."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._heap: list[tuple[float, int, Timer]] = []
        self._count = 0

    def arm(self, wait_s: float, callback: Callable[[], None]) -> Timer:
        # A fake clock counts whole microseconds: a wait must end at one of them.
        timer = Timer(round(self._clock.monotonic_s() + wait_s, 6), callback)
        self._count += 1
        heapq.heappush(self._heap, (timer.due_s, self._count, timer))
        return timer

    def cancel(self, timer: Timer) -> None:
        timer.cancelled = True

    @property
    def next_due_s(self) -> float | None:
        while self._heap and self._heap[0][2].cancelled:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def take_due(self) -> list[Timer]:
        due = []
        while (at_s := self.next_due_s) is not None and at_s <= self._clock.monotonic_s():
            due.append(heapq.heappop(self._heap)[2])
        return due
