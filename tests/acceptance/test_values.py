"""Values and errors cross the journal as what they are, or are refused; none is run."""

from __future__ import annotations

import pytest

from .shop import make_agents
from .support import CRASH, Project

ODD_ERRORS = """
from __future__ import annotations

import os
from abc import abstractmethod

from agentctl import Agent, Capability, handler
from ledger import note


class Plain(Exception):
    def __init__(self, code, text, when):
        super().__init__(code, text, when)
        self.code = code


class Odd(Exception):
    def __init__(self, code, text, when):
        super().__init__(f"{code}: {text} ({when})")
        self.code = code


class World(Capability):
    @abstractmethod
    async def ask(self, which: str) -> str: ...

    @abstractmethod
    async def report(self, seen: str) -> None: ...


class Real(World):
    async def ask(self, which: str) -> str:
        note("ask", which)
        raise {"odd": Odd, "plain": Plain}[which](7, "no", "today")

    async def report(self, seen: str) -> None:
        note("report", seen)
        if os.environ.get("CUT"):
            os._exit(9)


class Bot(Agent):
    world: World

    @handler
    async def go(self, which: str) -> str:
        try:
            return await self.world.ask(which)
        except Exception as error:
            seen = f"{type(error).__name__} {error} {getattr(error, 'code', '-')}"
            await self.world.report(seen)
            return seen
"""


@pytest.mark.parametrize(("which", "names"), [("plain", {"Plain"}), ("odd", {"Odd", "CallFailed"})])
def test_p6_an_error_is_of_the_same_type_in_both_runs(
    project: Project, which: str, names: set[str]
) -> None:
    project.write("crew.py", ODD_ERRORS)
    make_agents(project, Bot="crew:Bot")
    project.agentctl("invoke", "Bot", "go", which, env={"CUT": "1"}).expect(CRASH)
    project.agentctl("run", "--until-idle").expect(0)
    first, second = project.ledger("report")
    assert first == second
    assert first.split()[1] in names
    assert "no" in first
    assert len(project.ledger("ask")) == 1


UNRECORDABLE = """
from __future__ import annotations

import os
import socket
from abc import abstractmethod
from typing import Any

from agentctl import Agent, Capability, handler
from ledger import note


class World(Capability):
    @abstractmethod
    async def load(self) -> dict[str, Any]: ...

    @abstractmethod
    async def report(self, seen: str) -> None: ...


class Real(World):
    async def load(self) -> dict[str, Any]:
        note("load")
        return {"items": [{}, {"client": socket.socket()}]}

    async def report(self, seen: str) -> None:
        note("report", seen)
        if os.environ.get("CUT"):
            os._exit(9)


class Bot(Agent):
    world: World

    @handler
    async def go(self) -> str:
        try:
            await self.world.load()
        except Exception as error:
            await self.world.report(str(error))
        return "done"

    @handler
    async def careless(self) -> str:
        await self.world.load()
        return "done"
"""


def test_p7_a_result_that_cannot_be_recorded_names_the_path(project: Project) -> None:
    project.write("crew.py", UNRECORDABLE)
    make_agents(project, Bot="crew:Bot")
    result = project.agentctl("invoke", "Bot", "careless").expect_error(1, "items[1].client")
    assert result.out == ""
    firsts = [next(iter(record.items())) for record in project.records()]
    assert ("call", "1-1") in firsts
    assert ("error", "1-1") in firsts, "no record that the call was made and ended"


def test_p7_a_call_whose_result_was_refused_is_not_made_again(project: Project) -> None:
    project.write("crew.py", UNRECORDABLE)
    make_agents(project, Bot="crew:Bot")
    project.agentctl("invoke", "Bot", "go", env={"CUT": "1"}).expect(CRASH)
    project.agentctl("run", "--until-idle").expect(0)
    assert project.ledger("load") == ["load"]
    first, second = project.ledger("report")
    assert first == second
    assert "items[1].client" in first


NAMES_A_MODULE = """
from __future__ import annotations

import os
from abc import abstractmethod
from typing import Any

from agentctl import Agent, Capability, handler
from ledger import note


class World(Capability):
    @abstractmethod
    async def load(self, value: dict[str, Any]) -> dict[str, Any]: ...

    @abstractmethod
    async def report(self) -> None: ...


class Real(World):
    async def load(self, value: dict[str, Any]) -> dict[str, Any]:
        note("load")
        import evil

        raise evil.Boom("from far away")

    async def report(self) -> None:
        note("report")
        if os.environ.get("CUT"):
            os._exit(9)


class Bot(Agent):
    world: World

    @handler
    async def go(self, value: dict[str, Any]) -> str:
        try:
            await self.world.load(value)
        except Exception:
            await self.world.report()
        return "done"
"""
PICKLES = """{"py/object":"evil.Boom","__class__":"evil.Boom","__reduce__":["evil.Boom",["x"]],\
"pickle":"gASVFgAAAAAAAACMBGV2aWyUjARCb29tlJOUKVKULg=="}"""


def test_p8_a_journal_that_names_a_module_never_gets_it_imported(project: Project) -> None:
    project.write("crew.py", NAMES_A_MODULE)
    project.write(
        "evil.py",
        """
        from ledger import note

        note("evil was imported")


        class Boom(Exception):
            def __init__(self, text):
                note("evil was built")
                super().__init__(text)
        """,
    )
    make_agents(project, Bot="crew:Bot")
    project.agentctl("invoke", "Bot", "go", PICKLES, env={"CUT": "1"}).expect(CRASH)
    journal = project.journal_path().read_text(encoding="utf-8")
    assert "evil.Boom" in journal, "the journal does not name the type: this test shows nothing"
    once = project.ledger("evil")
    project.agentctl("inspect", "journal", "Bot").expect(0)
    project.agentctl("inspect", "journal", "Bot", "--json").expect(0)
    project.agentctl("run", "--until-idle").expect(0)
    assert project.ledger("evil") == once
    assert project.ledger("load") == ["load"]
    assert len(project.ledger("report")) == 2
