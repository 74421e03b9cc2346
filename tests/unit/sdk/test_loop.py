"""A handler's loop is asyncio as programs know it, and leaves everybody else's asyncio alone."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys

from agentctl import Agent, Capability, handler, random
from agentctl.testing import Durable

COLOUR: contextvars.ContextVar[str] = contextvars.ContextVar("colour", default="none")


class Api(Capability):
    async def key(self) -> str: ...


class Real(Api):
    async def key(self) -> str:
        from agentctl import call_key

        return str(call_key())


class Bot(Agent):
    api: Api

    async def paint(self, colour: str) -> str:
        COLOUR.set(colour)
        return await self.api.key()

    @handler
    async def given(self) -> list[str]:
        ctx = contextvars.copy_context()
        key = await asyncio.create_task(self.paint("red"), context=ctx)
        return [key, ctx[COLOUR], COLOUR.get()]

    @handler
    async def shared(self) -> list[str]:
        ctx = contextvars.copy_context()
        one = asyncio.create_task(self.paint("red"), context=ctx)
        two = asyncio.create_task(self.paint("blue"), context=ctx)
        return [await self.api.key(), *await asyncio.gather(one, two), ctx[COLOUR]]

    @handler
    async def copied(self) -> list[str]:
        COLOUR.set("green")
        key = await asyncio.create_task(self.paint("red"))
        return [key, COLOUR.get()]

    @handler
    async def called_back(self) -> list[str]:
        made: list[asyncio.Task[str]] = []

        def call_back(_done: asyncio.Future[str]) -> None:
            made.append(asyncio.create_task(self.api.key()))

        first = asyncio.create_task(self.paint("red"))
        first.add_done_callback(call_back)
        own = await first
        await asyncio.sleep(0)
        return [own, await made[0], str(random() < 1)]


def run(name: str) -> list[str]:
    result: list[str] = Durable().run(Bot, name, api=Real())
    return result


def test_a_task_changes_the_context_that_it_is_given_as_in_asyncio():
    assert run("given") == ["Bot-1-1.1", "red", "none"]


def test_two_tasks_in_one_context_count_their_calls_each_for_itself():
    assert run("shared") == ["Bot-1-3", "Bot-1-1.1", "Bot-1-2.1", "blue"]


def test_a_task_that_is_given_no_context_changes_a_copy():
    assert run("copied") == ["Bot-1-1.1", "green"]


def test_a_callback_counts_what_it_starts_in_the_handler_s_own_branch():
    assert run("called_back") == ["Bot-1-1.1", "Bot-1-2", "True"]


def test_importing_agentctl_changes_nothing_of_asyncio_and_running_agents_does():
    code = """
import asyncio, threading
def patched():
    hashing = asyncio.tasks._GatheringFuture.__hash__
    return hashing, vars(threading).get("_start_new_thread")
before = patched()
from agentctl import Agent, bind
from agentctl.testing import Durable
assert before == patched()
class Bot(Agent): pass
async def main():
    async with Durable().host(bind(Bot)):
        one = asyncio.gather(asyncio.sleep(0))
        assert hash(one) == object.__hash__(one), "a gather outside of handlers hashes as ever"
        await one
asyncio.run(main())
print(before[0] is patched()[0])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("False\n", "")
