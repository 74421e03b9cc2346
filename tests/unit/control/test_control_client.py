"""Asking a holder, with and without an event loop of one's own."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import time

import msgspec
import pytest

from agentctl.engines.local.control.asking import AsyncControl
from agentctl.engines.local.control.client import Control, is_served
from agentctl.engines.local.control.trouble import ControlGone
from agentctl.errors import AgentctlError, NotFound, UsageError


class Question(msgspec.Struct):
    about: str
    times: int = 1


class Reply(msgspec.Struct):
    text: str


async def reply(params):
    question = msgspec.json.decode(params, type=Question)
    return Reply(question.about * question.times)


async def refuse(params):
    raise NotFound("there is no event 7", hint="agentctl invocation list Bot")


METHODS = {"reply": reply, "refuse": refuse}


class Blocking:
    """The blocking client, awaited in a thread so that one test serves both."""

    def __init__(self, folder, in_thread):
        self.folder, self.in_thread = folder, in_thread

    async def __aenter__(self):
        self.control = await self.in_thread(Control.connect, self.folder)
        return self

    async def __aexit__(self, *_):
        self.control.close()

    async def call(self, method, params, returns, timeout_s=None):
        return await self.in_thread(self.control.call, method, params, returns, timeout_s)

    @property
    def heard(self):
        return self.control.heard


@pytest.fixture(params=["blocking", "asyncio"])
def connect(request, in_thread):
    async def connected(folder):
        if request.param == "asyncio":
            return await AsyncControl.connect(folder)
        return Blocking(folder, in_thread)

    return connected


def test_a_call_comes_back_as_the_type_that_was_asked_for(serve, connect):
    async def scene(served):
        async with await connect(served.folder) as control:
            assert await control.call("reply", Question("é", 2), Reply) == Reply("éé")
            assert await control.call("reply", {"about": "x"}, dict) == {"text": "x"}
            assert control.heard == 2

    serve(scene, methods=METHODS)


def test_what_a_method_raises_is_raised_here(serve, connect):
    async def scene(served):
        async with await connect(served.folder) as control:
            with pytest.raises(NotFound, match="no event 7") as caught:
                await control.call("refuse", {}, dict)
            assert caught.value.hint == "agentctl invocation list Bot"
            assert await control.call("reply", {"about": "x"}, Reply) == Reply("x")

    serve(scene, methods=METHODS)


def test_a_program_of_another_version_is_said_to_be_one(serve, connect):
    async def scene(served):
        async with await connect(served.folder) as control:
            for method, returns in (("no such", dict), ("reply", dict), ("echo", Reply)):
                with pytest.raises(AgentctlError, match="the program that holds") as caught:
                    await control.call(method, {}, returns)
                assert caught.value.exit_code == 70
                assert "another version" in caught.value.hint

    serve(scene, methods=METHODS)


def test_a_call_that_takes_too_long_leaves_the_connection_usable(serve, connect):
    async def scene(served):
        async with await connect(served.folder) as control:
            with pytest.raises(TimeoutError):
                await control.call("wait", {}, str, timeout_s=0.05)
            served.let_go.set()
            assert await control.call("reply", {"about": "x"}, Reply, timeout_s=5) == Reply("x")

    serve(scene, methods=METHODS)


def test_a_time_that_is_up_already_asks_nothing_more(serve, connect):
    async def scene(served):
        async with await connect(served.folder) as control:
            with pytest.raises(TimeoutError):
                await control.call("wait", {}, str, timeout_s=0)

    serve(scene)


def test_too_large_a_request_is_refused_here(serve, connect):
    async def scene(served):
        async with await connect(served.folder) as control:
            with pytest.raises(UsageError, match="too large to be handed"):
                await control.call("echo", ["x" * (16 * 1024 * 1024)], list)
            large = "x" * (16 * 1024 * 1024 - 100)
            assert await control.call("echo", [large], list) == [large]

    serve(scene)


def test_a_holder_that_ends_before_the_answer_is_gone(serve, connect):
    async def scene(served):
        async with await connect(served.folder) as control:
            asked = asyncio.ensure_future(control.call("wait", {}, str))
            await served.until(lambda: served.waiting == 1)
            await served.server.close()
            with pytest.raises(ControlGone, match="broke") as caught:
                await asked
            assert caught.value.exit_code == 5
            with pytest.raises(ControlGone):
                await control.call("echo", {}, dict)

    serve(scene)


def test_where_nobody_listens_nobody_is_reached(folder, connect):
    async def life():
        with pytest.raises(ControlGone, match="no program listens"):
            async with await connect(folder):
                pass

    asyncio.run(life())
    assert not is_served(folder)
    assert not is_served(f"{folder}/none")


class Odd(threading.Thread):
    """What listens there isn't agentctl: answers each request with the same bytes."""

    def __init__(self, folder, *answers):
        super().__init__(daemon=True)
        self.answers = answers
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(f"{folder}/control")
        self.listening.listen()
        self.start()

    def run(self):
        peer, _ = self.listening.accept()
        with peer:
            for answer in self.answers:
                peer.recv(65536)
                peer.sendall(answer)
        self.listening.close()


