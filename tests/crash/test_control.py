"""The control socket between real processes: kills, floods, crowds, and other users."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from agentctl.engines.local.control.asking import AsyncControl
from agentctl.engines.local.control.client import Control, Patience, is_served
from agentctl.engines.local.control.trouble import ControlGone
from agentctl.times import SystemClock

MIB = 1024 * 1024
PROGRAM = Path(__file__).with_name("control_program.py")


@pytest.fixture
def folder():
    # Not tmp_path: other runs of pytest take everybody else's access to what is above it away.
    with tempfile.TemporaryDirectory() as root:
        path = Path(root, "agents", "Bot")
        path.mkdir(parents=True, mode=0o700)
        yield str(path)


@pytest.fixture
def serve(folder):
    """Start a program that serves the folder."""
    started = []

    def start(*arguments):
        process = subprocess.Popen(
            [sys.executable, str(PROGRAM), folder, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        started.append(process)
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def rss(process):
    """How much memory a process takes up, and the most that it ever did, in bytes."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    found = dict(line.split(":", 1) for line in status.splitlines())
    return tuple(int(found[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM"))


def in_background(work, *args):
    """Run something in a thread; its result or error is in the list, once it ended."""
    told = []

    def run():
        try:
            told.append(work(*args))
        except Exception as error:
            told.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, told


def test_kill_9_before_the_answer_is_heard_by_who_waits(serve, folder):
    process = serve()
    with Control.connect(folder) as control:
        thread, told = in_background(control.call, "wait", {}, str)
        assert process.stdout.readline() == "waiting\n"
        process.kill()
        thread.join(5)
    assert isinstance(told[0], ControlGone)
    process.wait()
    assert os.path.exists(f"{folder}/control")  # stale
    assert not is_served(folder)
    serve()
    assert is_served(folder)


def test_kill_9_within_an_answer_is_heard_by_who_reads_it(serve, folder):
    process = serve()
    peer = socket.socket(socket.AF_UNIX)
    peer.connect(f"{folder}/control")
    peer.sendall(b'{"jsonrpc":"2.0","id":1,"method":"large"}\n')
    assert peer.recv(1000).startswith(b'{"jsonrpc":"2.0","id":1,"result":"xxx')
    process.kill()
    process.wait()
    control = Control(peer, None)
    with pytest.raises(ControlGone), control:
        control._next_line(Patience(SystemClock(), None, None))


def test_a_child_that_was_forked_keeps_nobody_waiting(serve, folder):
    process = serve()
    with Control.connect(folder) as control:
        thread, told = in_background(control.call, "wait", {}, str)
        assert process.stdout.readline() == "waiting\n"
        process.stdin.write("fork\n")
        process.stdin.flush()
        child = int(process.stdout.readline())
        try:
            assert is_served(folder)  # by the parent, as before
            process.kill()
            thread.join(5)
            assert isinstance(told[0], ControlGone)
            process.wait()
            assert not is_served(folder)
            os.kill(child, 0)
        finally:
            os.kill(child, signal.SIGKILL)


def flood(folder, block, until):
    """Send so many bytes, over as many connections as it takes."""
    sent = 0
    while sent < until:
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(f"{folder}/control")
            peer.settimeout(20)
            try:
                while sent < until:
                    peer.sendall(block)
                    sent += len(block)
                    if b"\n" in block:
                        assert peer.recv(65536)
            except (BrokenPipeError, ConnectionResetError):
                pass  # it was hung up on: the next one
    return sent


@pytest.mark.parametrize(
    "block",
    [b"x" * 65536, (b"x" * 1000 + b"\n") * 64, b"[" * 65536],
    ids=["no-end", "garbage-lines", "deep"],
)
def test_a_flood_neither_grows_the_program_nor_holds_it_up(serve, folder, block):
    process = serve()
    with Control.connect(folder) as control:
        control.call("echo", {}, dict)
        before, _ = rss(process)
        began_s = time.monotonic()
        thread, told = in_background(flood, folder, block, 200 * MIB)
        slowest_s, calls = 0.0, 0
        while thread.is_alive():
            asked_s = time.monotonic()
            assert control.call("echo", {"n": calls}, dict, timeout_s=5) == {"n": calls}
            slowest_s = max(slowest_s, time.monotonic() - asked_s)
            calls += 1
        took_s = time.monotonic() - began_s
    assert told[0] >= 200 * MIB
    assert took_s < 60
    assert calls > 20
    assert slowest_s < 1
    _, most = rss(process)
    assert most - before < 64 * MIB


def test_silent_peers_with_half_a_message_each_stay_within_bounds(serve, folder):
    process = serve()
    before, _ = rss(process)
    peers = []
    for _ in range(40):
        peer = socket.socket(socket.AF_UNIX)
        peers.append(peer)
        peer.settimeout(5)
        peer.connect(f"{folder}/control")
        try:
            peer.sendall(b"x" * (15 * MIB))
        except (BrokenPipeError, ConnectionResetError):
            pass  # no more room
    with Control.connect(folder) as control:
        assert control.call("echo", {"a": 1}, dict, timeout_s=5) == {"a": 1}
    _, most = rss(process)
    assert most - before < 112 * MIB
    for peer in peers:
        peer.close()


@pytest.mark.parametrize("files", ["20000", "256"], ids=["many-files", "few-files"])
def test_a_thousand_at_once_have_each_its_answer(serve, folder, files):
    process = serve(files)

    async def one(number):
        async with await AsyncControl.connect(folder, timeout_s=60) as control:
            return await control.call("echo", {"n": number}, dict[str, int], timeout_s=60)

    async def crowd():
        return await asyncio.gather(*(one(number) for number in range(1000)))

    began_s = time.monotonic()
    assert asyncio.run(crowd()) == [{"n": number} for number in range(1000)]
    assert time.monotonic() - began_s < 30
    assert is_served(folder)
    assert process.poll() is None


OTHER_USER = """
import os, socket, sys
os.setgroups([])
os.setgid(12345)
os.setuid(12345)
peer = socket.socket(socket.AF_UNIX)
peer.settimeout(5)
try:
    peer.connect(sys.argv[1])
    peer.sendall(b'{"jsonrpc":"2.0","id":1,"method":"echo"}\\n')
    print(peer.recv(1000))
except OSError as error:
    print(type(error).__name__)
"""


TURNED_AWAY = ("b''", "ConnectionResetError", "BrokenPipeError")


def as_other_user(path):
    command = [sys.executable, "-c", OTHER_USER, path]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_cant_ask(serve, folder):
    serve()
    opened = [f"{folder}/control", *map(str, Path(folder, "control").parents)][:-2]
    modes = {path: os.stat(path).st_mode for path in opened}
    try:
        for path in opened[:0:-1]:
            os.chmod(path, 0o755)
            assert as_other_user(f"{folder}/control") == "PermissionError"
        os.chmod(f"{folder}/control", 0o666)
        # The modes no longer keep it out; its credentials do.
        assert as_other_user(f"{folder}/control") in TURNED_AWAY
    finally:
        for path, mode in modes.items():
            os.chmod(path, mode)
    assert is_served(folder)
