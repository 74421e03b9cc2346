"""Fixtures of the acceptance tests: projects in folders of their own, ended with the test."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from .desk import desk_in, serve
from .sailing import Fleet
from .shop import make_shop
from .support import Project


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """An empty project folder; what the test started there is killed at its end."""
    made = Project.create(tmp_path)
    yield made
    made.close()


@pytest.fixture
def shop(project: Project) -> Project:
    """The shop, never run."""
    return make_shop(project, audit=True)


@pytest.fixture(scope="module")
def open_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A module's desk, all its agents in one program; its tests use names and keys of their own."""
    with desk_in(tmp_path_factory.mktemp("desk")) as project:
        serve(project)
        yield project


def twin_of(master: Project, tmp_path: Path) -> Iterator[Project]:
    """Give a copy of a project, and end with the test what was started in it."""
    twin = master.copy_to(tmp_path / "twin")
    yield twin
    twin.close()


@pytest.fixture(scope="session")
def finished_shop_master(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = make_shop(Project.create(tmp_path_factory.mktemp("finished")), audit=True)
    made.agentctl("invoke", "Bot", "request", "7").expect(0)
    return made


@pytest.fixture
def finished_shop(finished_shop_master: Project, tmp_path: Path) -> Iterator[Project]:
    """The shop after one completed event and a graceful end."""
    yield from twin_of(finished_shop_master, tmp_path)


@pytest.fixture(scope="session")
def one_aside_master(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = make_shop(Project.create(tmp_path_factory.mktemp("one-aside")), audit=True, max_starts=2)
    made.agentctl("invoke", "Bot", "broken", "7").expect(1)
    made.until_set_aside(1)
    return made


@pytest.fixture
def one_aside(one_aside_master: Project, tmp_path: Path) -> Iterator[Project]:
    """Event 1 is set aside: its refund is on record, then a bug stopped it at every start."""
    yield from twin_of(one_aside_master, tmp_path)


@pytest.fixture(scope="session")
def two_aside_master(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = make_shop(Project.create(tmp_path_factory.mktemp("two-aside")), audit=True, max_starts=2)
    made.agentctl("invoke", "Bot", "broken", "7").expect(1)
    made.agentctl("invoke", "Bot", "broken", "8").expect(1)
    made.until_set_aside(2)
    return made


@pytest.fixture
def two_aside(two_aside_master: Project, tmp_path: Path) -> Iterator[Project]:
    """Events 1 and 2 are set aside."""
    yield from twin_of(two_aside_master, tmp_path)


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Commands without interpreter starts, for projects in which a program runs the code."""
    with desk_in(tmp_path_factory.mktemp("fleet"), "Clerk") as project:
        with tempfile.TemporaryDirectory(prefix="fleet") as short:
            yield Fleet(project, Path(short), "invocation", "list", "Clerk")
