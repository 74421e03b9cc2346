"""Reading a journal: which lines count, which tail never did, and what is damage (R13).

The invariant: data that a later line proves durable is never cut, and a tail that a crash can
leave behind is never called damage. Changes nothing on disk, and needs no lock.

A crash leaves each byte of what wasn't synced as it was written, as zero, or not at all. So a
whole JSON line behind a broken one is honest: its mark, if it bears one, really was the durable
size. If that lies beyond the place where the chain breaks, durable data was changed, whatever
happened to the lines between. A journal is read in chunks; memory doesn't grow with it.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from agentctl.errors import JournalDamaged
from agentctl.storage.files import frame
from agentctl.storage.files.disk import Disk, SystemDisk, disk_trouble
from agentctl.storage.port import Line

CHUNK: Final = 1 << 20
_UNFINISHED_SHOWN: Final = 4096


class _Piece(NamedTuple):
    """A run of the file between line ends; the last one may lack its own."""

    number: int
    offset: int
    text: bytes


class _File:
    """An open journal, closed when nobody reads it any more; outlives its own replacement."""

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._fd = disk.open(path, "read")
        self.close = weakref.finalize(self, disk.close, self._fd)
        self.size = disk.size(self._fd)

    def chunks(self, offset: int, end: int) -> Iterator[tuple[int, list[bytes]]]:
        """Yield the pieces between line ends with the offset of each list's first.

        A last piece without a line end is yielded alone.
        """
        parts: list[bytes] = []
        start = offset
        while offset < end and (data := self._disk.read_at(self._fd, CHUNK, offset)):
            data = data[: end - offset]
            offset += len(data)
            cut = data.rfind(b"\n")
            if cut < 0:
                parts.append(data)
                continue
            lines = b"".join((*parts, data[:cut])).split(b"\n")
            yield start, lines
            parts = [data[cut + 1 :]]
            start = offset - len(data) + cut + 1
        if rest := b"".join(parts):
            yield start, [rest]

    def pieces(self, start: _Piece) -> Iterator[_Piece]:
        """Yield every piece from `start` to the end of the file."""
        number = start.number
        for offset, lines in self.chunks(start.offset, self.size):
            for text in lines:
                yield _Piece(number, offset, text)
                number += 1
                offset += len(text) + 1  # noqa: PLW2901  (walks through the chunk)


class Lines:
    """The records of a journal, read again from its file each time they are walked through.

    They stay as they were when the journal is replaced or goes on, until the store is closed.
    """

    def __init__(self, file: _File | None, end: int) -> None:
        self._file = file
        self._end = end
        self._closed = False

    def __iter__(self) -> Iterator[Line]:
        # Nothing at all would look like an empty journal.
        assert not self._closed, "the lines of a store that is closed can't be read"
        if self._file is None:
            return
        number = 1
        for offset, texts in self._file.chunks(0, self._end):
            for text in texts:
                body = frame.unseal(text)
                if body is not None:
                    yield Line(number, offset, body)
                number += 1
                offset += len(text) + 1  # noqa: PLW2901  (walks through the chunk)

    def close(self) -> None:
        """Close the file; the lines can't be read any more."""
        if self._file is not None:
            self._file.close()
            self._file = None
            self._closed = True


@dataclass(frozen=True)
class Verdict:
    """What a journal's bytes are worth.

    Attributes:
        lines: the records before the first bad line.
        end: where the last good line ends; the line end itself may be missing.
        bad: the first bad line, or None.
        cut: what is wrong with a tail that doesn't count, or None.
        damage: what is wrong with data that was durable, or None.
        file: the open journal; None where there is none.
    """

    lines: Lines
    end: int
    bad: _Piece | None
    cut: str | None
    damage: str | None
    file: _File | None


def judge(disk: Disk, path: str) -> Verdict:
    """Read the whole journal and follow its chain; a missing file is an empty one."""
    try:
        file = _File(disk, path)
    except FileNotFoundError:
        return Verdict(Lines(None, 0), 0, None, None, None, None)
    number, end, crc = 1, 0, 0
    previous = b""
    bad: _Piece | None = None
    for offset, texts in file.chunks(0, file.size):
        good, crc = frame.verify(texts, crc)
        if good:
            previous = texts[good - 1]
            end = offset + sum(map(len, texts[:good])) + good
        number += good
        if good < len(texts):
            bad = _Piece(number, offset if not good else end, texts[good])
            break
    end = min(end, file.size)  # the last line may lack only its end
    lines = Lines(file, end)
    if bad is not None and bad.number == 1:
        _refuse_newer(path, bad.text)
    if bad is None:
        return Verdict(lines, end, None, None, None, file)
    cut, damage = _judge_tail(file, bad, crc, previous)
    return Verdict(lines, end, bad, cut, damage, file)


_HEADER: Final = re.compile(rb'\{"journal":([0-9]{1,9})[,}]')


def _refuse_newer(path: str, text: bytes) -> None:
    """A later format may frame its lines in another way, so its checksum says nothing here."""
    header = _HEADER.match(text)
    if header is not None:
        from agentctl.record_lines import (
            check_format,
        )  # only here, and rarely: readers start quickly

        check_format(path, int(header[1]))


