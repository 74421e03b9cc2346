"""Being the first process of a container: `PID 1` (decision 0013).

The system gives process 1 no default signal actions, and every orphan to bury. Neither goes
together with running agents, so it does nothing else: the command runs in a child.

Invariant: a signal to process 1 reaches the command once, and its end is this one's, with the same
exit code; the system then ends whatever else is left. Never reads a project.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from types import FrameType
from typing import Final

_PASSED_ON: Final = frozenset(
    {
        signal.SIGINT,
        signal.SIGTERM,
        signal.SIGHUP,
        signal.SIGQUIT,
        signal.SIGUSR1,
        signal.SIGUSR2,
    }
)


def split_off() -> None:
    """Return in a child in which the command goes on; process 1 never returns."""
    # What comes before both are ready waits for them.
    signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON)
    child = os.fork()
    if child == 0:
        _take_terminal()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _PASSED_ON)
        return

    def pass_on(number: int, _: FrameType | None) -> None:
        with suppress(ProcessLookupError):
            os.kill(child, number)

    for number in _PASSED_ON:
        signal.signal(number, pass_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _PASSED_ON)
    os._exit(_bury_until(child))


def _take_terminal() -> None:
    """Let a terminal's Ctrl-C come to the command alone: passed on too it would count twice."""
    os.setpgid(0, 0)
    with suppress(OSError):  # there is none
        before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, before)


def _bury_until(child: int) -> int:
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
