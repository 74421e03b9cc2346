"""A file system in memory that forgets like a real one, and a store on it.

`MemoryDisk` keeps apart what programs see (the page cache) and what the disk has: per file the
content, per folder the entries. `after_kill` is the machine after `kill -9`: what was written is
there, locks are free. `after_power_cut` is the machine after the power went: what wasn't synced is
there, lost, torn at any byte, or out of order, as its seed says. Never touches the real disk.
"""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from agentctl.storage.files.disk import HeldLock, Kind, Opening
from agentctl.storage.files.folder import FilesStore

_BLOCKS: Final = (1, 8, 64, 512, 4096)


class _File:
    """One file: `seen` by programs, `stored` on the disk, the same before `dirty_from`."""

    def __init__(
        self, seen: bytes | bytearray = b"", stored: bytes | bytearray = b"", dirty_from: int = 0
    ) -> None:
        self.seen = bytearray(seen)
        self.stored = bytearray(stored)
        self.dirty_from = dirty_from

    def copy(self) -> _File:
        return _File(self.seen, self.stored, self.dirty_from)

    def sync(self) -> None:
        gap = self.dirty_from - len(self.stored)
        self.stored += bytes(max(gap, 0))
        self.stored[self.dirty_from :] = self.seen[self.dirty_from :]
        self.dirty_from = len(self.seen)

    def lose(self) -> None:
        """Take what is dirty for written, as systems do after a sync that failed."""
        self.dirty_from = len(self.seen)

    def after_power_cut(self, chance: random.Random) -> _File:
        seen, stored = bytes(self.seen), bytes(self.stored)
        if seen == stored:
            return _File(seen, seen, len(seen))
        low, high = sorted((len(stored), len(seen)))
        size = chance.choice((low, high, chance.randint(low, high)))
        block = chance.choice(_BLOCKS)
        content = bytearray()
        for start in range(0, size, block):
            source = chance.choice((seen, stored))
            part = source[start : min(start + block, size)]
            content += part.ljust(min(block, size - start), b"\0")
        # What both agree on isn't in flight.
        same = min(self.dirty_from, low)
        content[:same] = seen[:same] if stored[:same] == seen[:same] else content[:same]
        return _File(content, content, len(content))


_Names = dict[str, _File | None]
"""Path to file; None is a folder."""


class _Change:
    """A change of entries that isn't durable yet."""

    def __init__(self, folder: str, puts: _Names, removes: Sequence[str]) -> None:
        self.folder = folder
        self.puts = puts
        self.removes = removes

    def apply(self, names: _Names) -> None:
        for path in self.removes:
            names.pop(path, None)
        names.update(self.puts)


class _MemoryLock:
    def __init__(self, locked: set[str], path: str) -> None:
        self._locked = locked
        self._path = path

    def release(self) -> None:
        """Free it; a second time does nothing."""
        self._locked.discard(self._path)