@pytest.mark.parametrize(
    "answers",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\xff\n",
        b"[" * 5000 + b"\n",
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}\n',
        b'{"jsonrpc":"2.0","id":1',
        b"",
    ],
)
def test_what_doesnt_answer_as_agreed_is_gone(folder, connect, answers):
    odd = Odd(folder, answers)

    async def life():
        async with await connect(folder) as control:
            with pytest.raises(ControlGone):
                await control.call("echo", {}, dict)

    asyncio.run(life())
    odd.join()


def test_an_answer_without_an_end_is_gone(folder, connect, monkeypatch):
    for module in ("client", "asking"):
        name = f"agentctl.engines.local.control.{module}.LONGEST_ANSWER"
        monkeypatch.setattr(name, 1000)
    odd = Odd(folder, b"x" * 1001)

    async def life():
        async with await connect(folder) as control:
            with pytest.raises(ControlGone, match="longer than 1000"):
                await control.call("echo", {}, dict)

    asyncio.run(life())
    odd.join()


def test_answers_to_others_are_passed_over(folder, connect):
    other = b'{"jsonrpc":"2.0","id":99,"result":0}\n{"jsonrpc":"2.0","id":"x","result":0}\n'
    odd = Odd(folder, other + b'{"jsonrpc":"2.0","id":1,"result":{}}\n')

    async def life():
        async with await connect(folder) as control:
            assert await control.call("echo", {}, dict) == {}

    asyncio.run(life())
    odd.join()


def test_a_program_of_another_user_is_no_holder(serve, connect, monkeypatch):
    monkeypatch.setattr("agentctl.engines.local.control.client.peer_uid", lambda sock: 12345)

    async def scene(served):
        with pytest.raises(ControlGone, match="a program of the user 12345 listens there"):
            async with await connect(served.folder):
                pass

    serve(scene)


def test_a_full_queue_is_waited_for(folder, connect, monkeypatch):
    monkeypatch.setattr(Control.connect.__func__, "__defaults__", (0.2,))
    monkeypatch.setattr(AsyncControl.connect.__func__, "__defaults__", (0.2,))
    full = socket.socket(socket.AF_UNIX)
    full.bind(f"{folder}/control")
    full.listen(0)
    first = socket.socket(socket.AF_UNIX)
    first.connect(f"{folder}/control")

    async def life():
        began_s = time.monotonic()
        with pytest.raises(ControlGone, match="lets nobody in"):
            async with await connect(folder):
                pass
        assert 0.15 < time.monotonic() - began_s < 2

    asyncio.run(life())
    first.close()
    full.close()


def test_many_calls_share_one_connection(serve):
    async def scene(served):
        async with await AsyncControl.connect(served.folder) as control:
            waiting = asyncio.ensure_future(control.call("wait", {}, str))
            calls = [control.call("echo", {"n": n}, dict[str, int]) for n in range(200)]
            assert await asyncio.gather(*calls) == [{"n": n} for n in range(200)]
            assert not waiting.done()
            served.let_go.set()
            assert await waiting == "waited"

    serve(scene)


def test_closing_ends_what_still_waits(serve):
    async def scene(served):
        control = await AsyncControl.connect(served.folder)
        waiting = asyncio.ensure_future(control.call("wait", {}, str))
        await served.until(lambda: served.waiting == 1)
        await control.close()
        with pytest.raises(ControlGone, match="closed here"):
            await waiting
        await control.close()
        await served.until(lambda: served.cancelled == 1)

    serve(scene)


def test_a_request_that_is_broken_off_ends_the_connection(folder):
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(f"{folder}/control")
    listening.listen()

    async def life():
        async with await AsyncControl.connect(folder) as control:
            with pytest.raises(TimeoutError):
                await control.call("echo", ["x" * 5_000_000], list, timeout_s=0.05)
            with pytest.raises(ControlGone, match="broken off"):
                await control.call("echo", {}, dict)

    asyncio.run(life())
    with Control.connect(folder) as control:
        with pytest.raises(TimeoutError):
            control.call("echo", ["x" * 5_000_000], list, timeout_s=0.05)
        with pytest.raises(ControlGone):
            control.call("echo", {}, dict)
    listening.close()


def test_asking_needs_no_event_loop():
    code = (
        "import sys, json; from agentctl.engines.local.control import Control, reach;"
        "print(json.dumps([m for m in ('asyncio', 'rich', 'pydantic') if m in sys.modules]))"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=env)
    assert json.loads(out.stdout) == []


def test_the_package_has_no_other_names():
    from agentctl.engines.local import control

    assert control.AsyncControl is AsyncControl
    with pytest.raises(AttributeError, match="no attribute 'Other'"):
        _ = control.Other