def _judge_tail(
    file: _File, bad: _Piece, crc: int, previous: bytes
) -> tuple[str | None, str | None]:
    wrong = _what_is_wrong(bad.text, crc)
    if bad.number == 1:
        return None, f"it {wrong}, and a journal gets its name with a whole header that is durable"
    proof = _proof(file, bad, crc, previous)
    if proof is not None:
        return None, f"it {wrong}, and {proof}"
    size = file.size - bad.offset
    return f"line {bad.number} {wrong}; {size} bytes from there on were never acknowledged", None


def _proof(file: _File, bad: _Piece, crc: int, previous: bytes) -> str | None:
    """Say what proves that the bad line was durable; None if nothing does."""
    doubled = bool(previous) and bad.text == previous
    for piece in file.pieces(bad):
        if piece.number == bad.number + 1 and doubled and frame.verify([piece.text], crc)[0]:
            # No crash writes a line twice and goes on behind it.
            return f"is a copy of line {bad.number - 1}"
        text = piece.text
        if piece.number == bad.number:
            text = frame.joined_line(text, crc) or text
        if b'"synced":' not in text[-64:] or not frame.is_framed(text):
            continue
        mark = frame.mark_of(text)
        if mark is None or mark <= bad.offset:
            continue
        if text == bad.text and frame.mark_was_changed(text, crc):
            continue
        return f"line {piece.number} says that {mark} bytes were durable"
    return None


def _what_is_wrong(text: bytes, crc: int) -> str:
    if not text.strip(b"\0"):
        return "is nothing but zero bytes" if text else "is empty"
    if frame.joined_line(text, crc) is not None:
        return "has lost its line end"
    if not frame.is_framed(text):
        return "isn't a whole record"
    return "doesn't follow from the line before it (changed, lost, doubled or moved)"


def damaged_error(path: str, agent: str, verdict: Verdict) -> JournalDamaged:
    """Build the error for a verdict of damage."""
    assert verdict.bad is not None
    assert verdict.damage is not None
    number = verdict.bad.number
    hint = f"nothing was changed; see what is readable: agentctl inspect journal {agent}"
    return JournalDamaged(path, number, verdict.damage, hint=hint)


@dataclass(frozen=True)
class ReadJournal:
    """A journal as a reader without the lock sees it; read again each time it is walked through.

    Attributes:
        damaged: number of the first bad line, and what is wrong with it.
        unfinished: the first bytes of a tail that doesn't count (a write under way, or cut off).
    """

    damaged: tuple[int, str] | None
    unfinished: bytes | None
    _path: str
    _verdict: Verdict

    @property
    def exists(self) -> bool:
        """Whether there is a file."""
        return self._verdict.file is not None

    @property
    def size(self) -> int:
        """The file's length in bytes when it was read."""
        return 0 if self._verdict.file is None else self._verdict.file.size

    @property
    def trusted(self) -> Iterable[Line]:
        """The records before the first bad line."""
        return self._verdict.lines

    def trusted_texts(self) -> Iterator[bytes]:
        """The lines before the first bad one as they stand there, frame and all; quickest."""
        file = self._verdict.file
        if file is None:
            return
        try:
            for _, texts in file.chunks(0, self._verdict.end):
                yield from texts
        except OSError as error:
            raise disk_trouble("can't be read", self._path, error) from error

    @property
    def lines(self) -> Iterable[Line]:
        """Every readable record; behind damage, those that are whole by themselves."""
        return self._verdict.lines if self.damaged is None else list(self.walk())

    def walk(self, *, marks: bool = False) -> Iterator[Line]:
        """Yield what `lines` holds, one after the other.

        Args:
            marks: yield the lines that are a mark alone too, as `{"synced":512}`.

        Raises:
            DiskTrouble: the file can't be read any further.
        """
        bad = self._verdict.bad
        for line in self.texts():
            if bad is not None and line.number >= bad.number:
                if self.damaged is None:
                    return
                if not frame.is_framed(line.body):
                    continue
            body = frame.unseal(line.body)
            if body is not None:
                yield Line(line.number, line.offset, body)
            elif marks:
                yield Line(line.number, line.offset, line.body[: -frame.SUFFIX_SIZE] + b"}")

    def texts(self) -> Iterator[Line]:
        """Yield every line of the file as it stands there, frame and all.

        Raises:
            DiskTrouble: the file can't be read any further.
        """
        if self._verdict.file is None:
            return
        try:
            for piece in self._verdict.file.pieces(_Piece(1, 0, b"")):
                yield Line(*piece)
        except OSError as error:
            raise disk_trouble("can't be read", self._path, error) from error


def read_journal(path: str, disk: Disk | None = None) -> ReadJournal:
    """Read a journal for people: shows what is readable, changes nothing, takes no lock.

    Raises:
        DiskTrouble: the file can't be read.
    """
    if disk is None:
        disk = SystemDisk()
    try:
        return _read_journal(path, disk)
    except OSError as error:
        raise disk_trouble("can't be read", path, error) from error


def _read_journal(path: str, disk: Disk) -> ReadJournal:
    verdict = judge(disk, path)
    damaged = unfinished = None
    if verdict.bad is not None:
        if verdict.damage is None:
            unfinished = verdict.bad.text[:_UNFINISHED_SHOWN]
        else:
            damaged = (verdict.bad.number, verdict.damage)
    return ReadJournal(damaged, unfinished, path, verdict)
