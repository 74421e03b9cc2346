"""A TOML file as read: its text, its values, and the line on which each key stands.

Invariant: whatever bytes the file holds, reading it gives a `TomlFile` or one `ProjectError` that
names file and line, in bounded time. Never knows what the keys mean (`config.py` does).
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Protocol

from agentctl.errors import AgentctlError, ProjectError
from agentctl.nearest import nearest_hint
from agentctl.project.toml_lines import KeyPath, find_lines

MAX_BYTES: Final = 128 * 1024
# tomllib takes time in the square of a dotted key's length; a key can't span lines.
MAX_DOTS_IN_A_LINE: Final = 100
_LATER: Final = "this version of agentctl doesn't have it yet"

_AT_LINE: Final = re.compile(r" ?\(at (?:line (\d+), column \d+|end of document)\)$")
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class TomlFile:
    """One file, read and parsed."""

    path: Path
    text: str
    values: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> TomlFile:
        """Read and parse `path`.

        Raises:
            ProjectError: it can't be read, or isn't TOML.
        """
        try:
            with path.open("rb") as stream:
                data = stream.read(MAX_BYTES + 1)
        except OSError as error:
            reason = error.strerror or str(error)
            raise ProjectError(
                f"{path} can't be read: {reason}", hint="check the file's permissions"
            ) from None
        text = _decode(path, data)
        return cls(path, text, _parse(path, text))

    @cached_property
    def _lines(self) -> Mapping[KeyPath, int]:
        return find_lines(self.text)

    def line_of(self, key: KeyPath) -> int:
        """Return the line of `key`, or else of the nearest table or key around it."""
        for length in range(len(key), 0, -1):
            if (line := self._lines.get(key[:length])) is not None:
                return line
        return 1

    def source_of(self, key: KeyPath) -> str:
        """Say where `key` stands, as `kavach.toml:12`."""
        return f"{self.path.name}:{self.line_of(key)}"

    def error(self, key: KeyPath, problem: str, *, hint: str | None = None) -> ProjectError:
        """Make the error for what is wrong with `key`: file, line, key, problem."""
        return ProjectError(
            f"{self.path}:{self.line_of(key)}: {format_key(key)}: {problem}", hint=hint
        )


class Errors(Protocol):
    """Makes errors that name where a key stands."""

    def error(self, key: KeyPath, problem: str, *, hint: str | None = None) -> AgentctlError:
        """Make the error for what is wrong with `key`."""
        ...


@dataclass(frozen=True)
class Table:
    """One table; reads its keys with checks."""

    file: Errors
    path: KeyPath
    values: Mapping[str, Any]

    def error(self, key: str, problem: str, *, hint: str | None = None) -> AgentctlError:
        """Make the error for what is wrong with a key of this table."""
        return self.file.error((*self.path, key), problem, hint=hint)

    def check_keys(self, known: Collection[str]) -> None:
        """Refuse keys that aren't known here.

        Raises:
            AgentctlError: naming the first such key, and the nearest known one.
        """
        for key in self.values:
            if key not in known:
                raise self.error(key, "there is no such key", hint=nearest_hint(key, known, "keys"))

    def text(self, key: str) -> str | None:
        """Return a text that isn't empty, or None without the key."""
        if key not in self.values:
            return None
        value = self.values[key]
        if not isinstance(value, str):
            raise self.error(key, f"expected a text, not {describe(value)}")
        if not value or "\0" in value:
            raise self.error(key, "expected a text that isn't empty and has no NUL in it")
        return value

    def table(self, key: str) -> Table:
        """Return the table under `key`, an empty one without the key."""
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            raise self.error(key, f"expected a table, not {describe(value)}")
        return Table(self.file, (*self.path, key), value)

    def later(self, key: str) -> AgentctlError:
        """Make the error for a value that a later version will understand."""
        return self.error(key, _LATER)


def _decode(path: Path, data: bytes) -> str:
    if len(data) > MAX_BYTES:
        raise ProjectError(
            f"{path}:1: the file is longer than {MAX_BYTES // 1024} KiB",
            hint="this can't be a kavach.toml that a person wrote; look at it",
        )
    try:
        text = data.decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ProjectError(
            f"{path}:{line}: the file isn't UTF-8 text", hint="save it as UTF-8"
        ) from None
    for number, line_text in enumerate(text.split("\n"), start=1):
        if line_text.count(".") > MAX_DOTS_IN_A_LINE:
            raise ProjectError(
                f"{path}:{number}: the line has more than {MAX_DOTS_IN_A_LINE} dots",
                hint="this can't be a key that a person wrote; look at it",
            )
    return text


def _parse(path: Path, text: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ProjectError(
            f"{path}:1: the file is nested too deep", hint="look for a long row of [ or {"
        ) from None
    except ValueError as error:  # TOMLDecodeError, and numbers that Python refuses
        what = str(error)
        line = 1
        if at := _AT_LINE.search(what):
            line = int(at[1]) if at[1] else text.count("\n") + 1
            what = what[: at.start()]
        raise ProjectError(
            f"{path}:{line}: this isn't TOML: {what[:200]}",
            hint="kavach.toml.example shows how every key is written",
        ) from None


def format_key(key: KeyPath) -> str:
    """Write a key as it would stand in the file: `agents.Bot.deny."payments.refund"`."""
    parts = (part if _BARE.fullmatch(part) else json.dumps(part) for part in key)
    return ".".join(part if len(part) <= 80 else part[:80] + "…" for part in parts)


def describe(value: object) -> str:
    """Say what a TOML value is, in a few words."""
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return f"the number {value!r}"[:80] if not abs(value) >= 1e30 else "a very large number"
        case str():
            return f"the text {json.dumps(value[:60], ensure_ascii=not value.isprintable())}"
        case dict():
            return "a table"
        case list():
            return "an array"
        case _:
            return "a date or time"
