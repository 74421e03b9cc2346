"""Lines that fit a terminal: broken at blanks, and never within a command that fits one line.

Invariant: only blanks are left out, where a line is broken. Never decides where it is written to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_COMMAND: Final = re.compile(r"agentctl [a-z][^;]*;?|\S+")
_HANGING: Final = 2


def fold(text: str, width: int, hanging: int = _HANGING) -> str:
    """Fold every line to a width; what goes on is indented by `hanging` more."""
    return "\n".join(part for line in text.split("\n") for part in _parts(line, width, hanging))


def _parts(line: str, width: int, hanging: int) -> Iterator[str]:
    if len(line) <= width:
        yield line
        return
    indent = " " * (len(line) - len(line.lstrip(" ")))
    rest = indent + " " * hanging
    so_far, begin = indent, indent
    for word in _words(line, width - len(rest)):
        if len(so_far) + (so_far != begin) + len(word) > width and so_far != begin:
            yield so_far
            so_far = begin = rest
        so_far += word if so_far == begin else f" {word}"
    yield so_far


def _words(line: str, room: int) -> Iterator[str]:
    """What stays together: words, and commands that fit a line."""
    for found in _COMMAND.finditer(line):
        whole = found[0].rstrip()
        if len(whole) <= room:
            yield whole
        else:
            yield from whole.split()
