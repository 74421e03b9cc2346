"""A world in memory in which programs start, die at a chosen moment, and start again."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from agentctl.core.compaction import COMPACTS_AT
from agentctl.engines.local.desk import FilesDesk
from agentctl.engines.port import InvokeRequest
from agentctl.sdk.agent import spec_of
from agentctl.storage.faulty import SimulatedDeath
from agentctl.testing import Durable, FakeClock

from .till import Bot, Scene


class Heard:
    """A listener that keeps what it hears."""

    def __init__(self):
        self.starts = []
        self.ends = []
        self.calls = []
        self.asks = []
        self.warnings = []
        self.waits = []
        self.found = []

    def recovered(self, found):
        self.found.append(found)

    def started(self, event, handler, *, again):
        self.starts.append((str(event), again))

    def ended(self, end, *, heard):
        self.ends.append((str(end.event), end.status, heard))

    def called(self, key, fn):
        self.calls.append((key, fn))

    def asked(self, key, text, type_):
        self.asks.append((key, text, type_))

    def warned(self, text):
        self.warnings.append(text)

    def waiting(self, calls, at_most):
        self.waits.append((calls, at_most))


class World(Durable):
    """What survives is the disk; `heard` is of the program that runs, or ran last.

    Attributes:
        entropy: random parts to come; None: real chance.
        compacts_at: so many bytes long a journal may grow while a program runs.
    """

    def __init__(self, clock=None, disk=None):
        super().__init__(clock=clock, disk=disk)
        self.heard = Heard()
        self.entropy = None
        self.compacts_at = COMPACTS_AT

    def _options(self, base):
        options = replace(super()._options(base), listener=self.heard, compacts_at=self.compacts_at)
        return options if self.entropy is None else replace(options, entropy=self.entropy)

    @asynccontextmanager
    async def program(self, *bindings, jumps=False):
        """A program's life; leaving it stops gracefully."""
        self.heard = Heard()
        async with self.host(*bindings, jumps=jumps) as host:
            yield host

    def after_kill(self):
        """The world as the next program finds it if this one is killed now; its time goes on."""
        return World(clock=self.clock, disk=self.disk.after_kill())

    def after_power_cut(self, seed):
        return World(clock=self.clock, disk=self.disk.after_power_cut(seed))

    def start(self, *bindings, jumps=True):
        """Start, let everything come to rest, stop; returns what the start found."""

        async def life():
            async with self.program(*bindings, jumps=jumps) as host:
                await host.idle(float("inf") if jumps else 0.0)
                return host.recovered

        return asyncio.run(life())

    def dies(self, *bindings, requests=(), jumps=True):
        """Start, accept requests, and run until a call raises `SimulatedDeath`."""

        async def life():
            async with self.program(*bindings, jumps=jumps) as host:
                for request in requests:
                    await host.submit(request)
                await host.idle(float("inf") if jumps else 0.0)

        with pytest.raises(SimulatedDeath):
            asyncio.run(life())

    def invoke(self, binding, handler, *args, identity=(), jumps=True, **kwargs):
        """One program that runs one event; returns its `Ended`."""

        async def life():
            async with self.program(binding, jumps=jumps) as host:
                request = ask(binding.cls, handler, *args, identity=identity, **kwargs)
                return await host.ended(await host.submit(request))

        return asyncio.run(life())

    @property
    def desk(self):
        """Who asks from outside while no program runs."""
        return FilesDesk(Path("/memory"), self.clock, self.disk)

    # -- what is on the disk

    def records(self, agent="Bot"):
        """The journal's records as plain JSON, without frame and times."""
        lines = self.journals[agent].decode().splitlines()
        hidden = ("crc", "synced")
        records = [{k: v for k, v in json.loads(line).items() if k not in hidden} for line in lines]
        return [record for record in records if record]

    def kinds(self, agent="Bot"):
        return [next(iter(record)) for record in self.records(agent)]

    def folder_file(self, name, agent="Bot"):
        path = f"/memory/agents/{agent}/{name}"
        return self.disk.read_file(path).decode() if self.disk.kind(path) == "file" else ""

    @property
    def audit(self):
        """The audit lines of `Bot` without their times."""
        return [line.split(" ", 1)[1] for line in self.folder_file("audit.log").splitlines()]


def ask(cls, handler, *args, identity=(), **kwargs):
    names = spec_of(cls).identity_of(identity)
    return InvokeRequest(spec_of(cls).name, names, handler, args, kwargs or None)


@pytest.fixture
def world():
    return World(clock=FakeClock())


@pytest.fixture
def request_of():
    """Make a request for an event."""
    return ask


@pytest.fixture
def asked(request_of):
    """Make a request for an event of the till's agent."""

    def make(how, *args, name="a", key="k"):
        return msgspec.structs.replace(request_of(Bot, how, *args, identity=(name,)), key=key)

    return make


@pytest.fixture
def scene(world, asked):
    return Scene(world, asked)


@pytest.fixture
def die():
    """Kill the program from inside a call: no `finally` of anybody can act on it."""

    def kill():
        raise SimulatedDeath

    return kill
