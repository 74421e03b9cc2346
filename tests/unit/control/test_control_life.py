"""The socket's own life: bound, left stale, removed by others, full, closed."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import stat
import struct
import time
from pathlib import Path

import msgspec
import pytest

from agentctl.engines.local.control.client import is_served
from agentctl.engines.local.control.credentials import peer_uid
from agentctl.engines.local.control.server import ControlServer, _room
from agentctl.errors import DiskTrouble


def asked(method, of=1):
    return msgspec.json.encode({"jsonrpc": "2.0", "id": of, "method": method})


def test_the_socket_is_for_its_owner_alone_and_goes_with_the_program(serve, folder):
    async def scene(served):
        mode = os.lstat(f"{folder}/control").st_mode
        assert stat.S_ISSOCK(mode)
        assert stat.S_IMODE(mode) == 0o600
        assert is_served(folder)

    serve(scene)
    assert os.listdir(folder) == []
    assert not is_served(folder)


def test_a_stale_socket_is_replaced(serve, folder):
    left_over = socket.socket(socket.AF_UNIX)
    left_over.bind(f"{folder}/control")
    left_over.close()
    assert not is_served(folder)

    async def scene(served):
        async with served.peers() as peer:
            assert (await peer.ask(asked("echo")))["id"] == 1

    serve(scene)


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_is_no_socket_is_left_alone(folder, kind):
    path = Path(folder, "control")
    path.mkdir() if kind == "folder" else path.write_text("mine")

    async def life():
        server = ControlServer(folder, {})
        with pytest.raises(DiskTrouble, match="can't be bound as a control socket"):
            await server.start()
        await server.close()

    asyncio.run(life())
    assert path.exists()


def test_there_must_be_a_folder(tmp_path):
    async def life():
        with pytest.raises(DiskTrouble, match="No such file"):
            await ControlServer(str(tmp_path / "none"), {}).start()

    asyncio.run(life())


def test_closing_twice_or_without_a_start_does_nothing(folder):
    async def life():
        server = ControlServer(folder, {})
        await server.close()
        server = ControlServer(folder, {})
        await server.start()
        await server.close()
        await server.close()
        again = ControlServer(folder, {})
        await again.start()
        await server.close()
        assert is_served(folder)
        await again.close()

    asyncio.run(life())
    assert os.listdir(folder) == []


def test_a_socket_that_somebody_removed_is_bound_anew(serve, folder):
    async def scene(served):
        async with served.peers() as peer:
            os.unlink(f"{folder}/control")
            assert (await peer.ask(asked("echo")))["id"] == 1
            await served.until(lambda: os.path.exists(f"{folder}/control"))
            async with served.peers() as other:
                assert (await other.ask(asked("echo")))["id"] == 1
            assert (await peer.ask(asked("echo")))["id"] == 1

    serve(scene, look_s=0.05)


def test_a_socket_that_cant_be_bound_anew_is_tried_again(serve, folder, monkeypatch):
    from agentctl.engines.local.control import server

    tries = []

    def none_yet(place):
        tries.append(place)
        if len(tries) < 3:
            raise DiskTrouble("not yet")

    async def scene(served):
        monkeypatch.setattr(server, "prepare", none_yet)
        os.unlink(f"{folder}/control")
        await served.until(lambda: os.path.exists(f"{folder}/control"))
        assert is_served(folder)
        assert len(tries) == 3

    serve(scene, look_s=0.02)


@pytest.mark.parametrize("there", ["nothing", "another folder", "another socket"])
def test_what_isnt_its_own_place_any_more_is_left_alone(serve, folder, there):
    other = socket.socket(socket.AF_UNIX)

    async def scene(served):
        os.rename(folder, f"{folder}.moved")
        if there != "nothing":
            os.mkdir(folder)
        if there == "another socket":
            other.bind(f"{folder}/control")
        before = os.listdir(folder) if there != "nothing" else None
        await asyncio.sleep(0.1)
        assert not os.path.exists(folder) if before is None else os.listdir(folder) == before

    serve(scene, look_s=0.02)
    other.close()


def test_closing_leaves_somebody_elses_socket(serve, folder):
    other = socket.socket(socket.AF_UNIX)

    async def scene(served):
        os.unlink(f"{folder}/control")
        other.bind(f"{folder}/control")

    serve(scene)
    assert os.path.exists(f"{folder}/control")
    other.close()


def test_closing_writes_what_is_done_and_cancels_what_waits(serve):
    async def scene(served):
        done = asyncio.Event()

        async def nearly(params):
            await done.wait()
            await asyncio.sleep(0)
            return "done"

        served.server._methods["nearly"] = nearly
        async with served.peers(3) as (one, two, silent):
            await one.send(asked("nearly") + b"\n")
            await two.send(asked("wait") + b"\n")
            await silent.send(b"{")
            await served.until(lambda: served.waiting == 1)
            await asyncio.sleep(0.02)
            done.set()
            began_s = time.monotonic()
            await served.server.close()
            assert time.monotonic() - began_s < 0.5
            assert (await one.line())["result"] == "done"
            assert await one.is_closed()
            assert await two.is_closed()
            assert served.cancelled == 1
            assert await silent.is_closed()

    serve(scene)


def test_closing_isnt_held_up_by_who_doesnt_read_or_doesnt_stop(serve):
    stubborn = asyncio.Event()

    async def ignore(params):
        while not stubborn.is_set():
            try:
                await stubborn.wait()
            except asyncio.CancelledError:
                continue

    async def large(params):
        return "x" * 4_000_000

    async def scene(served):
        async with served.peers(2) as (deaf, waiting):
            deaf.writer.transport.pause_reading()
            await deaf.send(asked("large") + b"\n")
            await waiting.send(asked("ignore") + b"\n")
            await asyncio.sleep(0.05)
            began_s = time.monotonic()
            await served.server.close()
            assert time.monotonic() - began_s < 1
            assert served.connections == 0
            stubborn.set()
            await asyncio.sleep(0.01)  # an answer that comes too late harms nobody

    serve(scene, methods={"ignore": ignore, "large": large})


def test_what_is_asked_while_closing_isnt_begun(serve):
    begun = []

    async def begin(params):
        begun.append(1)

    async def scene(served):
        async with served.peers() as peer:
            await peer.send(asked("wait") + b"\n")
            await served.until(lambda: served.waiting == 1)
            closing = asyncio.ensure_future(served.server.close())
            await asyncio.sleep(0.01)
            await peer.send(asked("begin") + b"\n")
            await closing
            assert await peer.is_closed()
            assert begun == []

    serve(scene, methods={"begin": begin})


def test_closing_at_once_after_a_peer_came(serve, folder):
    async def scene(served):
        peer = socket.socket(socket.AF_UNIX)
        peer.connect(f"{folder}/control")
        while not served.connections:
            await asyncio.sleep(0)
        await served.server.close()
        assert peer.recv(1) == b""
        peer.close()

    serve(scene)


def test_who_comes_when_all_places_are_taken_waits_for_one(serve, limits):
    async def scene(served):
        async with served.peers(2) as peers:
            for peer in peers:
                await peer.send(asked("wait") + b"\n")
            await served.until(lambda: served.waiting == 2)
            async with served.peers() as late:
                await late.send(asked("echo", 9) + b"\n")
                await asyncio.sleep(0.15)
                assert served.connections == 2
                await peers[0].close()
                assert (await late.line())["id"] == 9

    serve(scene, limits=limits(connections=2))


def test_who_is_idle_gives_its_place_to_who_comes(serve, limits, monkeypatch):
    from agentctl.engines.local.control import server

    monkeypatch.setattr(server, "_IDLE_S", 0.05)

    async def scene(served):
        async with served.peers(3) as (busy, idle, half):
            await busy.send(asked("wait") + b"\n")
            await half.send(b'{"json')
            await served.until(lambda: served.waiting == 1)
            await asyncio.sleep(0.1)
            async with served.peers() as late:
                assert (await late.ask(asked("echo")))["id"] == 1
                assert await idle.is_closed()
                served.let_go.set()
                assert (await busy.line())["result"] == "waited"

    serve(scene, limits=limits(connections=3))


def test_peers_take_at_most_half_of_the_files_that_may_be_open(monkeypatch):
    hard = resource.RLIM_INFINITY
    for soft, room in ((256, 128), (1024, 512), (1_000_000, 2048), (1, 1), (hard, 2048)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, soft=soft: (soft, hard))
        assert _room(2048) == room


def test_out_of_files_for_a_moment_loses_nobody(serve, folder):
    async def scene(served):
        bound = served.server._bound
        listening, calls = bound.sock, []

        class Failing:
            def fileno(self):
                return listening.fileno()

            def close(self):
                listening.close()

            def accept(self):
                calls.append(1)
                if len(calls) < 3:
                    raise OSError(24, "Too many open files")
                return listening.accept()

        bound.sock = Failing()
        async with served.peers() as peer:
            assert (await peer.ask(asked("echo")))["id"] == 1
        assert len(calls) >= 3

    serve(scene)


@pytest.mark.parametrize(("uid", "let_in"), [(os.geteuid(), True), (0, True), (12345, False)])
def test_only_the_same_user_and_root_are_let_in(serve, caplog, uid, let_in):
    async def scene(served):
        async with served.peers() as peer:
            try:
                answer = await peer.ask(asked("echo"))
            except ConnectionError:
                answer = None
            assert (answer is not None) == let_in

    serve(scene, uid_of=lambda sock: uid)
    assert ("turned away" in caplog.text) != let_in


def test_a_peer_whose_user_cant_be_told_is_not_let_in(serve):
    def gone(sock):
        raise OSError(107, "not connected")

    async def scene(served):
        async with served.peers() as peer:
            assert await peer.is_closed()

    serve(scene, uid_of=gone)


def test_a_mac_tells_the_user_in_its_own_way(monkeypatch):
    class Mac:
        def getsockopt(self, level, name, size):
            assert (level, name) == (0, 1)
            return struct.pack("=IIh2x16I", 0, 501, 1, *range(16))[:size]

    monkeypatch.setattr("sys.platform", "darwin")
    assert peer_uid(Mac()) == 501
