"""What a program writes into the lock that it holds."""

from __future__ import annotations

import os
import socket

from agentctl.storage.port import Holder
from agentctl.times import Clock, to_rfc3339


def this_program(command: str, clock: Clock, control: str = "") -> Holder:
    """This process, as the holder of a lock from now on.

    Args:
        command: how the program was started, for people.
        clock: says since when.
        control: the control socket's full path, where it doesn't lie in the folder.
    """
    since = to_rfc3339(clock.now_us())
    return Holder(os.getpid(), socket.gethostname(), command, since, control)
