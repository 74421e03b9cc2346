"""What a peer of the control socket gets for what it sends: answers, refusals, or the door."""

from __future__ import annotations

import asyncio
import logging

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentctl.engines.local.control.connection import Budget

MIB = 1024 * 1024


def asked(method, params=None, of=1):
    request = {"jsonrpc": "2.0", "id": of, "method": method, "params": params or {}}
    return msgspec.json.encode(request)


def test_a_request_is_answered_under_its_id(serve):
    async def scene(served):
        async with served.peers() as peer:
            assert await peer.ask(asked("echo", {"a": "é"}, "x")) == {
                "jsonrpc": "2.0",
                "id": "x",
                "result": {"a": "é"},
            }
            assert (await peer.ask(asked("sum", [1, 2], 2)))["result"] == 3
            without = b'{"method":"echo","id":null,"jsonrpc":"2.0"}'
            assert await peer.ask(without) == {"jsonrpc": "2.0", "id": None, "result": {}}

    serve(scene)


def test_answers_come_as_they_are_ready_not_as_they_were_asked(serve):
    async def scene(served):
        async with served.peers() as peer:
            await peer.send(asked("wait", of=1) + b"\n" + asked("echo", of=2) + b"\n")
            assert (await peer.line())["id"] == 2
            served.let_go.set()
            assert await peer.line() == {"jsonrpc": "2.0", "id": 1, "result": "waited"}

    serve(scene)


def test_a_notification_is_done_and_not_answered(serve):
    async def scene(served):
        async with served.peers() as peer:
            await peer.send(b'{"jsonrpc":"2.0","method":"no such"}\n')
            await peer.send(b'{"jsonrpc":"2.0","method":"wait"}\n')
            await served.until(lambda: served.waiting == 1)
            assert (await peer.ask(asked("echo", of=5)))["id"] == 5

    serve(scene)


@pytest.mark.parametrize(
    ("line", "code", "of"),
    [
        (b"garbage", -32700, None),
        (b"", -32700, None),
        (b"\xff\xfe{}", -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a" 1}}', -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"echo"', -32700, None),
        (b'["jsonrpc", ', -32700, None),
        (b"[]", -32600, None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"echo"}]', -32600, None),
        (b"null", -32600, None),
        (b'{"id":7}', -32600, 7),
        (b'{"jsonrpc":"1.0","id":7,"method":"echo"}', -32600, 7),
        (b'{"id":7,"method":"echo"}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":3}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":[1],"method":"echo"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":7,"method":"echo","params":3}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"echo","params":' + b"[" * 100_000, -32600, None),
        (b'{"jsonrpc":"2.0","id":7,"method":"no such"}', -32601, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"sum","params":{"a":1}}', -32602, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"sum","params":["\xff"]}', -32602, 7),
    ],
)
def test_what_is_no_request_is_answered_and_the_connection_goes_on(serve, line, code, of):
    async def scene(served):
        async with served.peers() as peer:
            answer = await peer.ask(line)
            assert (answer["error"]["code"], answer["id"]) == (code, of)
            assert answer["error"]["message"]
            assert (await peer.ask(asked("sum", [1])))["result"] == 1

    serve(scene)


def test_a_line_that_is_too_long_is_answered_and_ends_the_connection(serve):
    async def scene(served):
        async with served.peers(2) as (peer, other):
            await peer.send(b"x" * (16 * MIB + 1))
            answer = await peer.line()
            assert answer["error"]["code"] == -32700
            assert "longer than 16777216 bytes" in answer["error"]["message"]
            assert await peer.is_closed()
            assert (await other.ask(asked("echo")))["id"] == 1

    serve(scene)


def test_sixteen_mib_fit_and_come_in_any_pieces(serve):
    async def scene(served):
        async with served.peers() as peer:
            text = "x" * (16 * MIB - 100)
            request = asked("echo", [text])
            for begin in range(0, len(request), 999_983):
                await peer.send(request[begin : begin + 999_983])
            answer = await peer.ask(b"")
            assert answer["result"] == [text]

    serve(scene)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    pieces=st.lists(
        st.binary(min_size=1, max_size=200)
        | st.sampled_from([b"\n", b"{", b"[" * 3000, b"\0" * 500, b'"', asked("wait"), b"\n\n\n"]),
        min_size=1,
        max_size=12,
    )
)
def test_garbage_never_harms_the_program(serve, pieces):
    async def scene(served):
        async with served.peers(2) as (garbage, other):
            for piece in pieces:
                await garbage.send(piece)
            answer = await garbage.ask(b"\n" + asked("echo", {}, "the end"))
            while answer is not None and answer["id"] != "the end":
                assert "error" in answer
                answer = await garbage.line()
            assert answer is not None
            assert (await other.ask(asked("sum", [2])))["result"] == 2

    serve(scene)


