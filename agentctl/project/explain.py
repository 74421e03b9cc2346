"""Says where each value of a project came from.

Never imports the project's code: what a class carries is passed in.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from agentctl.project.model import AgentConfig, CapabilityConfig, Project, ScheduleConfig
from agentctl.project.reading import default_settings
from agentctl.project.toml_file import format_key
from agentctl.project.toml_lines import KeyPath
from agentctl.times import format_duration, to_rfc3339

if TYPE_CHECKING:
    from agentctl.sdk.settings import AgentSettings

Row = tuple[str, object, str]
"""A key, its plain value (text, number, boolean, None), and its source."""


def explain(
    project: Project, *, of_classes: Mapping[str, AgentSettings] | None = None
) -> list[Row]:
    """List every key with its value and where that came from, in the order of the file's page.

    Sources are `default`, `kavach.toml:12`, `kavach.local.toml:3`, `--set`, `--root`, their
    variables, or `class Bot` for settings that a class carries, known only from `of_classes`.
    """
    root_source = project.root_source or _source(project, ("project", "root"))
    rows: list[Row] = [
        ("file", str(project.file.path), project.found_by),
        ("project.name", project.name, _source(project, ("project", "name"))),
        ("project.root", str(project.root), root_source),
        ("project.tz", project.tz, _source(project, ("project", "tz"))),
    ]
    for agent in project.agents.values():
        rows += _explain_agent(project, agent, (of_classes or {}).get(agent.name))
    for schedule in project.schedule_tables.values():
        rows += _explain_schedule(project, schedule)
    rows.append(("engine.kind", "files", _source(project, ("engine", "kind"))))
    return rows


def _explain_agent(
    project: Project, agent: AgentConfig, carried: AgentSettings | None
) -> list[Row]:
    at, path = f"agents.{agent.name}", ("agents", agent.name)
    rows: list[Row] = [(f"{at}.class", agent.cls, _source(project, (*path, "class")))]
    for name, capability in agent.capabilities.items():
        rows += _explain_capability(project, (*path, "capabilities", name), capability)
    for name, default in default_settings().items():
        value, source = default, "default"
        if carried is not None and getattr(carried, name) != default:
            value, source = getattr(carried, name), f"class {agent.name}"
        if name in agent.settings:
            value, source = agent.settings[name], _source(project, (*path, "settings", name))
        rows.append((f"{at}.settings.{name}", _plain_argument(plain_setting(value)), source))
    for call, reason in agent.deny.items():
        quoted = (*path, "deny", call)
        source = _source(
            project, quoted if _has(project, quoted) else (*quoted[:-1], *call.split("."))
        )
        rows.append((f'{at}.deny."{call}"', reason, source))
    return rows


def _explain_capability(project: Project, path: KeyPath, one: CapabilityConfig) -> list[Row]:
    at, source_of = ".".join(path), project.file.source_of
    rows: list[Row] = [(at, one.use, source_of((*path, "use")))]
    for name, value in one.arguments.items():
        key = (*path, "with", name)
        rows.append((f"{at}.with.{name}", _plain_argument(value), source_of(key)))
    if one.timeout is not None:
        rows.append((f"{at}.timeout", plain_setting(one.timeout), source_of((*path, "timeout"))))
    if one.retry is not None:
        given = project.file.values["agents"][path[1]]["capabilities"][path[-1]]["retry"]
        rows += [
            (f"{at}.retry.{name}", value, source_of((*path, "retry", name)))
            for name, value in given.items()
        ]
    if one.limit is not None:
        rows.append((f"{at}.limit", one.limit, source_of((*path, "limit"))))
    return rows


def _explain_schedule(project: Project, one: ScheduleConfig) -> list[Row]:
    path, timing = ("schedules", one.name), one.timing
    own_tz = _has(project, (*path, "tz"))
    due = None if timing.due_us is None else to_rfc3339(timing.due_us)
    values = {
        "agent": one.agent,
        "instances": [list(each) if len(each) > 1 else each[0] for each in one.instances if each],
        "handler": one.handler,
        "args": list(one.args),
        "kwargs": dict(one.kwargs),
        "cron": timing.cron,
        "every": _plain_us(timing.period_us),
        "at": None if timing.recurs else due,
        "first": due if timing.recurs else None,
        "tz": project.file.values["schedules"][one.name]["tz"] if own_tz else timing.tz,
        "missed": timing.missed,
        "overlap": timing.overlap,
        "jitter": _plain_us(timing.jitter_us),
        "max_late": _plain_us(timing.late_us) or "none",
        "priority": timing.priority,
        "enabled": one.enabled,
    }
    unread = () if timing.recurs else ("missed", "overlap", "jitter")
    return [
        (
            format_key((*path, key)),
            _plain_argument(value),
            _source(project, ("project", "tz") if key == "tz" and not own_tz else (*path, key)),
        )
        for key, value in values.items()
        if value is not None and value not in ([], {}) and key not in unread
    ]


def _plain_us(duration_us: int | None) -> str | None:
    return None if duration_us is None else format_duration(timedelta(microseconds=duration_us))


def _plain_argument(value: object) -> object:
    """Write an argument; of one that comes from elsewhere only where from: it may be secret."""
    if isinstance(value, dict | list):
        import json

        return json.dumps(value, ensure_ascii=False, default=str)
    return value if isinstance(value, str | int | float) else str(value)


def plain_setting(value: object) -> object:
    """Write a setting as `kavach.toml` has it: durations as text, no limit as `none`."""
    if value is None:
        return "none"
    return format_duration(value) if isinstance(value, timedelta) else value


def _source(project: Project, key: KeyPath) -> str:
    return project.file.source_of(key) if _has(project, key) else "default"


def _has(project: Project, key: KeyPath) -> bool:
    values: Any = project.file.values
    for part in key:
        if not isinstance(values, dict) or part not in values:
            return False
        values = values[part]
    return True
