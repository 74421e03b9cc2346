"""One file that records are appended to: its chain of checksums, its marks, how far it is durable.

The invariant: each line follows the one before it, and a mark never says more than was durable
when it was written. Syncs nothing itself, and lets every `OSError` through.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentctl.storage.files import frame
from agentctl.storage.files.disk import Disk, write_all

if TYPE_CHECKING:
    from collections.abc import Sequence


class Appending:
    """A file, open for appending; new and empty at first.

    Attributes:
        size: how long it is, in bytes.
        durable: how many of them are durable; `marked`: how many a line says are.
        gone: how much longer the journals before it had grown than this one: so that the place
            of a record, once told, is never passed again by a shorter file.
    """

    __slots__ = ("_disk", "crc", "durable", "fd", "gone", "marked", "size")

    def __init__(self, disk: Disk, fd: int) -> None:
        self._disk = disk
        self.fd = fd
        self.size = self.durable = self.marked = self.gone = 0
        self.crc = 0

    def append(self, bodies: Sequence[bytes], *, ending: bool = False) -> int:
        """Write records in one write.

        Args:
            ending: a line behind them says that all before it is durable; who writes it sees to
                it that nobody reads it before that is true.

        Returns:
            The file's place: its size, and what is gone.
        """
        mark = None
        if bodies and self.durable > self.marked:
            mark = self.marked = self.durable
        data, self.crc = frame.seal(bodies, self.crc, mark)
        if ending:
            line, self.crc = frame.seal_mark(self.size + len(data), self.crc)
            data += line
            self.marked = self.size + len(data)
        # Crash here: any first part of these lines is on record; none is acknowledged.
        written = self._disk.write(self.fd, data)
        if written < len(data):
            write_all(self._disk, self.fd, data[written:])
        self.size += len(data)
        return self.size + self.gone

    def close(self) -> None:
        """Close the file; a second time does nothing."""
        if self.fd >= 0:
            self._disk.close(self.fd)
            self.fd = -1
