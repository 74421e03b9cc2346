"""The journal's writer: replace as a whole, append, sync; exchange the file while that goes on.

The invariant: what `sync` has reported durable is read back after any crash, and each line's mark
tells the truth about what was durable when it was written. It never retries a failed write or
sync, and doesn't know what a record means.

While the file is exchanged (R23), every record goes to the old one and to the new one, so that a
kill loses nothing, whichever has the name; a sync makes the new one durable and gives it the
name, durably, before it reports anything.
"""

from __future__ import annotations

import errno
import threading
from typing import TYPE_CHECKING, Final

from agentctl.storage.files.anew import JournalAnew
from agentctl.storage.files.appending import Appending
from agentctl.storage.files.disk import Disk, Fuse
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
        self._file = Appending(disk, -1)
        self._next: Appending | None = None
        self._scanned: Lines | None = None
        # Held while the file is synced or exchanged, so that neither meets a closed descriptor.
        self._exchange = threading.Lock()
        # Held while records go to two files, and while one takes the other's place; never longer.
        self._both = threading.Lock()
        self.syncs = 0

    @property
    def size(self) -> int:
        """How long the file is, in bytes."""
        return self._file.size

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
        new = Appending(disk, disk.open(aside, "new"))
        try:
            _write_new(new, bodies, marked=marked)
            disk.sync(new.fd)
            # Crash here: the old journal stands, whole; the new one is overwritten next time.
            disk.replace(aside, self._path)
            # Crash here: after a power cut either may stand. Both hold all that was acknowledged,
            # since nothing is appended to the new one before its name is durable.
            disk.sync_folder(self._folder)
        except BaseException:
            new.close()
            raise
        self._close_files()
        new.durable = new.size
        self._file = new

    def append(self, bodies: Sequence[bytes]) -> int:
        """Hand records to the operating system in one write; return the journal's place."""
        if self._file.fd < 0:
            raise AssertionError("append before rewrite, or after close")
        self._fuse.check()
        try:
            if self._next is None:
                return self._file.append(bodies)
            return self._append_to_both(bodies)
        except OSError as error:
            raise self._fuse.blow("can't be written", self._path, error) from error

    def _append_to_both(self, bodies: Sequence[bytes]) -> int:
        with self._both:
            if self._next is None:  # a thread has exchanged them meanwhile
                return self._file.append(bodies)
            place = self._next.append(bodies)
            # Crash here: on record in the file that has the name, or in the other; nobody has
            # been told, and nothing went on from it.
            self._file.append(bodies)
            return place

    def anew(self, place: int) -> JournalAnew:
        """Begin to write the journal anew; what stands before `place` may be left out."""
        self._fuse.check()
        assert self._next is None, "one journal takes over at a time"
        old = self._file
        end = place - old.gone
        assert 0 < end <= old.size, "only what is there can be written anew"
        made = JournalAnew(self._disk, self._path, self._agent, self._fuse, old=old, end=end)
        made.exchange = self._take_over
        return made

    def _take_over(self, anew: JournalAnew) -> None:
        with self._exchange:
            self._next = anew.finish()

    def sync(self) -> int:
        """Make everything appended so far durable; return up to which place that is."""
        with self._exchange:
            self._fuse.check()
            if self._next is not None:
                return self._give_name(self._next)
            file = self._file
            size = file.size
            if size != file.durable:
                if file.fd < 0:
                    raise AssertionError("sync before rewrite, or after close")
                self.syncs += 1
                try:
                    # Crash here: what was appended since the last sync may be lost, torn or out
                    # of order. Nobody has been told of it.
                    self._disk.sync(file.fd)
                except OSError as error:
                    raise self._fuse.blow("can't be synced", self._path, error) from error
            self._check_place()
            file.durable = size
            return size + file.gone

    def _give_name(self, new: Appending) -> int:
        """Make the new file durable, and give it the name; what is appended goes to both."""
        self._check_place()
        disk, size = self._disk, new.size
        self.syncs += 1
        try:
            disk.sync(new.fd)
            # Crash here: the old journal stands, and has every record, too; of those behind its
            # last sync nobody has been told.
            disk.replace(f"{self._path}.new", self._path)
            # Crash here: after a kill the new one stands, after a power cut either. Both hold all
            # that was acknowledged.
            disk.sync_folder(self._folder)
        except OSError as error:
            raise self._fuse.blow("can't be rewritten", self._path, error) from error
        new.durable = size
        with self._both:
            old, self._file, self._next = self._file, new, None
            old.close()
        return size + new.gone

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
        file = self._file
        if file.fd < 0:
            return
        written = file.size  # before the file's own: it only grows
        try:
            there = self._disk.is_at(file.fd, self._path)
            size = self._disk.size(file.fd)
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
            self._close_files()
        if self._scanned is not None:
            self._scanned.close()

    def _close_files(self) -> None:
        self._file.close()
        if self._next is not None:
            self._next.close()
            self._next = None


def _write_new(new: Appending, bodies: Iterable[bytes], *, marked: bool) -> None:
    held = 0
    batch: list[bytes] = []
    for body in bodies:
        batch.append(body)
        held += len(body)
        if held >= _BATCH:
            new.append(batch)
            batch, held = [], 0
    new.append(batch, ending=marked)
