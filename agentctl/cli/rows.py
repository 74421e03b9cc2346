"""Rows for both kinds of reader: a table on a terminal, tab-separated text elsewhere.

Invariant: a table never wraps within a word. What doesn't fit beside each other stands below each
other, a block for each row. Data is never taken for markup.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from agentctl.cli.output import Output, columns, plain

_GAP: Final = 2
_LEAST_LAST: Final = 16
"""A last column that has so much room may be wrapped; with less, rows become blocks."""


def fitting(titles: Sequence[str], rows: Sequence[Sequence[str]], output: Output) -> Sequence[str]:
    """The lines of a screen: the titles, and as many of the last rows as it has room for."""
    room = output.height - 1
    shown = rows[max(0, len(rows) - room) :]
    while len(lines := _lines(titles, shown, output)) > room and len(shown) > 1:
        shown = shown[1:]
    return lines[:room]


def write_rows(titles: Sequence[str], rows: Sequence[Sequence[str]], output: Output) -> None:
    """Write rows; in a pipe without their titles."""
    if not output.is_terminal:
        for row in rows:
            output.line(columns(row))
        return
    for line in _lines(titles, rows, output):
        output.line(line)


def write_pairs(pairs: Sequence[tuple[str, str]], output: Output) -> None:
    """Write what belongs to one thing, a line each: its name, and what it is."""
    if not output.is_terminal:
        for pair in pairs:
            output.line(columns(pair))
        return
    indent = max((len(name) for name, _ in pairs), default=0) + _GAP
    for name, text in pairs:
        for line in _pair(name, plain(text), indent, output.width):
            output.line(line)


def _lines(titles: Sequence[str], rows: Sequence[Sequence[str]], output: Output) -> Sequence[str]:
    shown = [[plain(cell) for cell in row] for row in rows]
    if shown and _fits(titles, shown, output.width):
        from agentctl.cli.tables import lines_of

        return lines_of(titles, shown, output)
    return [line for row in shown for line in _block(titles, row, output.width)]


def _fits(titles: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> bool:
    """Whether the rows fit beside each other; the last column may be wrapped."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, cells)) for cells in zip(titles, *rows, strict=True)]
    last = width - sum(widths[:-1]) - _GAP * (len(widths) - 1)
    return last >= min(widths[-1], max(_LEAST_LAST, len(titles[-1])))


def _block(titles: Sequence[str], row: Sequence[str], width: int) -> Iterator[str]:
    yield from _wrapped(row[0], width)
    indent = max(map(len, titles[1:]), default=0) + 2 * _GAP
    for title, cell in zip(titles[1:], row[1:], strict=True):
        if cell and cell != "-":
            yield from _pair(f"  {title}", cell, indent, width)


def _pair(name: str, text: str, indent: int, width: int) -> Iterator[str]:
    if width - indent < _LEAST_LAST:  # no room beside each other
        yield name[:width]
        yield from (f"    {line}"[:width] for line in _wrapped(text, max(width - 4, 1)))
        return
    for line in _wrapped(text, width - indent):
        yield f"{name:<{indent}}{line}".rstrip()
        name = ""


def _wrapped(text: str, width: int) -> Sequence[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False) or [""]
