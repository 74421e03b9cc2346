"""Makes projects, adds agents, lists templates, explains settings.

Never overwrites a file and never opens an agent's folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import UNSET

from agentctl.errors import AgentctlError
from agentctl.ops.changes import (
    AddDocument,
    ConfigDocument,
    ConfigValue,
    NewDocument,
    TemplateLine,
    TemplatesDocument,
)
from agentctl.project import scaffold, templates
from agentctl.project.adding import plan_addition, write_addition
from agentctl.project.explain import explain
from agentctl.project.loading import load_class
from agentctl.project.model import Project


def make_project(folder: Path, template: str, agent: str | None) -> tuple[NewDocument, str | None]:
    """Write a new project.

    Returns:
        What was written, and why the package is named otherwise than the folder, if it is.

    Raises:
        Conflict: a file is there already.
        NotFound: there is no such template.
        UsageError: the agent's name can't be used.
        DiskTrouble: the folder can't be written.
    """
    made = scaffold.create(folder, template, agent=agent)
    document = NewDocument(
        folder=str(made.folder),
        package=made.package,
        agent=made.agent,
        files=tuple(path.as_posix() for path in made.files),
        next=made.next_commands,
    )
    return document, made.note


def add_agent(project: Project, agent: str, template: str, *, dry_run: bool = False) -> AddDocument:
    """Add an agent to a project, or only tell what would be written.

    Raises:
        Conflict: the project has the agent, or a file of that name; nothing was written.
        NotFound: there is no such template.
        UsageError: the agent's name can't be used.
        ProjectError: `kavach.toml` can't be appended to.
        DiskTrouble: the folder can't be written.
    """
    planned = plan_addition(project, agent, template)
    if not dry_run:
        write_addition(planned)
    return AddDocument(
        folder=str(project.folder),
        agent=agent,
        files=tuple(path.as_posix() for path in planned.files),
        appended=planned.tables,
        next=planned.next_commands,
        dry_run=True if dry_run else UNSET,
    )


def list_templates() -> TemplatesDocument:
    """List the templates that there are."""
    return TemplatesDocument(
        tuple(TemplateLine(each.name, each.about) for each in templates.list_templates())
    )


def explain_project(project: Project) -> tuple[ConfigDocument, Sequence[AgentctlError]]:
    """List every setting with its source.

    Returns:
        The settings, and why a class's own can't be known, for each whose code can't be loaded.
    """
    settings, troubles = {}, []
    for name in project.agents:
        try:
            settings[name] = load_class(project, name).settings
        except AgentctlError as error:
            troubles.append(error)
    rows = explain(project, of_classes=settings)
    values = (ConfigValue(key, _plain(value), source) for key, value, source in rows)
    return ConfigDocument(tuple(values)), troubles


def _plain(value: object) -> str | int | float | bool | None:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)