class MemoryDisk:
    """A file system in memory; `root` is its one folder at first."""

    threaded: Final = False

    def __init__(self, root: str = "/memory") -> None:
        self.root = root
        self._seen: _Names = {root: None}
        self._stored: _Names = {root: None}
        self._pending: list[_Change] = []
        self._open: dict[int, _File] = {}
        self._next_fd = 3
        self._locked: set[str] = set()

    def after_kill(self) -> MemoryDisk:
        """The disk as the next program finds it after `kill -9`."""
        twin = MemoryDisk(self.root)
        copies: dict[int, _File] = {}
        twin._seen = _copy_names(self._seen, copies)
        twin._stored = _copy_names(self._stored, copies)
        twin._pending = [
            _Change(change.folder, _copy_names(change.puts, copies), change.removes)
            for change in self._pending
        ]
        return twin

    def after_power_cut(self, seed: int) -> MemoryDisk:
        """The disk as the next program finds it after the power went; the seed decides."""
        chance = random.Random(seed)  # noqa: S311  (a test's choice, not a secret)
        names = dict(self._stored)
        # Entries may reach the disk in any order, each on its own: 0 none, 1 all, 2 some.
        mood = chance.randrange(3)
        for change in self._pending:
            if mood == 1 or (mood == 2 and chance.random() < 0.5):
                change.apply(names)
        twin = MemoryDisk(self.root)
        torn: dict[int, _File] = {}
        for path, file in names.items():
            if path != self.root and names.get(_folder_of(path), self) is not None:
                continue  # its folder never reached the disk
            if file is not None and id(file) not in torn:
                torn[id(file)] = file.after_power_cut(chance)
            twin._seen[path] = None if file is None else torn[id(file)]
        twin._stored = dict(twin._seen)
        return twin

    def open(self, path: str, opening: Opening) -> int:
        """Open a file; everything written to it goes to its end."""
        file = self._seen.get(path)
        if path in self._seen and file is None:
            raise _error(errno.EISDIR, path)
        if file is None:
            if opening == "read":
                raise _error(errno.ENOENT, path)
            self._need_folder(path)
            file = _File()
            self._change(path, {path: file}, ())
        elif opening == "new":
            file.seen.clear()
            file.dirty_from = 0
        self._next_fd += 1
        self._open[self._next_fd] = file
        return self._next_fd

    def close(self, fd: int) -> None:
        """Close a file; syncs nothing, never fails."""
        assert self._open.pop(fd, None) is not None, "a file was closed twice"

    def write(self, fd: int, data: bytes) -> int:
        """Append all of `data`."""
        self._open[fd].seen += data
        return len(data)

    def read_at(self, fd: int, size: int, offset: int) -> bytes:
        """Read up to `size` bytes from `offset`; b"" at the end."""
        return bytes(self._open[fd].seen[offset : offset + size])

    def size(self, fd: int) -> int:
        """The file's length in bytes."""
        return len(self._open[fd].seen)

    def is_at(self, fd: int, path: str) -> bool:
        """Whether the open file is still the one of that name."""
        return self._seen.get(path) is self._open[fd]

    def truncate(self, fd: int, size: int) -> None:
        """Cut the file to `size` bytes."""
        file = self._open[fd]
        del file.seen[size:]
        file.dirty_from = min(file.dirty_from, size)

    def sync(self, fd: int) -> None:
        """Make the file's content durable."""
        self._open[fd].sync()

    def lose_unsynced(self, fd: int) -> None:
        """Do what a failed sync does: what wasn't durable never will be, and no sync says so."""
        self._open[fd].lose()

    def sync_folder(self, path: str) -> None:
        """Make the folder's entries durable."""
        self._need_folder(f"{path}/x")
        for change in self._pending:
            if change.folder == path:
                change.apply(self._stored)
        self._pending = [change for change in self._pending if change.folder != path]

    def replace(self, source: str, target: str) -> None:
        """Rename `source` to `target`, in one step, over whatever is there."""
        file = self._seen.get(source)
        if file is None:
            raise _error(errno.ENOENT, source)
        assert _folder_of(source) == _folder_of(target), "renames stay in their folder"
        self._change(target, {target: file}, (source,))

    def unlink(self, path: str) -> None:
        """Remove a file."""
        if self._seen.get(path) is None:
            raise _error(errno.ENOENT, path)
        self._change(path, {}, (path,))

    def make_folder(self, path: str) -> None:
        """Make one folder in an existing one."""
        if path in self._seen:
            raise _error(errno.EEXIST, path)
        self._need_folder(path)
        self._change(path, {path: None}, ())

    def list_folder(self, path: str) -> Sequence[str]:
        """The names in a folder, sorted."""
        self._need_folder(f"{path}/x")
        inside = [name for name in self._seen if name != path and _folder_of(name) == path]
        return sorted(name.rsplit("/", 1)[1] for name in inside)

    def kind(self, path: str) -> Kind | None:
        """What `path` is; None if there is nothing."""
        if path not in self._seen:
            return None
        return "folder" if self._seen[path] is None else "file"

    def tighten(self, path: str) -> None:
        """Nothing in memory has a mode."""

    def try_lock(self, path: str) -> HeldLock | None:
        """Take the lock on a file, making it; None if somebody holds it."""
        if path in self._locked:
            return None
        self.close(self.open(path, "append"))
        self._locked.add(path)
        return _MemoryLock(self._locked, path)

    def is_locked(self, path: str) -> bool | None:
        """Whether the lock on a file is held."""
        return path in self._locked

    def read_file(self, path: str) -> bytes:
        """A file's content as programs see it; for tests to look at.

        Raises:
            FileNotFoundError: there is none.
        """
        file = self._seen.get(path)
        if file is None:
            raise _error(errno.ENOENT, path)
        return bytes(file.seen)

    def put_file(self, path: str, content: bytes) -> None:
        """Make a durable file, and its folders; for tests to set the scene."""
        parents = [str(parent) for parent in Path(path).parents if str(parent) != "/"]
        for parent in reversed(parents):
            self._seen.setdefault(parent, None)
            self._stored.setdefault(parent, None)
        self._seen[path] = self._stored[path] = _File(content, content, len(content))

    def _need_folder(self, path: str) -> None:
        folder = _folder_of(path)
        if folder not in self._seen:
            raise _error(errno.ENOENT, folder)
        if self._seen[folder] is not None:
            raise _error(errno.ENOTDIR, folder)

    def _change(self, path: str, puts: _Names, removes: Sequence[str]) -> None:
        change = _Change(_folder_of(path), puts, removes)
        change.apply(self._seen)
        self._pending.append(change)


def _folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def _copy_names(names: _Names, copies: dict[int, _File]) -> _Names:
    copied: _Names = {}
    for path, file in names.items():
        if file is not None and id(file) not in copies:
            copies[id(file)] = file.copy()
        copied[path] = None if file is None else copies[id(file)]
    return copied


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)


def memory_store(agent: str = "Bot", disk: MemoryDisk | None = None) -> FilesStore:
    """Make a store whose folder is in memory; stores on one `disk` see the same files."""
    disk = disk or MemoryDisk()
    return FilesStore(Path(disk.root), agent, disk)
