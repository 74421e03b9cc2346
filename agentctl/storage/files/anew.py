"""A journal that is written anew while the old one goes on (R23).

What is still of use of the old one's durable part is written first, by whoever knows what that
is; then follows a copy of what was appended since. `Journal` gives it the name. The invariant:
until then nothing is different for anybody: the old journal is whole, and the new one's file
counts for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from agentctl.errors import JournalDamaged
from agentctl.storage.files import frame
from agentctl.storage.files.appending import Appending
from agentctl.storage.files.disk import Disk, Fuse
from agentctl.storage.port import Line

PART: Final = 1 << 16
"""So many bytes are read at a time, in one turn of the program's loop."""


class JournalAnew:
    """The new journal, beside the old one; implements `Anew`."""

    def __init__(
        self, disk: Disk, path: str, agent: str, fuse: Fuse, *, old: Appending, end: int
    ) -> None:
        self._disk = disk
        self._path = path
        self._agent = agent
        self._fuse = fuse
        self._old = old
        self._end = end
        self._offset = 0
        self._number = 0
        self._crc = 0
        self._new: Appending | None = None
        self._taken = False
        self.exchange: Callable[[JournalAnew], None]
        try:
            self._fd = disk.open(path, "read")
        except OSError as error:
            raise fuse.blow("can't be read", path, error) from error

    @property
    def aside(self) -> str:
        """Where it is written."""
        return f"{self._path}.new"

    @property
    def end(self) -> int:
        """How many bytes of the old journal it stands for."""
        return self._end

    @property
    def crc(self) -> str:
        """The checksum of the last line that it stands for, once `lines` was walked through."""
        return f"{self._crc:08x}"

    def lines(self) -> Iterator[Line]:
        """The records of the old journal's durable part, checked; to be walked through once.

        Raises:
            JournalDamaged: what was durable is no longer what was written.
        """
        while self._offset < self._end:
            offset, number = self._offset, self._number
            for text in self._read(self._end):
                number += 1
                body = frame.unseal(text)
                if body is not None:
                    yield Line(number, offset, body)
                offset += len(text) + 1

    def write(self, bodies: Sequence[bytes]) -> None:
        """Write records that the old journal's durable part is replaced by."""
        self._fuse.check()
        try:
            if self._new is None:
                self._new = Appending(self._disk, self._disk.open(self.aside, "new"))
            # Crash here: the old journal stands, whole; the new one is overwritten next time.
            self._new.append(bodies)
        except OSError as error:
            raise self._fuse.blow("can't be written", self.aside, error) from error

    def copy(self) -> int:
        """Copy a next part of what was appended since; return how many bytes are left."""
        bodies = [frame.unseal(text) for text in self._read(self._old.size)]
        self.write([body for body in bodies if body is not None])
        return self._old.size - self._offset

    def sync(self) -> None:
        """Make what was written durable, so that little is left for the exchange."""
        self._fuse.check()
        assert self._new is not None, "synced before it was written"
        try:
            self._disk.sync(self._new.fd)
        except OSError as error:
            raise self._fuse.blow("can't be synced", self.aside, error) from error

    def take_over(self) -> None:
        """Copy the rest; from now on records go to both, and the next sync exchanges them."""
        self.exchange(self)
        self._taken = True
        self.close()

    def finish(self) -> Appending:
        """Copy the rest, and end with a line that marks all of it; whole once it is synced."""
        while self._offset < self._old.size:
            self.copy()
        new = self._new
        assert new is not None, "taken over before it was written"
        assert self._crc == self._old.crc, "the copy doesn't end where the journal does"
        try:
            new.append((), ending=True)
        except OSError as error:
            raise self._fuse.blow("can't be written", self.aside, error) from error
        new.gone = self._old.size + self._old.gone - new.size
        return new

    def close(self) -> None:
        """Close what is open of it, unless it was taken over; a second time does nothing."""
        if self._fd >= 0:
            self._disk.close(self._fd)
            self._fd = -1
        if self._new is not None and not self._taken:
            self._new.close()

    def remove(self) -> None:
        """Remove what was written of it, unless it was taken over; it is closed by then."""
        if self._new is None or self._taken:
            return
        self._fuse.check()
        try:
            # Crash here: it is still there, and the next start writes over it.
            self._disk.unlink(self.aside)
        except OSError as error:
            raise self._fuse.blow("can't be removed", self.aside, error) from error
        self._new = None

    def _read(self, end: int) -> Sequence[bytes]:
        """Read the next whole lines, checked; `end` is where a line ends."""
        data = b""
        while (left := end - self._offset - len(data)) > 0:
            try:
                part = self._disk.read_at(self._fd, min(PART, left), self._offset + len(data))
            except OSError as error:
                raise self._fuse.blow("can't be read", self._path, error) from error
            if not part:
                raise self._damaged("the end of what was written is no longer there")
            data += part
            if b"\n" in part:
                break
        if not data:
            return ()
        data = data[: data.rfind(b"\n") + 1]
        texts = data[:-1].split(b"\n")
        good, self._crc = frame.verify(texts, self._crc)
        self._number += good
        if good < len(texts):
            raise self._damaged("it isn't what was written here, and what was durable")
        self._offset += len(data)
        return texts

    def _damaged(self, reason: str) -> JournalDamaged:
        hint = f"nothing was changed; see what is readable: agentctl inspect journal {self._agent}"
        return JournalDamaged(self._path, self._number + 1, reason, hint=hint)