def test_a_peer_that_is_silent_within_a_message_is_hung_up_on(serve, limits):
    async def scene(served):
        async with served.peers(3) as (half, silent, busy):
            await half.send(b'{"jsonrpc":')
            await busy.send(asked("wait") + b"\n")
            assert await half.is_closed()
            served.let_go.set()
            assert (await busy.line())["result"] == "waited"
            assert (await silent.ask(asked("echo")))["id"] == 1

    serve(scene, limits=limits(patience_s=0.1))


def test_a_peer_that_drips_is_hung_up_on_as_well(serve, limits):
    async def scene(served):
        async with served.peers() as peer:

            async def drip():
                while True:
                    await peer.send(b"x")
                    await asyncio.sleep(0.02)

            with pytest.raises(ConnectionError):
                await asyncio.wait_for(drip(), 5)

    serve(scene, limits=limits(patience_s=0.1))


def test_whole_messages_one_after_another_have_each_their_own_time(serve, limits):
    async def scene(served):
        async with served.peers() as peer:
            request = asked("echo") + b"\n"
            await peer.send(request[:10])
            for _ in range(12):
                await asyncio.sleep(0.05)
                await peer.send(request[10:] + request[:10])
                assert (await peer.line())["id"] == 1

    serve(scene, limits=limits(patience_s=0.3))


def test_a_peer_that_never_reads_is_no_longer_read_from_and_then_hung_up_on(serve, limits):
    seen = []

    async def scene(served):
        async with served.peers(2) as (deaf, other):
            deaf.writer.transport.pause_reading()

            async def flood():
                while True:
                    await deaf.send(asked("echo", ["x" * 50_000]) + b"\n")
                    seen.append(served.held)

            with pytest.raises(ConnectionError):
                await asyncio.wait_for(flood(), 5)
            assert (await other.ask(asked("echo")))["id"] == 1
            await served.until(lambda: served.connections == 1)

    serve(scene, limits=limits(patience_s=0.3))
    assert max(seen) < 2 * MIB


def test_what_all_peers_hold_together_is_bounded(serve, limits):
    async def scene(served):
        async with served.peers(4) as (first, second, third, fourth):
            for peer in (first, second):
                await peer.send(b"x" * (MIB - 50_000))
            await served.until(lambda: served.held > 1_900_000)
            await third.send(b"x" * 200_000)
            assert "too much" in (await third.line())["error"]["message"]
            assert await third.is_closed()
            assert 1_900_000 < served.held <= 2 * MIB
            assert (await fourth.ask(asked("echo")))["id"] == 1  # a small one always fits

    serve(scene, limits=limits(held=2 * MIB))


def test_answers_that_nobody_reads_are_bounded_too(serve, limits):
    async def large(params):
        return "x" * 3_000_000

    async def scene(served):
        async with served.peers(2) as (deaf, other):
            deaf.writer.transport.pause_reading()
            for _ in range(3):
                await deaf.send(asked("large") + b"\n")
            await served.until(lambda: served.connections == 1)
            assert (await other.ask(asked("large")))["result"] == "x" * 3_000_000

    serve(scene, methods={"large": large}, limits=limits(held=8 * MIB))


