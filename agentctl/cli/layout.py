"""Help that fits a width: columns beside each other, or below each other where it is narrow."""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Final

COLUMN: Final = 38
_LEAST_TEXT: Final = 20
_DEEP: Final = " " * 6
_RULE: Final = re.compile(r" *-+(?: +-+)*")


def pair(left: str, right: str, width: int) -> Iterator[str]:
    """Write a term and its meaning."""
    wide = width >= COLUMN + _LEAST_TEXT and len(left) <= COLUMN - 4
    indent = COLUMN if wide else 6
    wrapped = textwrap.wrap(right, max(width - indent, 8)) or [""]
    if wide:
        yield f"  {left:<{COLUMN - 2}}{wrapped[0]}".rstrip()
    else:
        yield from _wrapped(left, width, "  ", _DEEP)
    yield from (" " * indent + line for line in wrapped[1 if wide else 0 :] if line)


def usage(words: str, width: int) -> Iterator[str]:
    """Write how a command is called."""
    text = f"Usage: agentctl {words} [OPTION]..."
    yield from _wrapped(text, width, "", "    ")


def narrowed(text: str, width: int) -> Iterator[str]:
    """Write a topic's text; where it doesn't fit, its tables' cells stand below each other.

    In a table a line that begins with two blanks is a new row; with more, it goes on with the last.
    """
    lines = text.splitlines()
    if max(map(len, lines)) <= width:
        yield from lines
        return
    for kind, group in itertools.groupby(
        lines, lambda line: line[:1] if line[:1] == " " else line == ""
    ):
        block = list(group)
        if kind is True:
            yield from block
        elif kind == " ":
            yield from _below(block, width)
        else:
            yield from _wrapped(" ".join(block), width, "", "")


def _below(lines: Sequence[str], width: int) -> Iterator[str]:
    rule = next((line for line in lines if _RULE.fullmatch(line)), None)
    if rule is None:
        for left, *right in _rows(lines, lambda line: re.split(" {2,}", line.strip(), maxsplit=1)):
            yield from _wrapped(left, width, "  ", _DEEP)
            yield from _wrapped(" ".join(right), width, _DEEP, _DEEP)
        return
    begins = [found.start() for found in re.finditer("-+", rule)]
    spans = list(zip(begins, [*begins[1:], None], strict=True))
    titles, *rows = _rows(
        [line for line in lines if line != rule],
        lambda line: [line[begin:end].strip() for begin, end in spans],
    )
    for first, *rest in rows:
        yield from _wrapped(first, width, "  ", _DEEP)
        for title, cell in zip(titles[1:], rest, strict=True):
            yield from _wrapped(f"{title}: {cell}", width, _DEEP, _DEEP + "  ") if cell else ()


def _rows(lines: Sequence[str], cells: Callable[[str], list[str]]) -> Sequence[list[str]]:
    rows: list[list[str]] = []
    for line in lines:
        found = cells(line)
        if line[2:3] != " " or not rows:
            rows.append(found)
        elif len(found) == len(rows[-1]):
            rows[-1] = [
                f"{above} {below}".strip() for above, below in zip(rows[-1], found, strict=True)
            ]
        else:
            rows[-1][-1] += f" {' '.join(found)}"
    return rows


def _wrapped(text: str, width: int, first: str, rest: str) -> Iterator[str]:
    yield from textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_on_hyphens=False,
        break_long_words=False,
    )
