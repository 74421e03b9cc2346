"""Signals, and the end of a program that runs agents.

Invariant: the first SIGINT, SIGTERM or SIGHUP puts the stop on record before anything else, and
asks for it; the second ends the process at once, which is as safe as a power cut; as long as no
folder is held, the first one does. The end is `os._exit`, so that a blocked thread can't hold it
up; a handler that blocks its turn can't either. No process that calls have started is left behind.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from types import FrameType
from typing import TYPE_CHECKING, Final, NoReturn

from agentctl.cli.children import end_children, kill_children

if TYPE_CHECKING:
    import asyncio

_TURN_S: Final = 0.3
"""How much longer than a call a handler may block its turn once the signal has come."""


_COMES_S: Final = 0.3
"""How long the blocked thread has to take note of its end itself."""


class StopSignals:
    """Turns signals into one request to stop.

    Attributes:
        number: the latest signal; 0 if none came.
        gave_up: something else made the command stop, and calls with it.
    """

    def __init__(self, end: Callable[[int], NoReturn] | None = None) -> None:
        self._end = end or end_at_once
        self._begin: Callable[[], bool] = lambda: False
        self.number = 0
        self.gave_up = False
        self._give_up: Callable[[], None] | None = None
        self._ending = threading.Lock()

    @property
    def code(self) -> int:
        """The exit code of a process that was interrupted: 130, 143 or 129."""
        return 128 + self.number

    def install(self) -> None:
        """Listen to SIGINT and SIGTERM, and to SIGHUP, by which a closed terminal says goodbye."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._came)

    def serve(
        self,
        begin_stop: Callable[[], bool],
        asked: asyncio.Event,
        patience: timedelta | None,
        *,
        break_off: Callable[[], None] = lambda: None,
    ) -> None:
        """From now on the first signal calls `begin_stop`, and sets `asked`; on the loop's thread.

        Args:
            begin_stop: puts the stop on record, and answers whether there is something to stop.
            patience: how long a handler that blocks its turn is waited for; None: to its end.
            break_off: notes which one it was, on the loop's thread, before the process ends under
                it.
        """
        import asyncio

        loop, came, moved = asyncio.get_running_loop(), threading.Event(), threading.Event()

        def begin() -> bool:
            if begin_stop():
                for heard in (asked, moved):
                    loop.call_soon_threadsafe(heard.set)
                came.set()
                return True
            return False

        if patience is not None:
            # Now: inside of a handler's turn, where the signal may come, no thread can be started.
            self._watch_turn(came, moved, patience.total_seconds() + _TURN_S, break_off)
        self._begin = begin

    def end_children(self) -> None:
        """End what calls have started, if the program was made to stop."""
        if self.number or self.gave_up:
            end_children()

    def _came(self, number: int, _: FrameType | None) -> None:
        if self._give_up is not None:
            self._give_up()
            return
        first = not self.number
        self.number = number
        if not (first and self._begin()):
            self._end(self.code)

    def _watch_turn(
        self,
        came: threading.Event,
        moved: threading.Event,
        patience_s: float,
        break_off: Callable[[], None],
    ) -> None:
        blocked = threading.get_ident()

        def watch() -> None:
            came.wait()
            if moved.wait(patience_s):
                return
            self._give_up = lambda: self._end_under(patience_s, break_off)
            if signal.getsignal(signal.SIGTERM) == self._came:
                # On that thread, which alone may write; unless Python can't interrupt it.
                signal.pthread_kill(blocked, signal.SIGTERM)
                moved.wait(_COMES_S)
            self._end_under(patience_s, lambda: None)

        threading.Thread(target=watch, daemon=True, name="agentctl-stop").start()

    def _end_under(self, patience_s: float, break_off: Callable[[], None]) -> None:
        """End the process under a handler that blocks its turn; who comes first does it."""
        if not self._ending.acquire(blocking=False):
            return
        break_off()
        with suppress(OSError, ValueError):
            print(
                f"error: a handler blocked its turn for {patience_s:.1f} s after the signal\n"
                "  the program ends without it; its event goes on at the next start\n"
                "hint: what blocks belongs into a capability's method marked @blocking",
                file=sys.stderr,
            )
        end_children()
        self._end(0)


def end_at_once(code: int) -> NoReturn:
    """End the process and all that it has started, waiting for nothing."""
    try:
        kill_children()
    finally:
        end_now(code)


def end_now(code: int) -> NoReturn:
    """End the process, whatever threads still do."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
