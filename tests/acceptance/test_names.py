"""An agent's name is a folder of its own inside `agents/`, or a clear refusal."""

from __future__ import annotations

import pytest

from .shop import make_agents
from .support import Project

CREW = """
from __future__ import annotations

from abc import abstractmethod

from agentctl import Agent, Capability, handler


class World(Capability):
    @abstractmethod
    async def nothing(self) -> None: ...


class Real(World):
    async def nothing(self) -> None: ...


class {name}(Agent):
    world: World

    @handler
    async def go(self) -> str:
        return "here"
"""
FORBIDDEN = ["../x", "a/b", "x" * 300, "Bücher", "", ".", "..", "a b", "-x", "9x", "a\\nb"]


@pytest.mark.parametrize("name", FORBIDDEN)
def test_p16_a_name_that_is_no_safe_folder_is_refused_in_kavach_toml(
    project: Project, name: str
) -> None:
    project.write("crew.py", CREW.format(name="Bot"))
    project.write("kavach.toml", f'[project]\nname = "p"\n[agents."{name}"]\nclass = "crew:Bot"\n')
    refused = project.agentctl("run", "--until-idle")
    refused.expect_error(7, "kavach.toml")
    assert not (project.root / "agents").exists()
    assert {path.name for path in project.root.parent.iterdir()} <= {"project", "home"}


@pytest.mark.parametrize("name", [name for name in FORBIDDEN if name != "-x"])
def test_p16_a_name_that_is_no_safe_folder_is_refused_on_the_command_line(
    shop: Project, name: str
) -> None:
    result = shop.agentctl("invoke", name, "request", "7")
    assert result.code in {2, 3}, result.both
    result.expect_error(result.code)
    assert not (shop.root / "agents").exists()


@pytest.mark.parametrize("name", ["../../Bot", "..", "x" * 300])
def test_p16_reading_cannot_leave_the_agents_folder(finished_shop: Project, name: str) -> None:
    outside = finished_shop.root.parent / "Bot"
    outside.mkdir()
    (outside / "journal").write_bytes(finished_shop.journal_path().read_bytes())
    result = finished_shop.agentctl("inspect", "journal", name)
    assert result.code in {2, 3}, result.both
    assert result.out == ""


@pytest.mark.parametrize("name", ["../x", "a/b", "x" * 300, "Bücher", ".."])
def test_p16_new_refuses_such_a_name_for_its_agent(project: Project, name: str) -> None:
    project.agentctl("new", "fresh", "--agent", name).expect_error(2)
    assert not (project.root / "fresh").exists()
    assert not (project.root / "x").exists()


def test_p16_a_name_that_is_a_device_elsewhere_is_refused(project: Project) -> None:
    project.write("crew.py", CREW.format(name="NUL"))
    make_agents(project, NUL="crew:NUL")
    project.agentctl("invoke", "NUL", "go").expect_error(2, "NUL", "device")
    project.agentctl("run", "--until-idle").expect_error(7, "NUL", "device")
    assert not (project.root / "agents").exists()


@pytest.mark.parametrize("name", ["x", "X" * 64, "a_1"])
def test_p16_a_good_name_gets_the_folder_of_that_name(project: Project, name: str) -> None:
    project.write("crew.py", CREW.format(name=name))
    make_agents(project, **{name: f"crew:{name}"})
    assert project.agentctl("invoke", name, "go").expect(0).out == '"here"\n'
    assert [path.name for path in (project.root / "agents").iterdir()] == [name]


def test_p16_two_names_that_differ_only_in_case_are_refused(project: Project) -> None:
    project.write("crew.py", CREW.format(name="x") + "\n\nclass X(x):\n    pass\n")
    make_agents(project, x="crew:x", X="crew:X")
    project.agentctl("run", "--until-idle").expect_error(7, "x", "X", "case")
    assert not (project.root / "agents").exists()
