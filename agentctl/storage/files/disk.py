"""The file system as storage sees it: the port `Disk`, and `SystemDisk`, the real one.

Owns every real file-system call of the project. What it keeps: files are 0600, folders 0700, and
`sync` returns only when the data would survive a power cut, as far as the system can promise it.
It never retries, never hides an error (each is an `OSError`), and knows nothing of records.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, Protocol

from agentctl.errors import DiskTrouble

if TYPE_CHECKING:
    from collections.abc import Sequence

Opening = Literal["read", "append", "new"]
"""`read` needs the file, `append` makes it if need be, `new` empties it."""

Kind = Literal["file", "folder", "other"]

_OTHERS: Final = 0o077


class HeldLock(Protocol):
    """A lock that this program holds."""

    def release(self) -> None:
        """Free it; a second time does nothing."""
        ...


class Disk(Protocol):
    """What storage needs of a file system; every method but `close` may raise `OSError`."""

    @property
    def threaded(self) -> bool:
        """Whether `sync` may run in a thread beside the rest."""
        ...

    def open(self, path: str, opening: Opening) -> int:
        """Open a file; everything written to it goes to its end."""
        ...

    def close(self, fd: int) -> None:
        """Close a file; syncs nothing, never fails."""
        ...

    def write(self, fd: int, data: bytes) -> int:
        """Append `data` or a first part of it; return how many bytes."""
        ...

    def read_at(self, fd: int, size: int, offset: int) -> bytes:
        """Read up to `size` bytes from `offset`; b"" at the end."""
        ...

    def size(self, fd: int) -> int:
        """The file's length in bytes."""
        ...

    def is_at(self, fd: int, path: str) -> bool:
        """Whether the open file is still the one of that name."""
        ...

    def truncate(self, fd: int, size: int) -> None:
        """Cut the file to `size` bytes."""
        ...

    def sync(self, fd: int) -> None:
        """Make the file's content durable."""
        ...

    def sync_folder(self, path: str) -> None:
        """Make the folder's entries durable: creations, renames, removals."""
        ...

    def replace(self, source: str, target: str) -> None:
        """Rename `source` to `target`, in one step, over whatever is there."""
        ...

    def unlink(self, path: str) -> None:
        """Remove a file."""
        ...

    def make_folder(self, path: str) -> None:
        """Make one folder (0700) in an existing one."""
        ...

    def list_folder(self, path: str) -> Sequence[str]:
        """The names in a folder, sorted."""
        ...

    def kind(self, path: str) -> Kind | None:
        """What `path` is; None if there is nothing."""
        ...

    def tighten(self, path: str) -> None:
        """Take everybody else's access to what this user owns away; leave the rest as it is."""
        ...

    def try_lock(self, path: str) -> HeldLock | None:
        """Take the operating system's lock on a file, making it; None if somebody holds it."""
        ...

    def is_locked(self, path: str) -> bool | None:
        """Whether a program holds the lock on a file, without trying it; None: nobody can say."""
        ...


