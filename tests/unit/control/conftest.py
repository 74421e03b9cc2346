"""A served folder, and peers that speak to it byte by byte."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from agentctl.engines.local.control.connection import Limits
from agentctl.engines.local.control.server import ControlServer


class Peer:
    """A raw peer, for what a well-behaved client never does."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    async def send(self, data):
        self.writer.write(data)
        await self.writer.drain()

    async def line(self, within_s=5.0):
        """The next answer as JSON; None once the connection is closed."""
        async with asyncio.timeout(within_s):
            try:
                line = await self.reader.readline()
            except ConnectionResetError:
                return None
        return msgspec.json.decode(line) if line else None

    async def ask(self, data):
        await self.send(data + b"\n")
        return await self.line()

    async def is_closed(self, within_s=5.0):
        return await self.line(within_s) is None

    async def close(self):
        self.writer.close()
        try:
            await self.writer.wait_closed()
        except OSError:
            pass  # the other side was first


class Served:
    """A folder whose socket is served by this process, with a few plain methods."""

    def __init__(self, folder, methods, options):
        self.folder = folder
        self.let_go = asyncio.Event()
        self.waiting = 0
        self.cancelled = 0
        own = {"echo": self.echo, "wait": self.wait, "sum": self.sum}
        self.server = ControlServer(folder, own | methods, **options)

    async def echo(self, params):
        return params

    async def sum(self, params):
        return sum(msgspec.json.decode(params, type=list[int]))

    async def wait(self, params):
        self.waiting += 1
        try:
            await self.let_go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.waiting -= 1
        return "waited"

    async def peer(self):
        reader, writer = await asyncio.open_unix_connection(
            f"{self.folder}/control", limit=128 * 1024 * 1024
        )
        return Peer(reader, writer)

    @asynccontextmanager
    async def peers(self, count=1):
        peers = [await self.peer() for _ in range(count)]
        try:
            yield peers if count > 1 else peers[0]
        finally:
            for peer in peers:
                await peer.close()

    async def until(self, condition):
        """Let the program go on until something holds."""
        async with asyncio.timeout(5):
            while not condition():
                await asyncio.sleep(0.001)

    @property
    def connections(self):
        return len(self.server._connections)

    @property
    def held(self):
        shared = self.server._shared
        return shared.limits.held - shared.held.left

    @property
    def under_way(self):
        shared = self.server._shared
        return shared.limits.under_way - shared.under_way.left


@pytest.fixture
def folder(tmp_path):
    """An agent's folder."""
    path = tmp_path / "Bot"
    path.mkdir(mode=0o700)
    return str(path)


@pytest.fixture
def serve(folder):
    """Run a coroutine function beside a served folder; leaves nothing open behind."""

    def run(scene, *, methods=None, **options):
        async def life():
            served = Served(folder, methods or {}, options)
            await served.server.start()
            try:
                return await scene(served)
            finally:
                async with asyncio.timeout(2):
                    await served.server.close()
                assert served.connections == 0
                assert served.held == 0
                await served.until(lambda: served.under_way == 0)

        return asyncio.run(life())

    return run


@pytest.fixture
def limits():
    """Limits for peers that are less patient, or fewer."""
    return Limits


@pytest.fixture
def in_thread():
    """Run a blocking client beside the program's event loop."""

    async def run(work, *args):
        return await asyncio.get_running_loop().run_in_executor(None, work, *args)

    return run


@pytest.fixture
def short_of_names(monkeypatch):
    """A system that has no `/proc`, and a runtime folder of the test's own."""
    from agentctl.engines.local.control import place

    monkeypatch.setattr(place, "_has_fds", lambda: False)
    with tempfile.TemporaryDirectory(dir="/tmp") as runtime:  # pytest's own are too deep
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        yield Path(runtime)


@pytest.fixture
def deep(tmp_path):
    """An agent's folder whose path is longer than a socket's name may be."""

    def make(length):
        path = tmp_path
        while len(str(path)) < length:
            path = path / ("d" * 40)
        path = path / "Bot"
        path.mkdir(parents=True, mode=0o700)
        return str(path)

    return make
