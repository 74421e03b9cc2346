"""What a program writes into the lock that it holds."""

from __future__ import annotations

import os
import socket

from agentctl.storage.port import Holder
from agentctl.times import Clock, to_rfc3339


def this_program(command: str, clock: Clock) -> Holder:
    """This process, as the holder of a lock from now on."""
    return Holder(os.getpid(), socket.gethostname(), command, to_rfc3339(clock.now_us()))
