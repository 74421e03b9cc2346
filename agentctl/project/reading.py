"""Checks the tables of `kavach.toml` and turns them into the data of `model.py`.

Invariant: an unknown key, a wrong type or a key of a later version is one `ProjectError` that names
file, line, key, what was expected and the nearest known key; nothing is ignored. Never imports the
project's code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import timedelta
from typing import Any, Final

from agentctl.core.lanes import LANES
from agentctl.errors import UsageError
from agentctl.names import check_agent_name
from agentctl.project.capability_tables import read_capabilities
from agentctl.project.checks import read_duration, read_flag, read_number, read_reference
from agentctl.project.layers import Layers
from agentctl.project.model import AgentConfig
from agentctl.project.toml_file import Table, describe

TOP_KEYS: Final = ("project", "agents", "schedules", "engine")
PROJECT_KEYS: Final = ("name", "root", "tz")
AGENT_KEYS: Final = ("class", "capabilities", "settings", "deny")
ENGINE_KEYS: Final = ("kind",)

_LATER_ENGINES: Final = ("sqlite", "restate")


def read_top(file: Layers) -> Table:
    """Return everything as a table, with its own keys and `[engine]` checked."""
    top = Table(file, (), file.values)
    top.check_keys(TOP_KEYS)
    _check_engine(top.table("engine"))
    return top


def default_settings() -> Mapping[str, Any]:
    """Return every setting with its default, as `AgentSettings` has them."""
    from agentctl.sdk.settings import AgentSettings

    settings = AgentSettings()
    return {each.name: getattr(settings, each.name) for each in fields(settings)}


def _check_engine(engine: Table) -> None:
    engine.check_keys(ENGINE_KEYS)
    kind = engine.text("kind")
    if kind in _LATER_ENGINES:
        raise engine.later("kind")
    if kind not in (None, "files"):
        raise engine.error("kind", f'expected "files", not {describe(kind)}')


def read_agents(agents: Table) -> Mapping[str, AgentConfig]:
    """Read all of `[agents]`, in the order of the file."""
    found: dict[str, AgentConfig] = {}
    lower: dict[str, str] = {}
    for name in agents.values:
        try:
            check_agent_name(name)
        except UsageError as error:
            raise agents.error(name, error.message, hint=error.hint) from None
        if (other := lower.setdefault(name.lower(), name)) != name:
            raise agents.error(
                name,
                f"it differs from the agent {other} only in case",
                hint="some systems keep both in one folder; choose another name",
            )
        found[name] = _read_agent(agents.table(name), name)
    return found


def _read_agent(table: Table, name: str) -> AgentConfig:
    table.check_keys(AGENT_KEYS)
    cls = read_reference(table, "class")
    if cls is None:
        raise table.error(
            "class", 'the key is missing: expected "module:Class"', hint=_class_hint(name)
        )
    return AgentConfig(
        name,
        cls,
        read_capabilities(table.table("capabilities")),
        _read_settings(table.table("settings")),
        _read_deny(table.table("deny")),
    )


def _class_hint(name: str) -> str:
    return f'for example class = "shop.bot:{name}", imported from the project\'s folder'


def _read_settings(table: Table) -> Mapping[str, Any]:
    if not table.values:
        return {}
    defaults = default_settings()
    table.check_keys(defaults)
    return {name: _read_setting(table, name, defaults[name]) for name in table.values}


def _read_setting(table: Table, name: str, default: object) -> object:
    from agentctl.sdk.settings import MAY_BE_NONE, SMALLEST

    value = table.values[name]
    if isinstance(default, bool):
        if isinstance(value, dict):
            raise table.later(name)  # audit = { max_size = … }
        return read_flag(table, name, default)
    if isinstance(default, int):
        return read_number(table, name, SMALLEST[name])
    if isinstance(default, Mapping):
        return _read_permits(table.table(name))
    assert isinstance(default, timedelta)  # AgentSettings has no other kinds
    if value == "none" and name in MAY_BE_NONE:
        return None
    return read_duration(table, name, ' or "none"' if name in MAY_BE_NONE else "")


def _read_permits(table: Table) -> Mapping[str, int]:
    table.check_keys(LANES)
    return {lane: read_number(table, lane, 1) for lane in table.values}


def _read_deny(table: Table) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for key, value in table.values.items():
        # payments.refund without quotes is a table in TOML; what is meant is plain.
        inner = table.table(key) if isinstance(value, dict) else None
        for method in inner.values if inner else [key]:
            holder, call = (inner, f"{key}.{method}") if inner else (table, key)
            reason = holder.text(method)
            capability, dot, name = call.partition(".")
            if not dot or not capability.isidentifier() or not name.isidentifier():
                raise holder.error(
                    method,
                    'expected "capability.method"',
                    hint='for example "payments.refund" = "closed for the audit"',
                )
            assert reason is not None  # the key is there
            found[call] = reason
    return found
