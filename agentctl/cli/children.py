"""The processes that a program's calls have started, and their end with it (decision 0013).

Invariant: only processes below this one are ended, asked first, and nobody waits for them longer
than told. Never decides when.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from agentctl.times import Clock, SystemClock

ASK_S: Final = 0.4
"""What children get to end when asked to; a stop stays within its grace and a second with it."""
_POLL_S: Final = 0.02
_PROC: Final = Path("/proc")


def end_children(
    wait_s: float = ASK_S, clock: Clock | None = None, pause: Callable[[float], None] = time.sleep
) -> None:
    """Ask every process below this one to end, and kill those that don't."""
    clock = clock or SystemClock()
    give_up_s = clock.monotonic_s() + wait_s
    asked = below(os.getpid())
    _send(asked, signal.SIGTERM)
    while asked and clock.monotonic_s() < give_up_s:
        pause(_POLL_S)
        asked &= alive()
    # Also what has come since: one that was asked may have started another first.
    _send(asked | below(os.getpid()), signal.SIGKILL)


def kill_children() -> None:
    """Kill every process below this one, and wait for none."""
    _send(below(os.getpid()), signal.SIGKILL)


def below(pid: int) -> set[int]:
    """The living processes that a process has started, and what those have, and so on."""
    parents = _parents()
    found: set[int] = set()
    level = {pid}
    while level:
        level = {child for child, parent in parents.items() if parent in level} - found
        found |= level
    return found


def alive() -> set[int]:
    """Every process of this machine that hasn't ended."""
    return set(_parents())


def _send(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _parents() -> Mapping[int, int]:
    """Each living process's parent; one that ended and waits to be collected isn't living."""
    if (_PROC / "self" / "stat").exists():
        return _parents_of_proc()
    return _parents_of_ps()


def _parents_of_proc() -> Mapping[int, int]:
    found: dict[int, int] = {}
    for entry in os.listdir(_PROC):  # noqa: PTH208 - a signal's handler is in a hurry
        if not entry.isdigit():
            continue
        with suppress(OSError):  # it ended meanwhile
            # The name in parentheses may hold anything; state and parent follow the last one.
            state, parent = (_PROC / entry / "stat").read_bytes().rpartition(b")")[2].split()[:2]
            if state not in (b"Z", b"X"):
                found[int(entry)] = int(parent)
    return found


def _parents_of_ps() -> Mapping[int, int]:
    import subprocess

    with suppress(OSError, subprocess.SubprocessError):
        asked = subprocess.Popen(
            ["ps", "-axo", "pid=,ppid=,stat="],  # noqa: S607 - wherever the system has it
            stdout=subprocess.PIPE,
            text=True,
        )
        lines = [line.split() for line in asked.communicate(timeout=2)[0].splitlines()]
        rows = [row for row in lines if len(row) == 3 and not row[2].startswith("Z")]
        return {int(pid): int(parent) for pid, parent, _ in rows if int(pid) != asked.pid}
    return {}
