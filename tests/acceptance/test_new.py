"""`agentctl new`: a project that runs, and whose own tests pass."""

from __future__ import annotations

import importlib.metadata
import re
import sys
import tomllib

import pytest

from .support import Project


def test_a_stranger_sees_it_work(project: Project) -> None:
    made = project.agentctl("new", "shop").expect(0)
    assert made.out == ""
    told = project.agentctl("invoke", "Bot", "request", "7", cwd=project.root / "shop").expect(0)
    assert told.out == '"r7"\n'
    lines = told.err.splitlines()
    assert "[pay] refund 7, key Bot-1-1" in lines
    assert "[email] order 7: r7" in lines


def test_new_prints_the_next_three_commands(project: Project) -> None:
    made = project.agentctl("new", "shop").expect(0)
    assert "cd shop" in made.err
    assert "agentctl invoke Bot request 7" in made.err
    assert len(re.findall(r"\bcd shop\b|\bagentctl [a-z]+ ", made.err)) >= 3


def test_new_writes_what_a_project_needs(project: Project) -> None:
    project.agentctl("new", "shop").expect(0)
    made = project.root / "shop"
    ignored = (made / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert "agents/" in ignored
    assert "kavach.local.toml" in ignored
    assert tomllib.loads((made / "pyproject.toml").read_text(encoding="utf-8"))
    config = tomllib.loads((made / "kavach.toml").read_text(encoding="utf-8"))
    assert ":" in config["agents"]["Bot"]["class"]
    assert (made / "agents" / "Bot").is_dir()
    assert (made / "agents").stat().st_mode & 0o777 == 0o700
    assert (made / "agents" / "Bot").stat().st_mode & 0o777 == 0o700
    assert list(made.rglob("test_*.py")), "a project without tests"


def test_the_tests_of_a_new_project_pass(project: Project) -> None:
    project.agentctl("new", "shop").expect(0)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    if not importlib.metadata.entry_points(group="pytest11", name="agentctl"):
        command += ["-p", "agentctl.testing.plugin"]  # a checkout that isn't installed
    ran = project.run_program(tuple(command), cwd=project.root / "shop", timeout=60).expect(0)
    assert " passed" in ran.out
    assert "skipped" not in ran.out


def test_new_gives_the_agent_the_name_that_was_asked_for(project: Project) -> None:
    project.agentctl("new", "shop", "--agent", "Clerk").expect(0)
    told = project.agentctl("invoke", "Clerk", "request", "7", cwd=project.root / "shop").expect(0)
    assert told.out == '"r7"\n'
    assert "[pay] refund 7, key Clerk-1-1" in told.err
    assert [path.name for path in (project.root / "shop" / "agents").iterdir()] == ["Clerk"]


def test_new_never_overwrites(project: Project) -> None:
    project.agentctl("new", "shop").expect(0)
    before = project.tree("shop")
    project.agentctl("new", "shop").expect_error(4, "shop")
    assert project.tree("shop") == before


@pytest.mark.parametrize("name", ["kavach.toml", "pyproject.toml"])
def test_new_never_overwrites_a_single_file_either(project: Project, name: str) -> None:
    project.write(f"shop/{name}", "# mine\n")
    project.agentctl("new", "shop").expect_error(4, name)
    assert project.tree("shop") == {f"shop/{name}": b"# mine\n"}


def test_new_lists_its_templates(project: Project) -> None:
    assert "refund" in project.agentctl("new", "--list").expect(0).out


def test_new_takes_the_template_by_name(project: Project) -> None:
    project.agentctl("new", "shop", "--template", "refund").expect(0)
    assert (project.root / "shop" / "kavach.toml").exists()


def test_new_with_an_unknown_template_suggests_the_nearest(project: Project) -> None:
    refused = project.agentctl("new", "shop", "--template", "refnud")
    assert refused.code in {2, 3}
    refused.expect_error(refused.code, "refnud", "refund")
    assert not (project.root / "shop").exists()
