"""Who is at the other end of a unix socket, as the operating system tells it."""

from __future__ import annotations

import os
import socket
import struct
import sys
from typing import Final

_ROOT: Final = 0
_SOL_LOCAL: Final = 0
_LOCAL_PEERCRED: Final = 1
_XUCRED_SIZE: Final = 76


def peer_uid(sock: socket.socket) -> int:
    """The user that the peer's process ran as when it connected (or began to listen).

    Raises:
        OSError: the system doesn't say, or the peer is gone already.
    """
    if sys.platform == "darwin":
        told = sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_SIZE)
        return int(struct.unpack_from("=II", told)[1])
    told = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("=iII"))
    return int(struct.unpack("=iII", told)[1])


def is_admitted(uid: int) -> bool:
    """Whether a peer of that user may ask: ourselves, and root."""
    return uid in (os.geteuid(), _ROOT)
