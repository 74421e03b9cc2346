"""Signals, and the end of a program that runs agents.

Invariant: the first SIGINT, SIGTERM or SIGHUP asks for a graceful stop, the second ends the
process at once, which is as safe as a power cut; before anything runs, the first one does. The end
is `os._exit`, so that a blocked thread can't hold it up.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    import asyncio


class StopSignals:
    """Turns signals into one request to stop."""

    def __init__(self, end: Callable[[int], NoReturn] | None = None) -> None:
        self._end = end or end_now
        self._ask: Callable[[], object] | None = None
        self.number = 0

    @property
    def code(self) -> int:
        """The exit code of a process that was interrupted: 130, 143 or 129."""
        return 128 + self.number

    def install(self) -> None:
        """Listen to SIGINT and SIGTERM, and to SIGHUP, by which a closed terminal says goodbye."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._came)

    def serve(self, loop: asyncio.AbstractEventLoop, asked: asyncio.Event) -> None:
        """From now on the first signal sets `asked`."""
        self._ask = lambda: loop.call_soon_threadsafe(asked.set)
        if self.number:  # it came in this moment
            self._ask()

    def _came(self, number: int, _: FrameType | None) -> None:
        first = not self.number
        self.number = number
        if not first or self._ask is None:
            self._end(self.code)
        self._ask()


def end_now(code: int) -> NoReturn:
    """End the process, whatever threads still do."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
