"""What a handler hears on replay is what it heard first; what can't be replayed is refused."""

from __future__ import annotations

from .shop import make_agents
from .support import CRASH, Project

AROUND = """
from __future__ import annotations

import asyncio
import signal
from abc import abstractmethod

from agentctl import Agent, Capability, handler


class World(Capability):
    @abstractmethod
    async def nothing(self) -> None: ...


class Real(World):
    async def nothing(self) -> None: ...


async def attempt(how: str) -> object:
    if how == "socket":
        return await asyncio.open_connection("127.0.0.1", 9)
    if how == "server":
        return await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0)
    if how == "thread":
        return await asyncio.to_thread(print, "in a thread")
    if how == "executor":
        return await asyncio.get_running_loop().run_in_executor(None, print, "in a thread")
    if how == "subprocess":
        return await asyncio.create_subprocess_exec("true")
    if how == "shell":
        return await asyncio.create_subprocess_shell("true")
    return asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, print)


class Bot(Agent):
    world: World

    @handler
    async def caught(self, ways: list[str]) -> list[str]:
        heard = []
        for how in ways:
            try:
                await attempt(how)
                heard.append("it worked")
            except Exception as error:
                heard.append(str(error))
        return heard

    @handler
    async def go(self, how: str) -> None:
        await attempt(how)
"""
WAYS = '["socket","server","thread","executor","subprocess","shell","signal"]'


def test_h8_what_goes_around_the_journal_raises_and_says_what_to_use(project: Project) -> None:
    project.write("crew.py", AROUND)
    make_agents(project, Bot="crew:Bot")
    result = project.agentctl("invoke", "Bot", "caught", WAYS).expect(0)
    assert "in a thread" not in result.both
    assert len(result.json) == 7
    for text in result.json:
        assert "capability" in text.lower(), f"does not say what to use instead: {text!r}"


def test_h8_uncaught_it_stops_the_event_as_a_bug(project: Project) -> None:
    project.write("crew.py", AROUND)
    make_agents(project, Bot="crew:Bot")
    result = project.agentctl("invoke", "--json", "Bot", "go", "thread").expect(1)
    assert result.error_json["status"] == "stuck"
    assert result.out == ""


GROUPS = """
from __future__ import annotations

import asyncio
from abc import abstractmethod

from agentctl import Agent, AgentError, Capability, handler
from ledger import note


class Declined(AgentError):
    pass


class World(Capability):
    @abstractmethod
    async def charge(self, name: str) -> None: ...


class Real(World):
    async def charge(self, name: str) -> None:
        note("charge", name)
        raise Declined(f"{name} declined")


class Bot(Agent):
    world: World

    async def forgetful(self) -> None:
        try:
            await self.world.charge("c")
        except Declined:
            raise KeyError("total") from None

    @handler
    async def declared(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.world.charge("a"))
            group.create_task(self.world.charge("b"))

    @handler
    async def mixed(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.forgetful())
"""


def test_h10_declared_errors_in_a_task_group_fail_the_event(project: Project) -> None:
    project.write("crew.py", GROUPS)
    make_agents(project, Bot="crew:Bot")
    result = project.agentctl("invoke", "--json", "Bot", "declared").expect(1)
    assert result.error_json["status"] == "failed"
    assert "declined" in result.err
    before = project.ledger()
    project.agentctl("run", "--until-idle").expect(0)
    assert project.ledger() == before, "a failed event ran again"


def test_h10_a_key_error_in_a_task_group_is_a_bug(project: Project) -> None:
    project.write("crew.py", GROUPS)
    make_agents(project, Bot="crew:Bot")
    result = project.agentctl("invoke", "--json", "Bot", "mixed").expect(1)
    assert result.error_json["status"] == "stuck"
    bug = next(record for record in project.records() if "bug" in record)
    assert bug["bug"] == 1
    assert "total" in bug["text"]
    project.edit("crew.py", 'raise KeyError("total") from None', "return")
    project.agentctl("run", "--until-idle").expect(0)
    assert "Bot completed: event #1 of mixed" in "\n".join(project.audit())
    assert project.ledger() == ["charge c"], "a recorded call was made again"


CACHE = """
from __future__ import annotations

import asyncio
import os
from abc import abstractmethod

from agentctl import Agent, Capability, handler, start
from ledger import note


class World(Capability):
    @abstractmethod
    async def fetch(self, name: str) -> str: ...

    @abstractmethod
    async def report(self, order: int, value: str) -> None: ...


class Real(World):
    async def fetch(self, name: str) -> str:
        note("fetch", name)
        return name.upper()

    async def report(self, order: int, value: str) -> None:
        note("report", order, value)
        if os.environ.get("CUT") and order == 2:
            os._exit(9)


class Bot(Agent):
    world: World
    _cache: dict[str, str]

    @handler
    async def look(self, order: int, name: str) -> None:
        if not hasattr(self, "_cache"):
            self._cache = {}
        if name not in self._cache:
            self._cache[name] = await self.world.fetch(name)
        await self.world.report(order, self._cache[name])


async def main() -> None:
    async with start(Bot, world=Real()) as bot:
        await bot.look(1, "a")
        await bot.look(2, "a")


if __name__ == "__main__":
    asyncio.run(main())
"""


def test_h11_what_one_event_cached_the_next_does_not_see(project: Project) -> None:
    project.write("crew.py", CACHE)
    make_agents(project, Bot="crew:Bot")
    assert project.python("crew.py", env={"CUT": "1"}).code == CRASH
    assert project.ledger("fetch") == ["fetch a", "fetch a"], "the second event read a cache"
    project.agentctl("run", "--until-idle").expect(0)
    assert project.ledger("fetch") == ["fetch a", "fetch a"]
    assert project.ledger("report")[-1] == "report 2 A"
