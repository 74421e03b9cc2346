"""Reads `[agents.NAME.capabilities]`: what each capability is bound to, and how it is called.

Invariant: as in `reading`. Never reads what `env` and `file` name: that waits until a program
loads its agents.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from agentctl.core.retry import Backoff, Exponential, Fixed, RetryPolicy
from agentctl.errors import UsageError
from agentctl.project.checks import read_duration, read_number, read_reference
from agentctl.project.model import CapabilityConfig, FromEnvironment, FromFile
from agentctl.project.toml_file import Table, describe

CAPABILITY_KEYS: Final = ("use", "with", "timeout", "retry", "limit")
RETRY_KEYS: Final = ("max_attempts", "delay", "base", "cap", "factor", "jitter")
_GROWING: Final = ("base", "cap", "factor")
_LARGEST_FACTOR: Final = 1000
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
    binding.check_keys(CAPABILITY_KEYS)
    use = read_reference(binding, "use")
    if use is None:
        raise binding.error("use", 'the key is missing: expected "module:Class"')
    return CapabilityConfig(
        use,
        _read_arguments(binding.table("with")),
        _read_timeout(binding) if "timeout" in binding.values else None,
        read_number(binding, "limit", 1) if "limit" in binding.values else None,
        _read_retry(binding.table("retry")) if "retry" in binding.values else None,
    )


def _read_timeout(binding: Table) -> timedelta:
    timeout = read_duration(binding, "timeout")
    if not timeout:
        raise binding.error("timeout", "expected a duration that leaves a call some time")
    return timeout


def _read_retry(table: Table) -> RetryPolicy:
    table.check_keys(RETRY_KEYS)
    _need(table, "max_attempts", "how many attempts there are, the first one counted")
    attempts = read_number(table, "max_attempts", 1)
    jitter = _read_float(table, "jitter", 0.0)
    if not 0 <= jitter <= 1:
        raise table.error("jitter", f"expected a number from 0 to 1, not {describe(jitter)}")
    return RetryPolicy(attempts, _read_backoff(table), jitter)


def _read_backoff(table: Table) -> Backoff:
    growing = [key for key in _GROWING if key in table.values]
    if not growing:
        return Fixed(_read_seconds(table, "delay") if "delay" in table.values else 0)
    if "delay" in table.values:
        raise table.error(
            "delay",
            f"expected delay alone, or base and cap, not delay and {growing[0]} together",
            hint="delay is the same each time; base grows by factor, up to cap",
        )
    _need(table, "base", "how long to wait after the first failure")
    base = _read_seconds(table, "base")
    _need(table, "cap", "how long to wait at most")
    cap = _read_seconds(table, "cap")
    factor = _read_float(table, "factor", 2.0)
    if cap < base:
        raise table.error("cap", "expected a duration that isn't shorter than base")
    if not 1 <= factor <= _LARGEST_FACTOR:
        raise table.error(
            "factor", f"expected a number from 1 to {_LARGEST_FACTOR}, not {describe(factor)}"
        )
    return Exponential(base, cap, factor)


def _need(table: Table, key: str, what: str) -> None:
    if key not in table.values:
        raise table.error(key, f"the key is missing: {what}")


def _read_seconds(table: Table, key: str) -> float:
    seconds = read_duration(table, key).total_seconds()
    try:
        return Fixed(seconds).delay
    except UsageError as error:
        raise table.error(key, "expected at most ten years", hint=error.hint) from None


def _read_float(table: Table, key: str, default: float) -> float:
    value = table.values.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise table.error(key, f"expected a number, not {describe(value)}")
    return value


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
