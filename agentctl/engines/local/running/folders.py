"""Folders: whether a program's folders are still what it holds, also while it has nothing to write.

A folder that was moved, replaced or deleted is not the agent's any more: another program may run it
by now. Whoever writes sees that at the next sync; an idle program would go on, out of reach.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from agentctl.engines.local.running.program import ProgramCore
from agentctl.storage.port import Store

LOOK_S: Final = 5.0


class Folders:
    """Looks after the folders every few seconds; the first trouble is the program's end."""

    def __init__(self, program: ProgramCore, *, look_s: float = LOOK_S) -> None:
        """Prepare to look.

        Args:
            look_s: how often, in seconds of the event loop's own time.
        """
        self._program = program
        self._look_s = look_s
        self._stores: list[Store] = []
        self._next: asyncio.TimerHandle | None = None

    def begin(self, stores: Iterable[Store]) -> None:
        """Look after these from now on."""
        self._stores = list(stores)
        self._arm()

    def _arm(self) -> None:
        self._next = self._program.loop.call_later(self._look_s, self._program.guard, self._look)

    def _look(self) -> None:
        for store in self._stores:
            store.check()
        self._arm()

    def close(self) -> None:
        """Look no more."""
        if self._next is not None:
            self._next.cancel()
