"""Who holds a folder: what a program writes into its lock, and what a reader makes of it.

A note outlives a program that was killed, so it counts only with a proof that its writer lives.
Never takes the lock: a reader that did could keep a program from starting.
"""

from __future__ import annotations

import os

from agentctl.errors import Locked
from agentctl.storage.files.disk import Disk
from agentctl.storage.files.lock import NAME, Where, read_note, refusal
from agentctl.storage.port import Holder
from agentctl.times import Clock, to_rfc3339


def this_program(command: str, clock: Clock, control: str = "") -> Holder:
    """This process, as the holder of a lock from now on.

    Args:
        command: how the program was started, for people.
        clock: says since when.
        control: the control socket's full path, where it doesn't lie in the folder.
    """
    return Holder(os.getpid(), _host(), command, to_rfc3339(clock.now_us()), control)


def read_lock(folder: str, disk: Disk) -> tuple[Holder | None, bool]:
    """Read a lock's note, and whether a program holds the lock just now.

    Where the system doesn't list its locks, it is held if the process in the note lives.
    """
    path = f"{folder}/{NAME}"
    note = read_note(disk, path)
    held = disk.is_locked(path)
    if held is None:
        held = note.host == _host() and _lives(note.pid)
    return (note if note.pid else None), held


def holder_of(folder: str, disk: Disk) -> Holder | None:
    """Tell who holds a folder; of one whose note isn't written yet, only that there is one."""
    note, held = read_lock(folder, disk)
    if not held:
        return None
    return note or Holder(pid=0, host="", command="", since="")


class Lookout:
    """Looks at a held folder again and again, for who waits to get at it."""

    def __init__(self, agent: str, folder: str, disk: Disk, clock: Clock) -> None:
        self._agent = agent
        self._folder = folder
        self._path = f"{folder}/{NAME}"
        self._disk = disk
        self._clock = clock
        self._last: Holder | None = None

    def look(self) -> object:
        """Tell what differs when the folder changes hands, or when its holder gets on.

        Who starts or ends a program there puts files into the folder, or takes them away.
        """
        note = read_note(self._disk, self._path)
        if note.pid:
            self._last = note
        try:
            touched = os.stat(self._folder).st_mtime_ns  # noqa: PTH116 - a Path is slow to load
        except OSError:
            touched = 0
        return note, touched

    def is_locked(self) -> bool:
        """Whether the lock is held for certain, so that it needn't be tried."""
        return self._disk.is_locked(self._path) is True

    def refusal(self, waited_s: float = 0.0) -> Locked:
        """Make the error that says who holds the folder, or who was the last to hold it."""
        self.look()
        holder = self._last or Holder(pid=0, host="", command="", since="")
        where = Where(self._agent, self._folder, _host())
        return refusal(where, holder, self._clock, waited_s)


def _lives(pid: int) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # another user's
    return True


def _host() -> str:
    import socket  # most readers need no name, and it takes a while to load

    return socket.gethostname()
