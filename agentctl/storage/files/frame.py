"""The frame around a record: what makes a line of the journal safe on disk.

A body is compact JSON, `{…}`. On disk its last brace moves behind up to two members:

    {"ok":"1-1","value":3,"synced":512,"crc":"0a1b2c3d"}

`crc` is the CRC-32 of the line before `,"crc"`, started with the previous line's (the first
line's with 0): a line that is changed, lost, doubled or moved breaks the chain. `synced` says up
to which byte the journal was durable when the line was written. It stands last before `crc`, where
no nested value can stand, since a nested one is followed by a brace. `synced` and `crc` are
reserved: a body never has them itself. A line of `synced` alone is no record.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SUFFIX: Final = b',"crc":"%08x"}'
SUFFIX_SIZE: Final = 18
MARK: Final = b',"synced":%d'
ALONE: Final = b'{"synced":'
_MARK_AT_END: Final = re.compile(rb'[,{]"synced":(\d{1,18})\Z')
_SUFFIX: Final = re.compile(rb',"crc":"([0-9a-f]{8})"\}')


def seal(bodies: Iterable[bytes], crc: int, mark: int | None) -> tuple[bytes, int]:
    """Frame `bodies` as lines, the first one with the mark; return them and the last checksum."""
    parts = []
    for body in bodies:
        head = body[:-1]
        if mark is not None:
            head += MARK % mark
            mark = None
        crc = crc32(head, crc)
        parts.append(head)
        parts.append(b',"crc":"%08x"}\n' % crc)
    return b"".join(parts), crc


def seal_mark(offset: int, crc: int) -> tuple[bytes, int]:
    """Frame the line that says that the `offset` bytes before it are durable."""
    head = ALONE + b"%d" % offset
    crc = crc32(head, crc)
    return head + SUFFIX % crc + b"\n", crc


def verify(lines: Sequence[bytes], crc: int) -> tuple[int, int]:
    """Follow the chain through `lines`; return how many hold, and the checksum of the last."""
    for index, line in enumerate(lines):
        following = crc32(line[:-18], crc)
        if line[-18:] != b',"crc":"%08x"}' % following or line[0] != 123:
            return index, crc
        crc = following
    return len(lines), crc


def unseal(line: bytes) -> bytes | None:
    """Take the frame off a whole line; None for a line of a mark alone."""
    # Only a head that ends in a digit can end in a mark.
    if 48 <= line[-19] <= 57:
        at = line.rfind(b'"synced":', -46, -18)
        if at > 0 and line[at + 9 : -18].isdigit():
            return None if at == 1 else line[: at - 1] + b"}"
    return line[:-18] + b"}"


def is_framed(text: bytes) -> bool:
    """Whether `text` is one whole JSON object that ends in a checksum, right or wrong."""
    if text[:1] != b"{" or not _SUFFIX.fullmatch(text[-SUFFIX_SIZE:]):
        return False
    import msgspec

    try:
        return isinstance(msgspec.json.decode(text), dict)
    except (msgspec.DecodeError, RecursionError):
        return False


def mark_of(text: bytes) -> int | None:
    """The mark of a framed line, if it bears one."""
    found = _MARK_AT_END.search(text[:-SUFFIX_SIZE], max(0, len(text) - 64))
    return int(found[1]) if found else None


def mark_was_changed(text: bytes, crc: int) -> bool:
    """Whether the line follows `crc` once a digit of its mark is put right.

    Tells a changed mark, which proves nothing, from one that stands where it doesn't belong.
    """
    end = len(text) - SUFFIX_SIZE
    start = text.rfind(b":", 0, end) + 1
    for at in range(start, end):
        for digit in b"0123456789":
            head = text[:at] + bytes((digit,)) + text[at + 1 : end]
            if SUFFIX % crc32(head, crc) == text[end:]:
                return True
    return False


def joined_line(text: bytes, crc: int) -> bytes | None:
    """The line that is glued to the end of `text` because the newline between was changed."""
    for found in _SUFFIX.finditer(text):
        head = text[: found.start()]
        follows = crc32(head, crc)
        if SUFFIX % follows == found[0]:
            rest = text[found.end() + 1 :]
            return rest if rest and verify([rest], follows)[0] == 1 else None
    return None
