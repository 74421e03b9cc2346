"""Every template is a project that loads, under any name that an agent may have."""

from __future__ import annotations

import ast
import shlex
from pathlib import Path

import pytest

from agentctl.project.config import load_project
from agentctl.project.loading import load_agent
from agentctl.project.scaffold import create
from agentctl.project.templates import Template, list_templates

TEMPLATES = list_templates()
NAMES = ["refund", "approval", "assistant", "cleanup", "heartbeat", "poller", "workflow"]


def test_these_are_the_templates() -> None:
    assert [each.name for each in TEMPLATES] == NAMES


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda each: each.name)
@pytest.mark.parametrize("agent", [None, "OrderKeeper"])
def test_a_project_of_it_loads_under_any_name(
    tmp_path: Path, fresh_imports: None, template: Template, agent: str | None
) -> None:
    made = create(tmp_path / "store", template.name, agent=agent)
    project = load_project(tmp_path / "store")
    name = agent or template.agent
    assert list(project.agents) == [made.agent] == [name]
    loaded = load_agent(project, name)
    assert loaded.cls.__module__.startswith("store.")
    assert all(each.agent == name for each in project.schedules())
    for path in (tmp_path / "store").rglob("*"):
        text = path.read_text() if path.is_file() else path.name
        words = set(text.replace("[", " ").replace(".", " ").replace(":", " ").split())
        assert template.package not in words, path
        assert agent is None or not {template.agent, template.module} & words, path


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda each: each.name)
@pytest.mark.parametrize("package", ["mail", "durable", "event"])
def test_the_names_in_its_code_do_not_follow_the_name_of_the_project(
    tmp_path: Path, template: Template, package: str
) -> None:
    create(tmp_path / package, template.name)

    def names(folder: Path) -> list[str]:
        return [
            name
            for path in sorted(folder.rglob("*.py"))
            for node in ast.walk(ast.parse(path.read_text()))
            for part in ("id", "arg", "attr", "name")
            if isinstance(name := getattr(node, part, None), str)
        ]

    assert sorted(names(tmp_path / package)) == sorted(names(template.folder))


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda each: each.name)
def test_what_to_try_next_are_three_commands_that_can_be_pasted(template: Template) -> None:
    assert len(template.next) == 3
    for command in template.next:
        assert shlex.split(command)[0] in ("agentctl", "python")
    assert template.about.isprintable()
