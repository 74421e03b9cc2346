"""Ctrl-C while the command still loads: the process ends at once.

Invariant: nothing has been done by then, so nothing is left half. It imports nothing that takes
long, for it has to be there first. Never in the way of a command that runs.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

_INTERRUPTED = 130


def end_by_ctrl_c() -> Callable[[], None]:
    """Let Ctrl-C end the process; what this returns puts things back, to be called in time.

    An exception won't do: it comes in the middle of somebody's import, and some swallow it, and
    then lack what they were loading.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return lambda: None  # whoever started the command has it ignored, say
    signal.signal(signal.SIGINT, lambda *_: os._exit(_INTERRUPTED))

    def listen_again() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)

    return listen_again
