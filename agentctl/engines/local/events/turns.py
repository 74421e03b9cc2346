"""Turns: which handler's code runs just now, and telling of one that doesn't let go.

Invariant: one turn at a time, on the program's own thread. While that thread is blocked it can tell
of nothing, so another one looks, and tells of each turn once. Never puts anything on record.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Final, Protocol

from agentctl.engines.local.events.standing import users_line
from agentctl.frames import is_users, short_path
from agentctl.times import Clock
from agentctl.value_errors import clean

SLOW_TURN_S: Final = 1.0
"""A turn that takes longer is told of: nothing else of the program goes on meanwhile."""

_LOOK_S: Final = 0.2


class InTurn(Protocol):
    """An event whose code runs."""

    @property
    def coro(self) -> Any:
        """The handler's own coroutine."""
        ...

    @property
    def title(self) -> str:
        """The event's address."""
        ...

    @property
    def handler_name(self) -> str:
        """What of it runs."""
        ...

    def break_off(self, took_s: float, line: str | None) -> None:
        """Put on record that the program ends under its turn."""
        ...


class Turn:
    """One turn of one event."""

    __slots__ = ("begun_s", "run")

    def __init__(self, run: InTurn, begun_s: float) -> None:
        self.run = run
        self.begun_s = begun_s

    def line(self, frame: FrameType | None) -> str | None:
        """File and line at which its code stands.

        Args:
            frame: what the thread executes; between two steps of a handler that is none of its own.
        """
        return users_line(frame) or _line_of_coroutine(self.run.coro)


def _line_of_coroutine(coro: Any) -> str | None:
    line = None
    while coro is not None:
        frame = getattr(coro, "cr_frame", None)
        if frame is not None and is_users(frame.f_code.co_filename):
            line = clean(f"{short_path(frame.f_code.co_filename)}:{frame.f_lineno}")
        coro = getattr(coro, "cr_await", None)
    return line


class Turns:
    """The turns of one program; made on its thread.

    Attributes:
        current: the turn that is under way.
    """

    def __init__(self, clock: Clock) -> None:
        self.current: Turn | None = None
        self._clock = clock
        self._thread_id = threading.get_ident()
        self._watched = False
        self._begun = threading.Event()
        self._closing = threading.Event()

    def begin(self, run: InTurn) -> None:
        """Note that an event's code runs from now on."""
        self.current = Turn(run, self._clock.monotonic_s())
        if self._watched and not self._begun.is_set():
            self._begun.set()

    def end(self) -> float:
        """Note that it has let go; returns how many seconds it took."""
        turn, self.current = self.current, None
        assert turn is not None
        return self._clock.monotonic_s() - turn.begun_s

    def blocked(self) -> tuple[Turn, float] | None:
        """The turn that has been under way for too long, if one is, and for how many seconds."""
        turn = self.current
        took_s = 0.0 if turn is None else self._clock.monotonic_s() - turn.begun_s
        return None if turn is None or took_s <= SLOW_TURN_S else (turn, took_s)

    def break_off(self, blocked: Turn) -> None:
        """Put on record that the program ends under this turn, if it is under way still.

        A signal's handler calls it, on the program's thread: within a turn nothing else writes.
        """
        if blocked is self.current:
            took_s = self._clock.monotonic_s() - blocked.begun_s
            blocked.run.break_off(took_s, blocked.line(sys._getframe(1)))

    # -- telling while it lasts

    def watch(self, tell: Callable[[str], None]) -> None:
        """Start the thread that tells of a turn while it blocks.

        Before the first turn: inside of one no thread may be started.
        """
        self._watched = True
        threading.Thread(
            target=self._watch, args=(tell,), daemon=True, name="agentctl-turns"
        ).start()

    def close(self) -> None:
        """Let the thread end; it is not waited for."""
        self._watched = False
        self._closing.set()
        self._begun.set()

    def _watch(self, tell: Callable[[str], None]) -> None:
        told: Turn | None = None
        while True:
            self._begun.wait()  # a program at rest wakes nobody
            self._begun.clear()
            if self._closing.wait(_LOOK_S):
                return
            found = self.blocked()
            if found is not None and found[0] is not told:
                told, took_s = found
                tell(self._said(told, took_s))
            if self.current is not None:
                self._begun.set()

    def _said(self, turn: Turn, took_s: float) -> str:
        line = turn.line(sys._current_frames().get(self._thread_id))
        return (
            f"{turn.run.title} has not let go for {took_s:.1f} s, in its handler "
            f"{turn.run.handler_name}{f', at {line}' if line else ''}: "
            "the whole program waits for it"
        )
