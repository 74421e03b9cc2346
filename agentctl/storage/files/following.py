"""Reading on in a journal as it grows, also over its replacement by a new one.

Invariant: each record is given once. An unfinished last line waits for its end; what a new journal
carried over from the old one, or has of it word for word, isn't given again. Changes nothing, and
needs no lock.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from agentctl.storage.files import frame
from agentctl.storage.files.disk import Disk, disk_trouble
from agentctl.storage.files.reading import CHUNK
from agentctl.storage.port import Line

_SINCE: Final = re.compile(rb'\{"journal":[^{]*?,"since":([0-9]{1,18}),"since_crc":"([0-9a-f]{8})"')
_KEPT: Final = re.compile(rb'\{"journal":[^{]*?,"kept":([0-9]{1,18})[,}]')


class Follower:
    """Follows the journal of one name, which needn't be there yet."""

    def __init__(self, path: str, disk: Disk) -> None:
        self._path = path
        self._disk = disk
        self._fd = self._old_fd = -1
        self._offset = self._end = 0
        self._number = 0
        self._rest = b""
        self._given = 0
        self._replaced = False

    def read(self) -> Sequence[Line]:
        """Read the records that are new since the last time; lines of a mark alone, too.

        Raises:
            DiskTrouble: the file can't be read.
        """
        try:
            return list(self._read())
        except OSError as error:
            raise disk_trouble("can't be read", self._path, error) from error

    def _read(self) -> Iterator[Line]:
        while self._fd >= 0 or self._open():
            yield from self._grown()
            if self._disk.is_at(self._fd, self._path):
                return
            # It was replaced, so nothing more comes; what came since is read to its end.
            yield from self._grown()
            self._close_old()
            self._old_fd, self._fd = self._fd, -1
            self._end = self._offset - len(self._rest)
            self._replaced = True

    def _open(self) -> bool:
        try:
            self._fd = self._disk.open(self._path, "read")
        except FileNotFoundError:
            return False
        self._offset = self._number = self._given = 0
        self._rest = b""
        return True

    def _grown(self) -> Iterator[Line]:
        # A start cuts off what never counted, before it replaces the file.
        self._offset = min(self._offset, self._disk.size(self._fd))
        while data := self._disk.read_at(self._fd, CHUNK, self._offset):
            self._offset += len(data)
            *texts, self._rest = (self._rest + data).split(b"\n")
            for text in texts:
                self._number += 1
                line = self._line(text)
                if line is not None:
                    yield line

    def _line(self, text: bytes) -> Line | None:
        if not frame.is_framed(text):
            return None
        body = frame.unseal(text)
        if body is None:
            return Line(self._number, 0, text[: -frame.SUFFIX_SIZE] + b"}")
        if self._number == 1 and self._replaced:
            kept = _KEPT.match(body)
            self._given = (int(kept[1]) if kept else 0) + self._given_since(body)
            self._close_old()
        elif self._given:
            self._given -= 1
            return None
        return Line(self._number, 0, body)

    def _given_since(self, header: bytes) -> int:
        """How many records of the old journal stand behind those that were carried over."""
        since = _SINCE.match(header)
        if since is None:
            return 0
        offset, before = int(since[1]), frame.SUFFIX % int(since[2], 16) + b"\n"
        start = offset - len(before)
        if start < 0 or self._disk.read_at(self._old_fd, len(before), start) != before:
            return 0  # it follows another one, which came and went unseen
        number, rest = 0, b""
        while offset < self._end and (data := self._disk.read_at(self._old_fd, CHUNK, offset)):
            data = data[: self._end - offset]
            offset += len(data)
            *texts, rest = (rest + data).split(b"\n")
            number += sum(1 for text in texts if frame.is_framed(text) and frame.unseal(text))
        return number

    def close(self) -> None:
        """Close the file; a second time does nothing."""
        if self._fd >= 0:
            self._disk.close(self._fd)
            self._fd = -1
        self._close_old()

    def _close_old(self) -> None:
        if self._old_fd >= 0:
            self._disk.close(self._old_fd)
            self._old_fd = -1
