"""The way to change something beside a running program: try the lock, else ask its holder.

A holder may be just ending, or just starting: then neither the lock nor the socket can be had for
a moment, and both are tried again. Nothing is lost by that, and nothing doubled, as long as
whatever is asked bears one request id all along; that is the caller's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from agentctl.engines.local.control.client import Control
from agentctl.engines.local.control.trouble import ControlGone
from agentctl.errors import Locked
from agentctl.times import Clock

T = TypeVar("T")

WAIT_S: Final = 5.0
_FIRST_PAUSE_S: Final = 0.005
_LONGEST_PAUSE_S: Final = 0.05


def reach(
    under_lock: Callable[[], T],
    ask: Callable[[Control], T],
    *,
    folder: str,
    clock: Clock,
    pause: Callable[[float], None],
    wait_s: float = WAIT_S,
    connect: Callable[[str], Control] = Control.connect,
    look: Callable[[], object] = lambda: None,
    refusal: Callable[[], Locked] | None = None,
) -> T:
    """Do it under the folder's lock, or have it done by whoever holds that.

    The time that counts is the time in which nobody can be reached and nothing changes. None
    passes while the holder is busy with the answer, nor while it is tried under the lock, which
    may load a project's code; each answer and each sign of life begins it anew.

    Args:
        under_lock: does it; raises `Locked` at once if the folder is held.
        ask: has it done, over a connection.
        folder: the agent's folder.
        clock: measures the wait.
        pause: waits so many seconds between two rounds.
        wait_s: how long nobody may be reached.
        connect: connects to the folder's holder.
        look: tells what differs when the folder changes hands, or its holder gets on.
        refusal: makes the error that says who holds the folder; else it is the last one's.

    Raises:
        Locked: the folder stayed held, and its holder out of reach.
    """
    since_s = clock.monotonic_s()
    pause_s = _FIRST_PAUSE_S
    seen = look()
    while True:
        tried_s = clock.monotonic_s()
        try:
            return under_lock()
        except Locked as error:
            locked = error
        since_s += clock.monotonic_s() - tried_s
        if (sight := look()) != seen:
            seen, since_s = sight, clock.monotonic_s()
        try:
            control = connect(folder)
        except ControlGone:
            pass  # it may be just starting, or just ending
        else:
            began_s = clock.monotonic_s()
            with control:
                try:
                    return ask(control)
                except ControlGone:
                    ended_s = clock.monotonic_s()
                    since_s = ended_s if control.heard else since_s + (ended_s - began_s)
        if clock.monotonic_s() - since_s >= wait_s:
            raise locked if refusal is None else refusal()
        pause(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
