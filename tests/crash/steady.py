"""SteadyLoop: an event loop on which the same program takes the same turns, however slow it is."""

from __future__ import annotations

import asyncio
import selectors
from typing import Any, Final

TURN_S: Final = 5e-5


class _Turns(selectors.DefaultSelector):
    """Counts a loop's turns, and what it waits for nothing but time."""

    passed_s = 0.0

    def select(self, timeout: float | None = None) -> Any:
        found = super().select(timeout)
        self.passed_s += TURN_S if found or not timeout else timeout
        return found


class SteadyLoop(asyncio.SelectorEventLoop):
    """A loop whose time is that of its turns: a busy machine changes nothing in a life."""

    def __init__(self) -> None:
        self._turns = _Turns()
        super().__init__(self._turns)

    def time(self) -> float:
        return self._turns.passed_s
