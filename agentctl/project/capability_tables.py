"""Reads `[agents.NAME.capabilities]`: what each capability is bound to, and how it is called.

Invariant: as in `reading`. Never reads what `env` and `file` name: that waits until a program
loads its agents.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from agentctl.project.checks import read_duration, read_number, read_reference
from agentctl.project.model import CapabilityConfig, FromEnvironment, FromFile
from agentctl.project.toml_file import Table

CAPABILITY_KEYS: Final = ("use", "with", "timeout", "limit")
_LATER: Final = ("retry",)
_ORIGINS: Final = {"env": FromEnvironment, "file": FromFile}


def read_capabilities(table: Table) -> Mapping[str, CapabilityConfig]:
    """Read the whole table, in the order of the file."""
    return {name: _read_capability(table, name) for name in table.values}


def _read_capability(table: Table, name: str) -> CapabilityConfig:
    if not isinstance(table.values[name], dict):
        use = read_reference(table, name)
        assert use is not None  # the key is there
        return CapabilityConfig(use)
    binding = table.table(name)
    binding.check_keys(CAPABILITY_KEYS, _LATER)
    use = read_reference(binding, "use")
    if use is None:
        raise binding.error("use", 'the key is missing: expected "module:Class"')
    return CapabilityConfig(
        use,
        _read_arguments(binding.table("with")),
        _read_timeout(binding) if "timeout" in binding.values else None,
        read_number(binding, "limit", 1) if "limit" in binding.values else None,
    )


def _read_timeout(binding: Table) -> timedelta:
    timeout = read_duration(binding, "timeout")
    if not timeout:
        raise binding.error("timeout", "expected a duration that leaves a call some time")
    return timeout


def _read_arguments(table: Table) -> Mapping[str, object]:
    return {name: _read_argument(table, name) for name in table.values}


def _read_argument(table: Table, name: str) -> object:
    value = table.values[name]
    if not isinstance(value, dict) or not value.keys() & _ORIGINS.keys():
        return value
    origin = table.table(name)
    if len(value) > 1:
        raise table.error(
            name,
            f"expected env or file alone, not {', '.join(sorted(value)[:5])} together",
            hint="a table with env or file in it says where the value comes from",
        )
    (key,) = value
    text = origin.text(key)
    assert text is not None  # the key is there
    return _ORIGINS[key](text)
