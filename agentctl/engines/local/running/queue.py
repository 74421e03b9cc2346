"""EventQueue: which events of one agent execute, and which may as soon as there is a permit.

Sleeping and waiting events hold no permit (R22). Those that go on come before those that begin.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from agentctl.engines.local.running.program import ProgramCore

_BEGUN_AT_ONCE: Final = 64
"""Events begun in one go; then the program's loop gets its breath."""


class EventQueue:
    """The queue of one agent.

    Args:
        begin: begins an event.
        go_on: lets one go on whose wait is over; it answers whether it still waits for that.

    Attributes:
        executing: the events that hold a permit.
    """

    def __init__(
        self,
        program: ProgramCore,
        permits: int,
        begin: Callable[[int], None],
        go_on: Callable[[int, str], None],
    ) -> None:
        self._program = program
        self._permits = permits
        self._begin = begin
        self._go_on = go_on
        self.executing: set[int] = set()
        self._ready: deque[int] = deque()
        self._resume: deque[tuple[int, str]] = deque()
        self._pumping = False
        self._room: list[asyncio.Future[None]] = []

    async def room(self) -> None:
        """Wait until an event has begun, or the program ends."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._room.append(waiter)
        await waiter

    def make_room(self) -> None:
        """Let those who wait for room look again: for some, or for an end of the program."""
        room, self._room = self._room, []
        for waiter in room:
            if not waiter.done():
                waiter.set_result(None)

    def add(self, number: int) -> None:
        """Let an event begin when its turn comes."""
        self._ready.append(number)
        self.pump_soon()

    def resume(self, number: int, path: str) -> None:
        """Let an event go on when there is a permit: its wait for `path` is over."""
        self._resume.append((number, path))
        self.pump_soon()

    def withdraw(self, number: int) -> None:
        """Let an event no longer wait to begin."""
        if number in self._ready:
            self._ready.remove(number)
            self.make_room()

    @property
    def at_work(self) -> int:
        """How many events execute or may begin."""
        return len(self.executing) + len(self._ready) + len(self._resume)

    @property
    def can_begin(self) -> bool:
        """Whether something waits that may begin now."""
        waits = bool(self._ready or self._resume)
        return waits and self._program.gate_open and len(self.executing) < self._permits

    def pump_soon(self) -> None:
        """Begin what may begin, next on the program's loop."""
        if not self._pumping:
            self._pumping = True
            self._program.soon(self._pump)

    def _pump(self) -> None:
        self._pumping = False
        for _ in range(_BEGUN_AT_ONCE):
            if not self.can_begin or self._program.stopping:
                break
            if self._resume:
                self._go_on(*self._resume.popleft())
            else:
                self._begin(self._ready.popleft())
        self.make_room()
        if self.can_begin:
            self.pump_soon()
        self._program.settle_soon()
