"""The two text files beside the journal: `set-aside` and `audit.log`.

`set-aside` is only ever replaced as a whole; `audit.log` only grows, by whole lines. What they
mean, and that they agree with the journal, is for others to see to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentctl.storage.files.disk import (
    Disk,
    Fuse,
    SystemDisk,
    disk_trouble,
    replace_file,
    write_all,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

SET_ASIDE: Final = "set-aside"
AUDIT: Final = "audit.log"
_CHUNK: Final = 1 << 16


def read_file(disk: Disk, path: str) -> bytes:
    """Read a whole file; b"" if there is none."""
    try:
        fd = disk.open(path, "read")
    except FileNotFoundError:
        return b""
    try:
        parts = []
        offset = 0
        while part := disk.read_at(fd, _CHUNK, offset):
            parts.append(part)
            offset += len(part)
        return b"".join(parts)
    finally:
        disk.close(fd)


def read_beside(path: str, disk: Disk | None = None) -> bytes:
    """Read `set-aside` or `audit.log` for people, without the lock; b"" if there is none.

    Raises:
        DiskTrouble: it can't be read.
    """
    try:
        return read_file(disk or SystemDisk(), path)
    except OSError as error:
        raise disk_trouble("can't be read", path, error) from error


class SetAsideFile:
    """The file `set-aside`."""

    def __init__(self, disk: Disk, folder: str, fuse: Fuse) -> None:
        self._disk = disk
        self._folder = folder
        self._path = f"{folder}/{SET_ASIDE}"
        self._fuse = fuse

    def read(self) -> bytes:
        """The whole file, b"" if there is none."""
        try:
            return read_file(self._disk, self._path)
        except OSError as error:
            raise self._fuse.blow("can't be read", self._path, error) from error

    def write(self, content: bytes) -> None:
        """Replace the file, durably; b"" removes it."""
        self._fuse.check()
        try:
            if content:
                replace_file(self._disk, self._folder, SET_ASIDE, content)
            elif self._disk.kind(self._path) is not None:
                self._disk.unlink(self._path)
                # Crash here: after a power cut the file may be back; the journal knows better.
                self._disk.sync_folder(self._folder)
        except OSError as error:
            raise self._fuse.blow("can't be written", self._path, error) from error


class AuditLog:
    """The file `audit.log`, opened when it is first needed."""

    def __init__(self, disk: Disk, folder: str, fuse: Fuse) -> None:
        self._disk = disk
        self._folder = folder
        self._path = f"{folder}/{AUDIT}"
        self._fuse = fuse
        self._fd = -1
        self._synced = True

    def tail(self, lines: int) -> list[str]:
        """The last whole lines; an unfinished one, or one with lost bytes, is cut off first."""
        self._fuse.check()
        try:
            return self._tail(lines) if self._disk.kind(self._path) is not None else []
        except OSError as error:
            raise self._fuse.blow("can't be read", self._path, error) from error

    def _tail(self, lines: int) -> list[str]:
        disk, fd = self._disk, self._open()
        size = start = disk.size(fd)
        data = b""
        # One line end more than asked for: then the first of them is surely whole.
        while start and data.count(b"\n") <= lines:
            step = min(_CHUNK, start)
            start -= step
            data = disk.read_at(fd, step, start) + data
        if start:
            skipped = data.index(b"\n") + 1
            start += skipped
            data = data[skipped:]
        whole = data[: data.rfind(b"\n") + 1]
        if (zero := whole.find(b"\0")) >= 0:
            # A power cut lost a part of what wasn't synced; from there on it is written again.
            whole = whole[: whole.rfind(b"\n", 0, zero) + 1]
        if start + len(whole) < size:
            # Crash here: the tail is still there, and the next start cuts it again.
            disk.truncate(fd, start + len(whole))
            # Synced, so that no byte of it can show up again within a line written over it.
            disk.sync(fd)
        texts = whole.decode(errors="replace").split("\n")[:-1]
        return texts[-lines:] if lines else []

    def append(self, lines: Sequence[str]) -> None:
        """Add lines; they aren't durable yet."""
        self._fuse.check()
        if not lines:
            return
        data = "".join(f"{line}\n" for line in lines).encode(errors="backslashreplace")
        try:
            # Crash here: a first part of them is there; the next start completes it from the
            # journal, whose records were durable before.
            write_all(self._disk, self._open(), data)
        except OSError as error:
            raise self._fuse.blow("can't be written", self._path, error) from error
        self._synced = False

    def sync(self) -> None:
        """Make every line durable."""
        self._fuse.check()
        if self._synced:
            return
        # Before, not after: where a thread syncs, lines written meanwhile need another sync.
        self._synced = True
        try:
            self._disk.sync(self._open())
        except OSError as error:
            raise self._fuse.blow("can't be synced", self._path, error) from error

    def _open(self) -> int:
        if self._fd < 0:
            made = self._disk.kind(self._path) is None
            self._fd = self._disk.open(self._path, "append")
            # Lines that an earlier program wrote may not be durable either.
            self._synced = False
            if made:
                self._disk.sync_folder(self._folder)
        return self._fd

    def close(self) -> None:
        """Close the file; syncs nothing."""
        if self._fd >= 0:
            self._disk.close(self._fd)
            self._fd = -1
