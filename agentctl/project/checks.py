"""Checks of single values in `kavach.toml` that several tables need.

Invariant: what doesn't fit is one error that names where it stands and what was expected.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from agentctl.errors import UsageError
from agentctl.nearest import nearest_hint
from agentctl.project.toml_file import Table, describe
from agentctl.times import parse_duration
from agentctl.zones import find_zone

_REFERENCE: Final = re.compile(r"(?!\d)\w+(\.(?!\d)\w+)*:(?!\d)\w+")


def read_reference(table: Table, key: str) -> str | None:
    """Read `module:Class`, or None without the key."""
    text = table.text(key)
    if text is not None and not _REFERENCE.fullmatch(text):
        raise table.error(
            key,
            f'expected "module:Class", not {describe(text)}',
            hint=_reference_hint(text),
        )
    return text


def _reference_hint(text: str) -> str:
    module, dot, cls = text.rpartition(".")
    if dot and _REFERENCE.fullmatch(f"{module}:{cls}"):
        return f'a colon stands before the class: did you mean "{module}:{cls}"?'
    return "the module with dots, as in an import; then a colon and the class's name"


def read_number(table: Table, key: str, smallest: int) -> int:
    """Read a whole number; the key is there."""
    value = table.values[key]
    if isinstance(value, bool) or not isinstance(value, int) or not smallest <= value < 2**31:
        raise table.error(key, f"expected a whole number from {smallest} on, not {describe(value)}")
    return value


def read_duration(table: Table, key: str, other: str = "") -> timedelta:
    """Read a duration; the key is there. `other` says what else it could be."""
    value = table.values[key]
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise table.error(
            key, f"expected a text, not {describe(value)}", hint=_duration_hint(value)
        )
    text = table.text(key)
    assert text is not None  # the key is there
    try:
        return parse_duration(text)
    except (UsageError, OverflowError) as error:
        raise table.error(
            key,
            f"expected a duration{other}, not {describe(text)}",
            hint=getattr(error, "hint", None),
        ) from None


def _duration_hint(number: float) -> str:
    """Say how a number is written that stands where a duration should: in seconds, most likely."""
    return f'write "{number}s"' if 0.001 <= number < 1e9 else 'write it with a unit, as "90s"'


def read_tz(table: Table, key: str = "tz") -> str | None:
    """Read the name of a zone that this machine knows, or None without the key."""
    name = table.text(key)
    if name is None:
        return None
    try:
        zone = find_zone(name)
    except UsageError as error:
        raise table.error(
            key,
            f"expected a time zone that this machine knows, not {describe(name)}",
            hint=error.hint,
        ) from None
    return str(zone)


def read_flag(table: Table, key: str, default: bool) -> bool:
    """Read true or false."""
    value = table.values.get(key, default)
    if not isinstance(value, bool):
        raise table.error(key, f"expected true or false, not {describe(value)}")
    return value


def read_choice(table: Table, key: str, known: Sequence[str], default: str = "") -> str:
    """Read one of a few words; without the key `default`, or the first of them."""
    word = table.text(key)
    if word is not None and word not in known:
        raise table.error(
            key,
            f"expected {', '.join(known[:-1])} or {known[-1]}, not {describe(word)}",
            hint=nearest_hint(word, known, "choices"),
        )
    return word or default or known[0]
