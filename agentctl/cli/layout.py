"""Two columns of text that fit a width, or lines below each other where it is narrow."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Final

COLUMN: Final = 38
_LEAST_TEXT: Final = 20


def pair(left: str, right: str, width: int) -> Iterator[str]:
    """Write a term and its meaning."""
    wide = width >= COLUMN + _LEAST_TEXT and len(left) <= COLUMN - 4
    indent = COLUMN if wide else 6
    wrapped = textwrap.wrap(right, max(width - indent, 8)) or [""]
    yield f"  {left:<{COLUMN - 2}}{wrapped[0]}".rstrip() if wide else f"  {left}".rstrip()
    yield from (" " * indent + line for line in wrapped[1 if wide else 0 :] if line)
