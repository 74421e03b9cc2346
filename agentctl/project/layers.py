"""Layers of settings: the project's file, the local one beside it, what a person sets for once.

A later layer goes over the earlier ones key by key: tables merge, any other value replaces.
Invariant: an error about a key, and its source, name the layer that its value came from. Never
knows what the keys mean, but that a capability may be written as a text or as a table, and that a
schedule is due in one way: another way above takes the place of the one below.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Protocol

from agentctl.errors import AgentctlError, UsageError
from agentctl.project.toml_file import MAX_DOTS_IN_A_LINE, TomlFile, format_key
from agentctl.project.toml_lines import KeyPath, read_key

_EXAMPLE: Final = "write it like agents.Bot.settings.grace=10s"
SCHEDULE_WAYS: Final = ("cron", "every", "at")
_CAPABILITY_DEPTH: Final = 4  # agents.NAME.capabilities.FIELD


class Layer(Protocol):
    """Where some of the values stand."""

    @property
    def values(self) -> Mapping[str, Any]:
        """Its own values."""
        ...

    def source_of(self, key: KeyPath) -> str:
        """Say where `key` stands."""
        ...

    def error(self, key: KeyPath, problem: str, *, hint: str | None = None) -> AgentctlError:
        """Make the error for what is wrong with `key`."""
        ...


@dataclass(frozen=True)
class GivenLayer:
    """Values that were given for once: by `--set`, or by its environment variable."""

    by: str
    values: Mapping[str, Any]

    @classmethod
    def parse(cls, by: str, settings: Sequence[str]) -> GivenLayer:
        """Read `KEY=VALUE`s; a later one goes over an earlier one.

        Raises:
            UsageError: one has no `=`, or its key isn't one of TOML.
        """
        values: Mapping[str, Any] = {}
        for each in settings:
            values = _merge(values, _parse_setting(by, each))
        return cls(by, values)

    def source_of(self, key: KeyPath) -> str:
        """Say where `key` stands: how it was given."""
        return self.by

    def error(self, key: KeyPath, problem: str, *, hint: str | None = None) -> UsageError:
        """Make the error for what is wrong with `key`."""
        return UsageError(f"{self.by} {format_key(key)}: {problem}", hint=hint or _EXAMPLE)


@dataclass(frozen=True)
class Layers:
    """A project's settings as a whole; `above` goes over `file`, each over those before it."""

    file: TomlFile
    above: tuple[Layer, ...] = ()

    @property
    def path(self) -> Path:
        """The project's file."""
        return self.file.path

    @cached_property
    def values(self) -> Mapping[str, Any]:
        """All values, merged."""
        values: Mapping[str, Any] = self.file.values
        for layer in self.above:
            values = _merge(values, layer.values)
        return values

    def source_of(self, key: KeyPath) -> str:
        """Say where the value of `key` came from, as `kavach.toml:12` or `--set`."""
        return self._layer_of(key).source_of(key)

    def error(self, key: KeyPath, problem: str, *, hint: str | None = None) -> AgentctlError:
        """Make the error for what is wrong with `key`, naming where its value came from."""
        return self._layer_of(key).error(key, problem, hint=hint)

    def is_given(self, key: KeyPath) -> bool:
        """Whether the value of `key` was given by a flag."""
        return self.source_of(key) == "--set"

    def _layer_of(self, key: KeyPath) -> Layer:
        topmost_first = (*reversed(self.above), self.file)
        return max(topmost_first, key=lambda layer: _depth(layer.values, key))


def _depth(values: object, key: KeyPath) -> int:
    """How much of a key is there; a value that is no table says all that there is below it."""
    for depth, part in enumerate(key):
        if not isinstance(values, Mapping):
            return len(key)
        if part not in values:
            return depth
        values = values[part]
    return len(key)


def _merge(
    below: Mapping[str, Any], above: Mapping[str, Any], path: KeyPath = ()
) -> Mapping[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        under, here = merged.get(key), (*path, key)
        if isinstance(value, dict) and isinstance(under, str) and _is_capability(here):
            under = {"use": under}  # the two ways to write it mean the same
        if isinstance(under, dict) and isinstance(value, dict) and _is_schedule(here):
            under = _without_other_ways(under, value)
        both = isinstance(under, dict) and isinstance(value, dict)
        merged[key] = _merge(under, value, here) if both else value  # type: ignore[arg-type]
    return merged


def _is_capability(path: KeyPath) -> bool:
    return len(path) == _CAPABILITY_DEPTH and path[0::2] == ("agents", "capabilities")


def _is_schedule(path: KeyPath) -> bool:
    return len(path) == 2 and path[0] == "schedules"


def _without_other_ways(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    ways = above.keys() & SCHEDULE_WAYS
    if not ways or ways & below.keys():
        return dict(below)
    return {key: value for key, value in below.items() if key not in (*SCHEDULE_WAYS, "first")}


def _parse_setting(by: str, text: str) -> Mapping[str, Any]:
    key, value = _split(by, text)
    nested: Any = _parse_value(value)
    for part in reversed(key):
        nested = {part: nested}
    found: Mapping[str, Any] = nested
    return found


def _split(by: str, text: str) -> tuple[KeyPath, str]:
    shown = repr(text.partition("=")[0][:80])  # never the value: it may be a secret
    try:
        key, end = read_key(text, 0)
    except ValueError:  # an escape in quotes that TOML doesn't know
        key, end = (), 0
    before = text[:end].rstrip()
    if not key or text[end : end + 1] != "=" or before[-1] == "." or not before.isprintable():
        raise UsageError(f"{by}: {shown} is no KEY=VALUE", hint=_EXAMPLE)
    if len(key) > MAX_DOTS_IN_A_LINE:
        raise UsageError(f"{by}: the key has more than {MAX_DOTS_IN_A_LINE} dots", hint=_EXAMPLE)
    return key, text[end + 1 :]


def _parse_value(text: str) -> object:
    """Read a value of TOML; what isn't one is a text as it stands."""
    try:
        values = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return values["value"] if values.keys() == {"value"} else text
