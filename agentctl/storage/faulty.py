"""A disk that dies or fails at its n-th change: what the crash matrix and the fault tests run on.

Counts every change (write, sync, rename, truncate, sync of a folder, creation). At the chosen one
the program dies (`SimulatedDeath`, from then on at every touch of the disk, as a dead program
does nothing more), or the operation fails as a bad disk would make it. `after_kill` and
`after_power_cut` give the disk to the next program. `log` names each change, for messages.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from agentctl.errors import ControlFlow
from agentctl.storage.files.disk import HeldLock, Kind, Opening
from agentctl.storage.memory import MemoryDisk


class SimulatedDeath(ControlFlow):
    """The program was killed here; nothing of it runs any more."""


@dataclass(frozen=True)
class Fault:
    """What goes wrong, and when.

    Attributes:
        at: the number of the change that is hit, counted from 1.
        kind: `die`: the program dies; `fail`: the operation raises `error`; `short`: a write
            takes only a part, and succeeds.
        error: an `errno`, for `fail`.
        keep: of a write that is hit, so many bytes still get through (`die`, `short`; a `fail`
            with some is a short write, and the change after it fails).
        lasts: every change after it fails too: a disk that stays full.
    """

    at: int
    kind: Literal["die", "fail", "short"] = "die"
    error: int = 0
    keep: int = 0
    lasts: bool = False


class FaultyDisk:
    """A disk in memory with a fault; without one it only counts."""

    threaded: Final = False

    def __init__(self, disk: MemoryDisk | None = None, fault: Fault | None = None) -> None:
        self.disk = disk or MemoryDisk()
        self.fault = fault
        self.changes = 0
        self.hit = False
        self.dead = False
        self.log: list[str] = []
        self._paths: dict[int, str] = {}

    @property
    def root(self) -> str:
        """The folder that is there from the beginning."""
        return self.disk.root

    def after_kill(self) -> MemoryDisk:
        """The disk as the next program finds it after `kill -9`."""
        return self.disk.after_kill()

    def after_power_cut(self, seed: int) -> MemoryDisk:
        """The disk as the next program finds it after the power went; the seed decides."""
        return self.disk.after_power_cut(seed)

    def open(self, path: str, opening: Opening) -> int:
        """Open a file; counts if that makes or empties it."""
        self._alive()
        if opening == "new" or (opening == "append" and self.disk.kind(path) is None):
            self._change(f"create {path}")
        fd = self.disk.open(path, opening)
        self._paths[fd] = path
        return fd

    def close(self, fd: int) -> None:
        """Close a file; a dead program's files close by themselves."""
        if not self.dead:
            self.disk.close(fd)

    def write(self, fd: int, data: bytes) -> int:
        """Append `data`, or what the fault lets through."""
        self._alive()
        fault = self._count(f"write {self._paths[fd]}")
        if fault is None:
            return self.disk.write(fd, data)
        kept = min(fault.keep, len(data) - 1) if data else 0
        if kept > 0:
            self.disk.write(fd, data[:kept])
        if fault.kind == "die":
            self._die()
        if fault.kind == "fail" and kept <= 0:
            raise _error(fault)
        return kept

    def read_at(self, fd: int, size: int, offset: int) -> bytes:
        """Read up to `size` bytes from `offset`."""
        self._alive()
        return self.disk.read_at(fd, size, offset)

    def size(self, fd: int) -> int:
        """The file's length in bytes."""
        self._alive()
        return self.disk.size(fd)

    def is_at(self, fd: int, path: str) -> bool:
        """Whether the open file is still the one of that name."""
        self._alive()
        return self.disk.is_at(fd, path)

    def truncate(self, fd: int, size: int) -> None:
        """Cut the file to `size` bytes."""
        self._change(f"truncate {self._paths[fd]}")
        self.disk.truncate(fd, size)

    def sync(self, fd: int) -> None:
        """Make the file's content durable; a sync that fails loses it for good."""
        try:
            self._change(f"sync {self._paths[fd]}")
        except OSError:
            self.disk.lose_unsynced(fd)
            raise
        self.disk.sync(fd)

    def sync_folder(self, path: str) -> None:
        """Make the folder's entries durable."""
        self._change(f"sync folder {path}")
        self.disk.sync_folder(path)

    def replace(self, source: str, target: str) -> None:
        """Rename `source` to `target`."""
        self._change(f"rename {source} {target}")
        self.disk.replace(source, target)

    def unlink(self, path: str) -> None:
        """Remove a file."""
        self._change(f"unlink {path}")
        self.disk.unlink(path)

    def make_folder(self, path: str) -> None:
        """Make one folder in an existing one."""
        self._change(f"make folder {path}")
        self.disk.make_folder(path)

    def list_folder(self, path: str) -> Sequence[str]:
        """The names in a folder, sorted."""
        self._alive()
        return self.disk.list_folder(path)

    def kind(self, path: str) -> Kind | None:
        """What `path` is; None if there is nothing."""
        self._alive()
        return self.disk.kind(path)

    def tighten(self, path: str) -> None:
        """Change a mode; there is none here, so it doesn't count."""
        self._alive()
        self.disk.tighten(path)

    def try_lock(self, path: str) -> HeldLock | None:
        """Take the lock on a file, making it; None if somebody holds it."""
        self._alive()
        if self.disk.kind(path) is None:
            self._change(f"create {path}")
        return self.disk.try_lock(path)

    def is_locked(self, path: str) -> bool | None:
        """Whether a program holds the lock on a file."""
        self._alive()
        return self.disk.is_locked(path)

    def _alive(self) -> None:
        if self.dead:
            raise SimulatedDeath

    def _die(self) -> None:
        self.dead = True
        raise SimulatedDeath

    def _count(self, what: str) -> Fault | None:
        self.changes += 1
        self.log.append(what)
        fault = self.fault
        if fault is None or self.changes < fault.at:
            return None
        if self.changes == fault.at:
            self.hit = True
            return fault
        if fault.lasts or (self.changes == fault.at + 1 and fault.kind == "fail" and fault.keep):
            return Fault(self.changes, "fail", fault.error)
        return None

    def _change(self, what: str) -> None:
        self._alive()
        fault = self._count(what)
        if fault is None or fault.kind == "short":
            return
        if fault.kind == "die":
            self._die()
        raise _error(fault)


def _error(fault: Fault) -> OSError:
    return OSError(fault.error, os.strerror(fault.error))
