"""Waits, measured by the monotonic clock and kept in one heap.

A wait longer than a day is waited in slices, since loops and platforms overflow. Where the clock
is a `ManualClock` nothing is waited for: whoever owns it moves it on, by whole microseconds, and
its waits end at whole ones.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from agentctl.times import DAY_S, Clock


@runtime_checkable
class ManualClock(Clock, Protocol):
    """A clock that a test moves on."""

    def attach(self, timers: Timers) -> None:
        """Take note of whose waits to end when it moves on."""
        ...


class Timer:
    """One wait."""

    __slots__ = ("callback", "cancelled", "due_s")

    def __init__(self, due_s: float, callback: Callable[[], None]) -> None:
        self.due_s = due_s
        self.callback = callback
        self.cancelled = False


class Timers:
    """All waits of one program."""

    def __init__(self, clock: Clock, guard: Callable[..., None]) -> None:
        self._clock = clock
        self._guard = guard
        self._heap: list[tuple[float, int, Timer]] = []
        self._count = itertools.count()
        self._cancelled = 0
        self._closed = False
        self._loop = asyncio.get_running_loop()
        self._handle: asyncio.TimerHandle | None = None
        self._handle_due_s = 0.0
        self._manual = isinstance(clock, ManualClock)
        if isinstance(clock, ManualClock):
            clock.attach(self)

    def arm(self, wait_s: float, callback: Callable[[], None]) -> Timer:
        """Run `callback` after so many seconds."""
        due_s = self._clock.monotonic_s() + wait_s
        if self._manual:
            due_s = round(due_s, 6)  # else it would end beside the moment the clock is moved to
        timer = Timer(due_s, callback)
        heapq.heappush(self._heap, (timer.due_s, next(self._count), timer))
        self._wait()
        return timer

    def cancel(self, timer: Timer) -> bool:
        """Take a wait back; False: it is over already, and its callback ran."""
        if timer.cancelled:
            return False
        timer.cancelled = True
        self._cancelled += 1
        if self._cancelled > 64 and self._cancelled * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if not entry[2].cancelled]
            heapq.heapify(self._heap)
            self._cancelled = 0
        return True

    @property
    def next_due_s(self) -> float | None:
        """When the next wait ends, by the monotonic clock."""
        while self._heap and self._heap[0][2].cancelled:
            heapq.heappop(self._heap)
            self._cancelled -= 1
        return self._heap[0][0] if self._heap else None

    def fire_due(self) -> None:
        """End the waits that are over, in the order of their ends."""
        now_s = self._clock.monotonic_s()
        while (due_s := self.next_due_s) is not None and due_s <= now_s:
            timer = heapq.heappop(self._heap)[2]
            timer.cancelled = True
            timer.callback()
        self._wait()

    def fire_soon(self) -> None:
        """End the waits that are over, next on the program's loop, if it still runs."""
        if self._closed:
            return
        self._loop.call_soon(self._guard, self.fire_due)

    def _wait(self) -> None:
        due_s = self.next_due_s
        if due_s is None:
            return
        if self._manual:
            if due_s <= self._clock.monotonic_s():
                self.fire_soon()  # due when it was set, as after a restart: nobody moves for it
            return
        if self._handle is not None:
            if self._handle_due_s <= due_s:
                return
            self._handle.cancel()
        wait_s = min(max(0.0, due_s - self._clock.monotonic_s()), DAY_S)
        self._handle_due_s = due_s
        self._handle = self._loop.call_later(wait_s, self._guard, self._elapsed)

    def _elapsed(self) -> None:
        self._handle = None
        self.fire_due()

    def close(self) -> None:
        """Forget all waits."""
        self._closed = True
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        self._heap.clear()
