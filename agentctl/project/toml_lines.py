"""Finds the line of each key in the text of a TOML document; `tomllib` doesn't tell.

The document is known to be valid: this never refuses anything, and at worst finds less.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Final

KeyPath = tuple[str, ...]

_KEY_PART: Final = re.compile(r"""[A-Za-z0-9_-]+|"(?:\\.|[^"\\\n])*"|'[^'\n]*'""")
_SPACE: Final = re.compile(r"(?:[ \t\n]+|#[^\n]*)+")
_VALUE_TOKEN: Final = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''[\s\S]*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*"
    r"|[\[\]{}\n]"
    r"""|[^"'#\[\]{}\n]+""",
    re.DOTALL,
)


def find_lines(text: str) -> Mapping[KeyPath, int]:
    """Find the line of every table and key of a valid document, with LF as line end.

    Keys inside an inline table or an array aren't found: the line of the key in front of it is.
    """
    lines: dict[KeyPath, int] = {}
    table: KeyPath = ()
    position, line, counted = 0, 1, 0
    while True:
        position = _skip(_SPACE, text, position)
        line += text.count("\n", counted, position)
        counted = position
        if position >= len(text):
            return lines
        is_header = text[position] == "["
        if is_header:
            position += 2 if text.startswith("[[", position) else 1
        key, position = read_key(text, position)
        if not key:  # only in a document that isn't valid
            return lines
        base = () if is_header else table
        for length in range(1, len(key) + 1):
            lines.setdefault(base + key[:length], line)
        if is_header:
            table = key
            # A header ends its table's search: `[a.b]` is a better line for b than `a` is.
            position = text.find("\n", position) if "\n" in text[position:] else len(text)
        else:
            position = _skip_value(text, position)


def _skip(pattern: re.Pattern[str], text: str, position: int) -> int:
    found = pattern.match(text, position)
    return found.end() if found else position


def read_key(text: str, position: int) -> tuple[KeyPath, int]:
    """Read the dotted key at `position`, and tell where it ends; () if there is none."""
    parts: list[str] = []
    while True:
        position = _skip(_SPACE, text, position)
        part = _KEY_PART.match(text, position)
        if part is None:
            return tuple(parts), position
        parts.append(_unquote(part[0]))
        position = _skip(_SPACE, text, part.end())
        if not text.startswith(".", position):
            return tuple(parts), position
        position += 1


def _unquote(part: str) -> str:
    if part[0] == "'":
        return part[1:-1]
    if part[0] == '"':
        value: str = tomllib.loads(f"key = {part}")["key"]
        return value
    return part


def _skip_value(text: str, position: int) -> int:
    depth = 0
    while token := _VALUE_TOKEN.match(text, position):
        if token[0] == "\n" and depth == 0:
            break
        if token[0] in "[{":
            depth += 1
        elif token[0] in "]}":
            depth -= 1
        position = token.end()
    return position if token else len(text)
