"""Projects on disk for the tests of `agentctl.project`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from agentctl.errors import ProjectError
from agentctl.project.config import load_project
from agentctl.project.model import Project

SHOP_TOML = """\
[project]
name = "shop"

[agents.Bot]
class = "shop.bot:Bot"

[agents.Bot.capabilities]
payments = "shop.world:Shop"
"""

SHOP_BOT = """\
from abc import abstractmethod

from agentctl import Agent, Capability, handler


class Payments(Capability):
    @abstractmethod
    async def refund(self, order_id: int) -> str: ...


class Bot(Agent):
    payments: Payments

    @handler
    async def request(self, order_id: int) -> str:
        return await self.payments.refund(order_id)
"""

SHOP_WORLD = """\
from shop.bot import Payments


class Shop(Payments):
    async def refund(self, order_id: int) -> str:
        return f"r{order_id}"
"""


class Folder:
    """A project's folder that a test fills."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, name: str, text: str) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
        return path

    def load(self, toml: str | None = None) -> Project:
        if toml is not None:
            self.write("kavach.toml", toml)
        return load_project(self.path)

    def refusal(self, toml: str) -> ProjectError:
        with pytest.raises(ProjectError) as caught:
            self.load(toml)
        return caught.value


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    (tmp_path / "project").mkdir()
    return Folder(tmp_path / "project")


@pytest.fixture
def shop(folder: Folder, fresh_imports: None) -> Folder:
    """A project with one agent and one capability, whose code can be imported."""
    folder.write("kavach.toml", SHOP_TOML)
    folder.write("shop/__init__.py", "")
    folder.write("shop/bot.py", SHOP_BOT)
    folder.write("shop/world.py", SHOP_WORLD)
    return folder


@pytest.fixture
def fresh_imports(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget the modules that a test imports from its project, and take back sys.path."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if not name.startswith("agentctl"):
            del sys.modules[name]


@pytest.fixture
def edit(shop: Folder) -> Callable[[str, str, str], None]:
    """Replace a text in one of the shop's files; it must be there."""

    def replace(name: str, old: str, new: str) -> None:
        text = (shop.path / name).read_text(encoding="utf-8")
        assert old in text
        (shop.path / name).write_text(text.replace(old, new), encoding="utf-8")

    return replace