def test_a_fault_of_our_own_ends_one_connection_and_is_logged(serve, caplog, monkeypatch):
    from agentctl.engines.local.control import connection

    async def scene(served):
        async with served.peers(2) as (one, other):
            with monkeypatch.context() as patched:
                patched.setattr(connection, "read_request", lambda line: 1 // 0)
                assert await one.ask(asked("echo")) is None
            assert (await other.ask(asked("echo")))["id"] == 1

    serve(scene)
    assert "the control socket dropped a peer" in caplog.text


def test_a_budget_gives_each_a_little_and_all_no_more_than_there_is():
    budget = Budget(100_000)
    assert budget.change(0, 16 * 1024)
    assert budget.left == 100_000
    assert budget.change(16 * 1024, 116_384)
    assert budget.left == 0
    assert not budget.change(0, 16 * 1024 + 1)
    assert budget.change(0, 16 * 1024)
    assert budget.change(116_384, 0)
    assert budget.left == 100_000


def test_what_methods_work_on_at_once_is_bounded(serve, limits):
    async def scene(served):
        async with served.peers(2) as (peer, other):
            for number in range(60):
                await peer.send(asked("wait", of=number) + b"\n")
            refused = (await peer.line())["id"]
            answers = [await peer.line() for _ in range(refused + 1, 60)]
            assert [answer["id"] for answer in answers] == list(range(refused + 1, 60))
            assert {answer["error"]["message"] for answer in answers} == {
                "too much is being asked at once"
            }
            assert served.waiting == refused < 55  # 200 kB, 4 KiB and a bit for each
            assert (await other.ask(asked("echo")))["id"] == 1  # a small one always fits
            served.let_go.set()
            assert {(await peer.line())["id"] for _ in range(refused)} == set(range(refused))
            assert (await peer.ask(asked("echo")))["id"] == 1

    serve(scene, limits=limits(under_way=200_000))


def test_large_requests_that_wait_are_bounded(serve, limits):
    async def scene(served):
        async with served.peers() as peer:
            for number in range(4):
                await peer.send(asked("wait", ["x" * MIB], number) + b"\n")
            answer = await peer.line()
            assert (answer["id"], answer["error"]["code"]) == (3, -32000)
            served.let_go.set()
            assert {(await peer.line())["id"] for _ in range(3)} == {0, 1, 2}

    serve(scene, limits=limits(under_way=7 * MIB // 2))


def test_who_hangs_up_takes_back_what_waits_and_nobody_elses(serve):
    async def scene(served):
        async with served.peers(2) as (leaving, staying):
            await leaving.send(asked("wait") + b"\n" + asked("wait", of=2) + b"\n")
            await staying.send(asked("wait") + b"\n")
            await served.until(lambda: served.waiting == 3)
            await leaving.close()
            await served.until(lambda: served.cancelled == 2)
            assert served.waiting == 1
            served.let_go.set()
            assert (await staying.line())["result"] == "waited"

    serve(scene)


class Unshowable(Exception):
    def __str__(self):
        raise KeyError("no text")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ZeroDivisionError("by zero"), "ZeroDivisionError: by zero"),
        (ValueError(), "ValueError"),
        (Unshowable(), "Unshowable: it can't be shown (KeyError)"),
        (asyncio.CancelledError(), "CancelledError"),
    ],
)
def test_what_a_method_raises_is_told_and_the_program_goes_on(serve, caplog, error, message):
    async def fail(params):
        raise error

    async def scene(served):
        async with served.peers() as peer:
            answer = await peer.ask(asked("fail"))
            assert answer["error"] == {"code": -32603, "message": message}
            assert (await peer.ask(asked("echo")))["id"] == 1

    with caplog.at_level(logging.ERROR, "agentctl"):
        serve(scene, methods={"fail": fail})
    if not isinstance(error, asyncio.CancelledError):
        assert "the control socket's method fail raised" in caplog.text


def test_an_answer_that_cant_be_written_down_is_told_too(serve, caplog):
    async def odd(params):
        return object()

    async def scene(served):
        async with served.peers() as peer:
            answer = await peer.ask(asked("odd"))
            assert answer["error"]["code"] == -32603
            assert "TypeError" in answer["error"]["message"]

    serve(scene, methods={"odd": odd})


def test_an_answer_that_is_too_large_is_told_too(serve):
    async def huge(params):
        return "x" * (65 * MIB)

    async def scene(served):
        async with served.peers() as peer:
            answer = await peer.ask(asked("huge"))
            assert "is done, but its answer is too large" in answer["error"]["message"]
            assert "at most 67108864" in answer["error"]["message"]
            assert "a file" in answer["error"]["data"]["hint"]

    serve(scene, methods={"huge": huge})


def test_a_method_in_which_the_program_dies_has_no_answer(serve):
    class Death(BaseException):
        pass

    async def die(params):
        raise Death

    async def scene(served):
        async with served.peers() as peer:
            assert await peer.ask(asked("die")) is None

    serve(scene, methods={"die": die})