class SystemDisk:
    """The machine's file system."""

    threaded: Final = True

    def open(self, path: str, opening: Opening) -> int:
        """Open a file; everything written to it goes to its end."""
        if opening == "read":
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        return os.open(path, flags | (os.O_TRUNC if opening == "new" else 0), 0o600)

    def close(self, fd: int) -> None:
        """Close a file; what `close` itself might report, `sync` has reported already."""
        try:
            os.close(fd)
        except OSError as error:
            if error.errno == errno.EBADF:
                raise AssertionError("a file was closed twice") from error

    # For every record: one frame less than a method that calls it.
    write = staticmethod(os.write)

    def read_at(self, fd: int, size: int, offset: int) -> bytes:
        """Read up to `size` bytes from `offset`; b"" at the end."""
        return os.pread(fd, size, offset)

    def size(self, fd: int) -> int:
        """The file's length in bytes."""
        return os.fstat(fd).st_size

    def is_at(self, fd: int, path: str) -> bool:
        """Whether the open file is still the one of that name."""
        try:
            there = os.stat(path)  # noqa: PTH116 - at every sync, and a Path takes as long again
        except (FileNotFoundError, NotADirectoryError):
            return False
        here = os.fstat(fd)
        return (here.st_ino, here.st_dev) == (there.st_ino, there.st_dev)

    def truncate(self, fd: int, size: int) -> None:
        """Cut the file to `size` bytes."""
        os.ftruncate(fd, size)

    def sync(self, fd: int) -> None:
        """Make the file's content durable."""
        if sys.platform == "darwin":
            import fcntl

            # fsync there only hands the data to the drive, which may keep it in its own cache.
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
        else:
            os.fdatasync(fd)

    def sync_folder(self, path: str) -> None:
        """Make the folder's entries durable: creations, renames, removals."""
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def replace(self, source: str, target: str) -> None:
        """Rename `source` to `target`, in one step, over whatever is there."""
        Path(source).replace(target)

    def unlink(self, path: str) -> None:
        """Remove a file."""
        Path(path).unlink()

    def make_folder(self, path: str) -> None:
        """Make one folder (0700) in an existing one."""
        Path(path).mkdir(mode=0o700)

    def list_folder(self, path: str) -> Sequence[str]:
        """The names in a folder, sorted."""
        return sorted(entry.name for entry in Path(path).iterdir())

    def kind(self, path: str) -> Kind | None:
        """What `path` is; None if there is nothing."""
        try:
            mode = Path(path).stat().st_mode
        except FileNotFoundError:
            return None
        if stat.S_ISDIR(mode):
            return "folder"
        return "file" if stat.S_ISREG(mode) else "other"

    def tighten(self, path: str) -> None:
        """Take everybody else's access to what this user owns away; leave the rest as it is.

        A file system that has no modes stays as it is, too, and so does what a link leads to.
        """
        with suppress(PermissionError):
            info = os.lstat(path)
            mode = stat.S_IMODE(info.st_mode)
            linked = stat.S_ISLNK(info.st_mode)
            if mode & _OTHERS and not linked and info.st_uid == os.geteuid():
                Path(path).chmod(mode & ~_OTHERS)

    def try_lock(self, path: str) -> HeldLock | None:
        """Take the operating system's lock on a file, making it; None if somebody holds it."""
        from filelock import FileLock, Timeout

        # Not thread-local: the store may be closed from another thread than it was locked in.
        lock = FileLock(path, mode=0o600, thread_local=False, fallback_to_soft=False)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            return None
        return lock

    def is_locked(self, path: str) -> bool | None:
        """Whether a program holds the lock on a file, as Linux lists it; None elsewhere."""
        try:
            with open(_LOCKS, "rb") as file:  # noqa: PTH123 - pathlib is slow to load
                listed = file.read()
        except OSError:
            return None
        try:
            info = os.stat(path)  # noqa: PTH116 - as above
        except FileNotFoundError:
            return False
        where = b"%02x:%02x:%d" % (os.major(info.st_dev), os.minor(info.st_dev), info.st_ino)
        return any(where in line.split() for line in listed.splitlines())


_LOCKS: Final = "/proc/locks"

_HINTS: Final = {
    errno.ENOSPC: "free some space there and start again; nothing acknowledged is lost",
    errno.EDQUOT: "raise the quota and start again; nothing acknowledged is lost",
    errno.EROFS: "make the file system writable, or choose another place with --root",
    errno.EACCES: "give this user write access to it, or choose another place with --root",
    errno.EPERM: "give this user write access to it, or choose another place with --root",
    errno.EIO: "check the disk (dmesg, smartctl), then start again; nothing acknowledged is lost",
}


def disk_trouble(what: str, path: str, error: OSError, hint: str | None = None) -> DiskTrouble:
    """Say in one sentence what failed, where and why; `what` reads "can't be written".

    Args:
        hint: how to go on, where the error's number doesn't say it.
    """
    reason = error.strerror or str(error) or type(error).__name__
    usual = _HINTS.get(error.errno or 0, "mend that and start again; nothing acknowledged is lost")
    return DiskTrouble(f"{path} {what}: {reason}", hint=hint or usual)


class Fuse:
    """Lets changes through until one fails; from then on it refuses them all (R14).

    After a failed write or sync nobody knows what the disk has, so nothing is tried again.
    """

    def __init__(self) -> None:
        self._blown: DiskTrouble | None = None

    def check(self) -> None:
        """Raise the first trouble again, if there was one."""
        if self._blown is not None:
            raise DiskTrouble(
                f"{self._blown.message} (earlier; nothing has been written since)",
                hint=self._blown.hint,
            ) from self._blown

    def blow(self, what: str, path: str, error: OSError, hint: str | None = None) -> DiskTrouble:
        """Refuse every change from now on; return the error to raise."""
        trouble = disk_trouble(what, path, error, hint)
        if self._blown is None:
            self._blown = trouble
        return trouble


def write_all(disk: Disk, fd: int, data: bytes) -> None:
    """Append all of `data`; a short write is continued, so a full disk says so itself."""
    written = disk.write(fd, data)
    while written < len(data):
        # Crash here: the file ends within a record. It was not synced, so not acknowledged;
        # the next start cuts it off.
        data = data[written:]
        written = disk.write(fd, data)


def replace_file(disk: Disk, folder: str, name: str, content: bytes) -> None:
    """Replace a small file as a whole: either the old content stays, or all of the new is there."""
    aside = f"{folder}/{name}.new"
    fd = disk.open(aside, "new")
    try:
        write_all(disk, fd, content)
        disk.sync(fd)
    finally:
        disk.close(fd)
    # Crash here: the old file still stands; the one beside it is overwritten next time.
    disk.replace(aside, f"{folder}/{name}")
    # Crash here: after a power cut either name may stand, each with a whole content.
    disk.sync_folder(folder)
