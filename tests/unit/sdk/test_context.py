"""Where code stands: what works in a handler only, says so elsewhere; what a handler can't do."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import threading
import time

import pytest

from agentctl import (
    Agent,
    Capability,
    attempt,
    call_key,
    handler,
    now,
    random,
    replaying,
    service_key,
    today,
    uuid4,
)
from agentctl.errors import AgentctlError, UsageError
from agentctl.testing import Durable


class Api(Capability):
    async def look(self) -> list[str]: ...


class Real(Api):
    async def look(self) -> list[str]:
        return [str(call_key()), str(attempt()), now().isoformat(), str(replaying())]


class Bot(Agent):
    api: Api

    @handler
    async def look(self) -> list[str]:
        return [*await self.api.look(), str(call_key()), str(attempt()), str(replaying())]

    @handler
    async def zone(self, name: str) -> str:
        return str(today(name))

    @handler
    async def reach(self, how: str) -> str:
        try:
            await REACHES[how](asyncio.get_running_loop())
        except Exception as error:
            return f"{type(error).__name__}: {error} | {getattr(error, 'hint', '')}"
        return "reached"

    @handler
    async def block(self, seconds: float) -> None:
        time.sleep(seconds)


async def a_socket(_loop):
    with socket.socket() as one:
        one.connect(("127.0.0.1", 9))


async def a_connection(_loop):
    await asyncio.open_connection("127.0.0.1", 9)


async def a_server(_loop):
    await asyncio.start_server(print, "127.0.0.1", 0)


async def a_lookup(_loop):
    socket.getaddrinfo("localhost", 80)


async def a_thread(_loop):
    threading.Thread(target=print).start()


async def to_thread(_loop):
    await asyncio.to_thread(print)


async def an_executor(loop):
    await loop.run_in_executor(None, print)


async def a_process(_loop):
    subprocess.Popen(["true"])


async def an_async_process(_loop):
    await asyncio.create_subprocess_exec("true")


async def a_shell(_loop):
    os.system("true")


async def a_fork(_loop):
    os.fork()


async def a_signal(loop):
    loop.add_signal_handler(10, print)


async def a_loop_of_its_own(loop):
    loop.run_until_complete(loop.create_future())


async def another_thread_s_call(loop):
    loop.call_soon_threadsafe(print)


REACHES = {
    one.__name__: one
    for one in (
        a_socket, a_connection, a_server, a_lookup, a_thread, to_thread, an_executor, a_process,
        an_async_process, a_shell, a_fork, a_signal, a_loop_of_its_own, another_thread_s_call,
    )
}  # fmt: skip


@pytest.fixture
def durable():
    return Durable()


@pytest.mark.parametrize("how", REACHES)
def test_h8_what_would_reach_around_the_journal_raises_and_says_what_to_use(durable, how):
    told = durable.run(Bot, "reach", how, api=Real())
    message, _, hint = told.partition(" | ")
    assert message.startswith("HandlerReach: a handler can't ")
    assert "capability's method" in message
    assert "docs/concepts.md" in hint


def test_h8_the_same_is_allowed_in_a_capability_and_outside(durable):
    class Reaching(Real):
        async def look(self) -> list[str]:
            thread = threading.Thread(target=int)
            thread.start()
            thread.join()
            await asyncio.to_thread(int)
            with socket.socket() as one:
                one.bind(("127.0.0.1", 0))
            return ["fine"]

    assert durable.run(Bot, "look", api=Reaching())[0] == "fine"
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()


def test_h8_a_handler_that_blocks_its_turn_is_named_in_a_warning(caplog):
    class Slow:
        """A clock by which each look at it takes two seconds."""

        def __init__(self):
            self.passed_s = 0.0

        def now_us(self):
            return 1_767_225_600_000_000

        def monotonic_s(self):
            self.passed_s += 2.0
            return self.passed_s

        def uptime(self):
            return None

        def attach(self, timers):
            pass

    from dataclasses import replace

    class OnSlow(Durable):
        def _options(self, base):
            return replace(super()._options(base), clock=Slow())

    OnSlow().run(Bot, "look", api=Real())
    assert "Bot#1 blocked its turn for 2.0 s" in caplog.text
    assert "@blocking" in caplog.text


def test_in_a_call_there_is_a_key_an_attempt_and_the_clock_s_time(durable):
    assert durable.run(Bot, "look", api=Real()) == [
        *("Bot-1-1", "1", "2026-01-01T00:00:00+00:00", "False"),
        *("None", "None", "False"),
    ]


def test_outside_there_is_nothing_of_it_and_the_time_is_python_s_own_matter():
    assert (call_key(), service_key(), attempt(), replaying()) == (None, None, None, False)
    for ask in (now, random, uuid4):
        with pytest.raises(AgentctlError, match="works in a handler") as refused:
            ask()
        assert refused.value.hint


def test_today_takes_a_zone_s_name_and_refuses_what_is_none(durable):
    assert durable.run(Bot, "zone", "Pacific/Kiritimati", api=Real()) == "2026-01-01"
    assert durable.run(Bot, "zone", "Pacific/Pago_Pago", api=Real()) == "2025-12-31"
    assert durable.run(Bot, "zone", "utc", api=Real()) == "2026-01-01"
    for wrong in ("Mars/Olympus", "", "../etc/passwd", "Europe"):
        with pytest.raises(Exception, match="no time zone") as refused:
            durable.run(Bot, "zone", wrong, api=Real())
        assert isinstance(refused.value.__cause__, UsageError)


def test_a_handler_called_on_self_is_a_plain_method_call_in_the_same_event(durable):
    class Outer(Agent):
        api: Api

        @handler
        async def outer(self) -> list[str]:
            return await self.inner()

        @handler
        async def inner(self) -> list[str]:
            return await self.api.look()

    assert durable.run(Outer, "outer", api=Real())[0] == "Outer-1-1"


def test_a_stub_works_only_within_its_own_event(durable):
    kept = []

    class Keeper(Agent):
        api: Api

        @handler
        async def keep(self) -> None:
            kept.append(self.api)

        @handler
        async def use(self) -> list[str]:
            return await kept[0].look()

    durable.run(Keeper, "keep", api=Real())
    with pytest.raises(BaseException, match="isn't running any more"):
        asyncio.run(kept[0].look())
    with pytest.raises(BaseException, match=r"isn't running any more|outside that event|stuck"):
        durable.run(Keeper, "use", api=Real())
