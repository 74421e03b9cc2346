"""The journal's writer: replace as a whole, append, sync.

The invariant: what `sync` has reported durable is read back after any crash, and each line's mark
tells the truth about what was durable when it was written. It never retries a failed write or
sync, and doesn't know what a record means.
"""

from __future__ import annotations

import errno
import threading
from typing import TYPE_CHECKING, Final

from agentctl.storage.files import frame
from agentctl.storage.files.disk import Disk, Fuse, write_all
from agentctl.storage.files.reading import Lines, damaged_error, judge
from agentctl.storage.port import Scan

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NAME: Final = "journal"
_BATCH: Final = 1 << 20
_GONE: Final = (
    "what was acknowledged is in the file that stood there, and nowhere else: end whatever runs in "
    "its place, put it back (a backup, if it was deleted), and start again"
)
_SHORT: Final = (
    "what was cut off is in no other file: keep a copy of this one, put a backup in its place "
    "(docs/how-to/backup.md, Restore), and start again"
)


class Journal:
    """One journal, open for appending once `rewrite` has been called."""

    def __init__(self, disk: Disk, folder: str, agent: str, fuse: Fuse) -> None:
        self._disk = disk
        self._folder = folder
        self._path = f"{folder}/{NAME}"
        self._agent = agent
        self._fuse = fuse
        self._fd = -1
        self._size = 0
        self._durable = 0
        self._marked = 0
        self._crc = 0
        self._scanned: Lines | None = None
        # Held while the file is synced or exchanged, so that neither meets a closed descriptor.
        self._exchange = threading.Lock()
        self.syncs = 0

    def scan(self) -> Scan:
        """Read and check the journal; changes nothing.

        Raises:
            JournalDamaged: a record that was durable is broken, lost, doubled or out of order.
        """
        try:
            verdict = judge(self._disk, self._path)
        except OSError as error:
            raise self._fuse.blow("can't be read", self._path, error) from error
        if verdict.damage is not None:
            verdict.lines.close()
            raise damaged_error(self._path, self._agent, verdict)
        self._scanned = verdict.lines
        return Scan(verdict.lines, verdict.cut, exists=verdict.end > 0, end=verdict.end)

    def settle(self) -> None:
        """Make durable what `scan` read: after a kill it may only be in the page cache."""
        self._fuse.check()
        disk = self._disk
        try:
            if disk.kind(self._path) is None:
                return
            fd = disk.open(self._path, "read")
            try:
                disk.sync(fd)
            finally:
                disk.close(fd)
            # The file's name, too: who renamed it may have been killed before this.
            disk.sync_folder(self._folder)
        except OSError as error:
            raise self._fuse.blow("can't be synced", self._path, error) from error

    def rewrite(self, bodies: Iterable[bytes], *, marked: bool = True) -> None:
        """Replace the whole journal by `bodies`, all of them durable when it returns."""
        self._fuse.check()
        with self._exchange:
            try:
                self._rewrite(bodies, marked=marked)
            except OSError as error:
                raise self._fuse.blow("can't be rewritten", self._path, error) from error

    def _rewrite(self, bodies: Iterable[bytes], *, marked: bool) -> None:
        disk = self._disk
        aside = f"{self._path}.new"
        fd = disk.open(aside, "new")
        try:
            size, crc = self._write_new(fd, bodies, marked=marked)
            disk.sync(fd)
            # Crash here: the old journal stands, whole; the new one is overwritten next time.
            disk.replace(aside, self._path)
            # Crash here: after a power cut either may stand. Both hold all that was acknowledged,
            # since nothing is appended to the new one before its name is durable.
            disk.sync_folder(self._folder)
        except BaseException:
            disk.close(fd)
            raise
        self._close_file()
        self._fd = fd
        self._size = self._durable = size
        self._marked = size if marked else 0
        self._crc = crc

    def _write_new(self, fd: int, bodies: Iterable[bytes], *, marked: bool) -> tuple[int, int]:
        size = crc = held = 0
        batch: list[bytes] = []
        for body in bodies:
            batch.append(body)
            held += len(body)
            if held >= _BATCH:
                data, crc = frame.seal(batch, crc, None)
                write_all(self._disk, fd, data)
                size += len(data)
                batch, held = [], 0
        data, crc = frame.seal(batch, crc, None)
        mark = b""
        if marked:
            mark, crc = frame.seal_mark(size + len(data), crc)
        write_all(self._disk, fd, data + mark)
        return size + len(data) + len(mark), crc

    def append(self, bodies: Sequence[bytes]) -> int:
        """Hand records to the operating system in one write; return the journal's size."""
        if self._fd < 0:
            raise AssertionError("append before rewrite, or after close")
        self._fuse.check()
        mark = None
        if bodies and self._durable > self._marked:
            mark = self._marked = self._durable
        data, self._crc = frame.seal(bodies, self._crc, mark)
        try:
            # Crash here: any first part of these lines is on record; none is acknowledged.
            written = self._disk.write(self._fd, data)
            if written < len(data):
                write_all(self._disk, self._fd, data[written:])
        except OSError as error:
            raise self._fuse.blow("can't be written", self._path, error) from error
        self._size += len(data)
        return self._size

    def sync(self) -> int:
        """Make everything appended so far durable; return how many bytes that is."""
        with self._exchange:
            self._fuse.check()
            size = self._size
            if size != self._durable:
                if self._fd < 0:
                    raise AssertionError("sync before rewrite, or after close")
                self.syncs += 1
                try:
                    # Crash here: what was appended since the last sync may be lost, torn or out
                    # of order. Nobody has been told of it.
                    self._disk.sync(self._fd)
                except OSError as error:
                    raise self._fuse.blow("can't be synced", self._path, error) from error
            self._check_place()
            self._durable = size
            return size

    def check(self) -> None:
        """Make sure that the file is in its place, as long as what was written."""
        self._fuse.check()
        if self._exchange.acquire(blocking=False):  # else a sync is under way, which sees to it
            try:
                self._check_place()
            finally:
                self._exchange.release()

    def _check_place(self) -> None:
        """Refuse a file that takes records which no start reads, or takes them for damage."""
        if self._fd < 0:
            return
        written = self._size  # before the file's own: it only grows
        try:
            there = self._disk.is_at(self._fd, self._path)
            size = self._disk.size(self._fd)
        except OSError as error:
            raise self._fuse.blow("can't be looked at", self._path, error) from error
        if not there:
            gone = FileNotFoundError(errno.ENOENT, "it was moved, replaced or deleted")
            raise self._fuse.blow("is no longer there", self._path, gone, _GONE)
        if size < written:
            short = OSError(errno.EIO, f"{size} bytes are left of the {written} that were written")
            raise self._fuse.blow("was cut off by somebody else", self._path, short, _SHORT)

    def close(self) -> None:
        """Close every file; syncs nothing."""
        with self._exchange:
            self._close_file()
        if self._scanned is not None:
            self._scanned.close()

    def _close_file(self) -> None:
        if self._fd >= 0:
            self._disk.close(self._fd)
            self._fd = -1
