"""The lock on an agent's folder: one program at a time, and a note for people on who it is (R11).

The operating system's lock decides; the file's text is only a note, and may be out of date. The
file is never deleted, so that two programs can't hold two files of one name.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from msgspec import structs

from agentctl.errors import Locked
from agentctl.storage.files.disk import Disk, HeldLock, disk_trouble, write_all
from agentctl.storage.port import Holder
from agentctl.times import Clock, SystemClock, format_duration, to_rfc3339

NAME: Final = "lock"
_POLL_S: Final = 0.05
_NOTE_SIZE: Final = 4096
_UNKNOWN: Final = Holder(pid=0, host="", command="", since="")


class FolderLock:
    """The lock of one agent's folder."""

    def __init__(
        self,
        disk: Disk,
        folder: str,
        *,
        clock: Clock | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._disk = disk
        self._folder = folder
        self._path = f"{folder}/{NAME}"
        self._clock = clock or SystemClock()
        self._pause = pause
        self._held: HeldLock | None = None
        self._pid = 0

    @property
    def held(self) -> bool:
        """Whether this program holds the lock; False in a forked child."""
        return self._held is not None and self._pid == os.getpid()

    def take(self, agent: str, holder: Holder, wait_s: float, *, waited_s: float = 0.0) -> None:
        """Take the lock and leave the note.

        Raises:
            Locked: another program holds it, still after `wait_s` seconds.
            DiskTrouble: the folder can't be written, or its file system has no locks.
        """
        assert not self.held, "the lock is taken already"
        give_up_s = self._clock.monotonic_s() + wait_s
        held = self._try()
        while held is None and self._clock.monotonic_s() < give_up_s:
            self._pause(_POLL_S)
            held = self._try()
        if held is None:
            known = read_note(self._disk, self._path)
            where = Where(agent, self._folder, holder.host)
            raise refusal(where, known, self._clock, waited_s + wait_s)
        self._held = held
        self._pid = os.getpid()
        told = structs.asdict(holder)
        if not holder.control:
            del told["control"]
        self._write_note(json.dumps(told).encode() + b"\n")

    def _try(self) -> HeldLock | None:
        try:
            return self._disk.try_lock(self._path)
        except (OSError, NotImplementedError) as error:
            if isinstance(error, OSError) and self._can_be_written():
                trouble = disk_trouble("can't be locked", self._path, error)
                trouble.hint = "put agents/ on a local file system that has locks (flock)"
                raise trouble from error
            cause = error if isinstance(error, OSError) else OSError(str(error))
            raise disk_trouble("can't be opened for writing", self._path, cause) from error

    def _can_be_written(self) -> bool:
        try:
            self._disk.close(self._disk.open(self._path, "append"))
        except OSError:
            return False
        return True

    def _write_note(self, note: bytes) -> None:
        # Only a note for people: on a full disk the lock holds without it, and the journal will
        # say what is wrong.
        with suppress(OSError):
            fd = self._disk.open(self._path, "new")
            try:
                write_all(self._disk, fd, note)
            finally:
                self._disk.close(fd)

    def release(self) -> None:
        """Free the lock; in a forked child, and a second time, it does nothing."""
        if self._held is None or not self.held:
            return
        self._write_note(b"")
        self._held.release()
        self._held = None


@dataclass(frozen=True, slots=True)
class Where:
    """Which folder is held, for who asks from which host."""

    agent: str
    folder: str
    host: str


def refusal(where: Where, holder: Holder, clock: Clock, waited_s: float) -> Locked:
    """Make the error that says who holds a folder, as far as its note tells."""
    known = []
    if holder.pid:
        host = f" on {holder.host}" if holder.host != where.host else ""
        today = to_rfc3339(clock.now_us())[:10]
        since = holder.since
        if since.startswith(today):
            since = f"{since[11:19]}Z"
        known.append(f"pid {holder.pid}{host}, {holder.command}, since {since}")
    if waited_s > 0:
        known.append(f"waited {_in_words(waited_s)}")
    facts = f" ({'; '.join(known)})" if known else ""
    return Locked(
        f"the agent {where.agent} already runs in another program: "
        f"its folder {where.folder} is locked{facts}",
        hint=f"stop that program; or read without the lock: agentctl inspect journal {where.agent}",
    )


def _in_words(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:g} s"
    return format_duration(timedelta(seconds=seconds))


def read_note(disk: Disk, path: str) -> Holder:
    """Read the note of the lock file `path`; `pid` 0 says that nothing can be told from it.

    A note alone doesn't say that the lock is held: a program that was killed leaves its own.
    """
    try:
        fd = disk.open(path, "read")
        try:
            note = json.loads(disk.read_at(fd, _NOTE_SIZE, 0))
        finally:
            disk.close(fd)
        host, command, since = (str(note[key]) for key in ("host", "command", "since"))
        return Holder(int(note["pid"]), host, command, since, str(note.get("control", "")))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return _UNKNOWN  # being written, or not ours
