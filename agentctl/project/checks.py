"""Checks of single values in `kavach.toml` that several tables need.

Invariant: what doesn't fit is one error that names where it stands and what was expected.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from agentctl.errors import UsageError
from agentctl.project.toml_file import Table, describe
from agentctl.times import parse_duration

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
