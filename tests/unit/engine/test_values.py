"""R7: what can't be recorded is refused, with the call and the path; nothing named is run."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from typing import Any

import pytest

from agentctl import Agent, Capability, NotRecordable, Secret, bind, handler
from agentctl.storage.faulty import SimulatedDeath


class Api(Capability):
    async def items(self) -> Any: ...
    async def untyped(self): ...
    async def count(self) -> int: ...
    async def take(self, value: Any) -> None: ...
    async def secret(self) -> Secret[str]: ...
    async def kill(self) -> None: ...


class Real(Api):
    def __init__(self, value=None):
        self.value = value
        self.made = []
        self.dies = False

    async def items(self) -> Any:
        self.made.append("items")
        return self.value

    async def untyped(self):
        return self.value

    async def count(self) -> int:
        self.made.append("count")
        return self.value

    async def take(self, value: Any) -> None:
        self.made.append(("take", value))

    async def secret(self) -> Secret[str]:
        return Secret("hunter2")

    async def kill(self) -> None:
        self.made.append("kill")
        if self.dies:
            raise SimulatedDeath


class Bot(Agent):
    api: Api

    @handler
    async def items(self) -> str:
        try:
            await self.api.items()
        except NotRecordable as error:
            await self.api.kill()
            return f"{error.path}|{error}"
        return "recorded"

    @handler
    async def untyped(self) -> str:
        return repr(await self.api.untyped())

    @handler
    async def count(self) -> int:
        return await self.api.count()

    @handler
    async def passes(self) -> None:
        await self.api.take({"items": [1, socket]})

    @handler
    async def returns(self) -> dict[str, Any]:
        return {"client": object()}

    @handler
    async def secret(self) -> Secret[str]:
        return await self.api.secret()


def test_p7_a_result_that_can_t_be_recorded_names_the_path_and_the_record_says_it_was_made(
    world, request_of
):
    with socket.socket() as client:
        api = Real({"items": [{}, {"client": client}]})
        api.dies = True
        world.dies(bind(Bot, api=api), requests=[request_of(Bot, "items")])
    (error,) = [one for one in world.records() if "error" in one]
    assert error["type"] == "agentctl.errors.NotRecordable"
    assert "items[1].client" in error["text"]
    api.dies = False
    world.start(bind(Bot, api=api))
    (done,) = [one for one in world.records() if "done" in one]
    path, _, text = done["value"].partition("|")
    assert path == "items[1].client"
    assert text.startswith("Api.items returned items[1].client: socket")
    assert api.made == ["items", "kill", "kill"]


@pytest.mark.parametrize("value", ["7", 7.0, True, None, [7]])
def test_r7_nothing_is_silently_turned_into_another_type(world, value):
    ended = world.invoke(bind(Bot, api=Real(value)), "count")
    assert ended.status == "failed"
    assert ended.type == "agentctl.errors.NotRecordable"


@pytest.mark.parametrize("value", [(1, 2), {1: 2}, {1, 2}, float("nan"), b"x", object()])
def test_r7_without_an_annotation_only_plain_json_passes(world, value):
    assert world.invoke(bind(Bot, api=Real(value)), "untyped").status == "failed"


@pytest.mark.parametrize("value", [None, True, 7, 1.5, "é", [1, [2]], {"a": {"b": None}}])
def test_r7_plain_json_needs_no_annotation(world, value):
    ended = world.invoke(bind(Bot, api=Real(value)), "untyped")
    assert json.loads(ended.result) == repr(value)


def test_r7_an_argument_that_can_t_be_recorded_is_a_bug_and_nothing_is_called(world):
    api = Real()
    ended = world.invoke(bind(Bot, api=api), "passes")
    assert ended.status == "stuck"
    assert "Api.take, argument value: items[1]: module" in ended.text
    assert api.made == []


def test_r7_a_handler_s_result_that_can_t_be_recorded_is_a_bug(world):
    ended = world.invoke(bind(Bot, api=Real()), "returns")
    assert ended.status == "stuck"
    assert "Bot.returns: client: object" in ended.text


def test_r24_a_secret_is_recorded_and_not_shown(world):
    async def life():
        async with world.program(bind(Bot, api=Real())) as host:
            return await host.reference(Bot).secret()

    assert asyncio.run(life()).reveal() == "hunter2"
    assert "hunter2" not in world.folder_file("audit.log")


def test_p8_a_journal_that_names_modules_and_pickles_imports_and_runs_nothing(world, request_of):
    api = Real(7)
    api.dies = True

    class Careful(Agent):
        api: Api

        @handler
        async def run(self) -> str:
            try:
                await self.api.count()
            except Exception as error:
                seen = type(error).__name__
            await self.api.kill()
            return seen

    class Odd(Real):
        async def count(self) -> int:
            raise type("Boom", (Exception,), {"__module__": "antigravity"})("gASVKAAAAAAAAACM")

    odd = Odd()
    odd.dies = True
    world.dies(bind(Careful, api=odd), requests=[request_of(Careful, "run")])
    (error,) = [one for one in world.records("Careful") if "error" in one]
    assert error["type"] == "antigravity.Boom"
    odd.dies = False
    before = set(sys.modules)
    world.start(bind(Careful, api=odd))
    assert [one["value"] for one in world.records("Careful") if "done" in one] == ["CallFailed"]
    assert "antigravity" not in sys.modules
    assert set(sys.modules) == before
