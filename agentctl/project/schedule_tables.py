"""Reads `[schedules.NAME]`: recurring work that needs no caller.

Invariant: as in `reading`. Never imports the project's code: handlers, their arguments and
identities are checked where it is loaded.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import date, datetime
from typing import Any, Final

from agentctl.core.timing import Timing, check
from agentctl.errors import UsageError
from agentctl.names import Identity, identity_text
from agentctl.nearest import nearest_hint
from agentctl.project.checks import read_flag
from agentctl.project.layers import SCHEDULE_WAYS
from agentctl.project.model import ScheduleConfig
from agentctl.project.schedule_timings import MOMENT, read_timing
from agentctl.project.toml_file import Table, describe
from agentctl.times import from_datetime, to_rfc3339

SCHEDULE_KEYS: Final = (
    *("agent", "instances", "handler", "args", "kwargs", *SCHEDULE_WAYS, "first", "tz"),
    *("missed", "overlap", "jitter", "max_late", "priority", "enabled"),
)
_LARGEST: Final = 2**63


def read_schedules(
    tables: Table, agents: Collection[str], tz: str | None
) -> Mapping[str, ScheduleConfig]:
    """Read all of `[schedules]`, in the order of the file; `tz` is the project's zone."""
    return {name: _read_schedule(tables, name, agents, tz) for name in tables.values}


def _read_schedule(
    tables: Table, name: str, agents: Collection[str], tz: str | None
) -> ScheduleConfig:
    try:
        check(Timing(name))
    except UsageError as error:
        raise tables.error(name, error.message, hint=error.hint) from None
    table = tables.table(name)
    table.check_keys(SCHEDULE_KEYS)
    agent, handler = _needed(table, "agent"), _needed(table, "handler")
    if agent not in agents:
        raise table.error(
            "agent",
            f"the project has no agent {agent!r}",
            hint=nearest_hint(agent, agents, "agents"),
        )
    if not handler.isidentifier():
        raise table.error("handler", f"expected a method's name, not {describe(handler)}")
    return ScheduleConfig(
        name=name,
        agent=agent,
        handler=handler,
        timing=read_timing(table, name, tz),
        instances=_read_instances(table),
        args=_read_args(table),
        kwargs=_read_kwargs(table.table("kwargs")),
        enabled=read_flag(table, "enabled", True),
    )


def _needed(table: Table, key: str) -> str:
    text = table.text(key)
    if text is None:
        raise table.error(key, "the key is missing: a schedule runs a handler of an agent")
    return text


def _read_instances(table: Table) -> tuple[Identity, ...]:
    if "instances" not in table.values:
        return ((),)
    given = table.values["instances"]
    if not isinstance(given, list) or not given:
        what = "an empty one" if given == [] else describe(given)
        raise table.error(
            "instances",
            f"expected a list of identities, not {what}",
            hint='for example ["eu", "us"]; leave the key out for an agent without identity',
        )
    found: list[Identity] = []
    for one in given:
        parts = one if isinstance(one, list) else [one]
        if not parts or not all(isinstance(part, str | int) for part in parts):
            raise table.error(
                "instances",
                f"expected a text, or a list of one text a field, not {describe(one)}",
                hint='for example ["eu", "us"], or [["eu", "7"], ["us", "9"]]',
            )
        identity = tuple(identity_text(part) for part in parts)
        if identity in found:
            raise table.error("instances", f"the same instance stands there twice: {one!r}"[:200])
        found.append(identity)
    return tuple(found)


def _read_args(table: Table) -> tuple[object, ...]:
    given = table.values.get("args", [])
    if not isinstance(given, list):
        raise table.error(
            "args", f"expected a list, not {describe(given)}", hint='for example ["a text", 7]'
        )
    return tuple(_as_json(table, "args", value) for value in given)


def _read_kwargs(table: Table) -> dict[str, object]:
    for name in table.values:
        if not name.isidentifier():
            raise table.error(name, "expected the name of an argument")
    return {name: _as_json(table, name, value) for name, value in table.values.items()}


def _as_json(table: Table, key: str, value: Any) -> object:
    """A value of TOML as JSON has it: dates and times as text."""
    match value:
        case list():
            return [_as_json(table, key, each) for each in value]
        case dict():
            return {name: _as_json(table, key, each) for name, each in value.items()}
        case datetime() if value.tzinfo is not None:
            return to_rfc3339(from_datetime(value))
        case datetime():
            raise table.error(key, f"expected {MOMENT}: this one has none")
        case date():
            return value.isoformat()
        case str() | bool():
            return value
        case float() if value - value == 0:  # neither infinite nor no number
            return value
        case int() if -_LARGEST <= value < _LARGEST:
            return value
    raise table.error(key, f"expected what JSON can hold, not {describe(value)}")
