"""DueTimes: accepted events that wait for a moment of the wall clock.

A moment is the wall clock's: it is looked at again at least once a minute, so that a clock that
was set, or a machine that slept, makes no event early, and none late by more than that. One timer
serves all of them.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from typing import Final

from agentctl.engines.local.events.timers import ManualClock, Timer
from agentctl.engines.local.running.program import ProgramCore
from agentctl.times import SECOND_US

LOOK_S: Final = 60.0
"""How long a change of the wall clock may go unnoticed."""


class DueTimes:
    """The due times of one agent's events.

    Args:
        begin: takes an event whose moment has come.
    """

    def __init__(self, program: ProgramCore, begin: Callable[[int], None]) -> None:
        self._program = program
        self._begin = begin
        self._manual = isinstance(program.clock, ManualClock)
        self._heap: list[tuple[int, int]] = []
        self._waiting: dict[int, int] = {}
        self._timer: Timer | None = None
        self._handle: asyncio.TimerHandle | None = None
        self._armed_us: int | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, number: int, due_us: int) -> None:
        """Let an event begin at a moment, in microseconds since the epoch."""
        self._waiting[number] = due_us
        heapq.heappush(self._heap, (due_us, number))
        if self._armed_us is None or due_us < self._armed_us:
            self._arm()
            self._program.moved.set()

    def withdraw(self, number: int) -> None:
        """Let an event no longer wait."""
        if self._waiting.pop(number, None) is not None:
            self._arm()

    @property
    def rest_s(self) -> float | None:
        """Seconds until the next event is due, by the wall clock; None if none waits."""
        while self._heap and self._waiting.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        if not self._heap:
            return None
        return max(0.0, (self._heap[0][0] - self._program.clock.now_us()) / SECOND_US)

    def _arm(self) -> None:
        self.close()
        rest_s = self.rest_s
        if rest_s is None:
            return
        self._armed_us = self._heap[0][0]
        if self._manual:
            self._timer = self._program.timers.arm(rest_s, self._look)
        else:
            wait_s = min(rest_s, LOOK_S)
            self._handle = self._program.loop.call_later(wait_s, self._program.guard, self._look)

    def _look(self) -> None:
        """Begin what is due, in the order of the moments."""
        self._timer = self._handle = None
        now_us = self._program.clock.now_us()
        while self.rest_s is not None and self._heap[0][0] <= now_us:
            _, number = heapq.heappop(self._heap)
            del self._waiting[number]
            self._begin(number)
        self._arm()
        self._program.moved.set()

    def close(self) -> None:
        """Wait no longer; what is due begins at the next start."""
        if self._timer is not None:
            self._program.timers.cancel(self._timer)
        if self._handle is not None:
            self._handle.cancel()
        self._timer = self._handle = self._armed_us = None
