"""A real program that is sent SIGTERM at a chosen point, and perhaps killed a little later.

    python stop_program.py      answers each line of stdin, `FOLDER ACT KIND NUMBER AFTER_MS`, with
                                the exit code of a program that it forks for it

At the NUMBER-th KIND of moment the program sends itself the signal. Once it has put the stop on
record it is killed AFTER_MS later; `-` lets it end. A NUMBER of 0 never comes: the moments are
counted, and told. What calls do to the world stands in `ledger`, which only grows.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import sys
import time
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import filelock  # noqa: F401 - loaded by the first lock; here, so that no fork waits for it

from agentctl import Agent, AgentSettings, Capability, bind, blocking, call_key, handler
from agentctl.cli.stopping import StopSignals
from agentctl.engines.port import InvokeRequest
from agentctl.errors import AgentctlError
from agentctl.hosting import Host
from agentctl.ops import running
from agentctl.storage.files.disk import SystemDisk
from agentctl.storage.files.folder import FilesStore

SPEAKS_WITHIN_S = 0.3
"""A stop that isn't on record by then has nothing to say: no event is open."""


class Moments:
    """Counts moments; at the chosen one, the program's signal comes."""

    def __init__(self, kind: str, number: int, told: int) -> None:
        self.seen: Counter[str] = Counter()
        self._chosen = (kind, number)
        self._told = told

    def at(self, kind: str) -> None:
        self.seen[kind] += 1
        if (kind, self.seen[kind]) == self._chosen:
            os.kill(os.getpid(), signal.SIGTERM)

    def on_record(self) -> None:
        os.write(self._told, b"s")


class TellingDisk(SystemDisk):
    def __init__(self, moments: Moments) -> None:
        self._moments = moments
        self._journals: set[int] = set()

    def open(self, path: str, opening: str) -> int:
        fd = super().open(path, opening)
        if path.endswith("/journal.new"):
            self._journals.add(fd)
        return fd

    def write(self, fd: int, data: bytes) -> int:
        told = fd not in self._journals
        if not told:
            self._moments.at("before a write")
        written = super().write(fd, data)
        if not told:
            self._moments.at("after a write")
            if b'{"stopping"' in data:
                self._moments.on_record()
        return written

    def sync(self, fd: int) -> None:
        self._moments.at("before a sync")
        super().sync(fd)
        self._moments.at("after a sync")


class World(Capability):
    def __init__(self, folder: Path, moments: Moments) -> None:
        self._ledger = folder / "ledger"
        self._moments = moments

    def _note(self) -> None:
        with self._ledger.open("a") as ledger:
            ledger.write(f"{call_key()}\n")

    async def refund(self, order: int) -> int:
        self._note()
        self._moments.at("in a call")
        await asyncio.sleep(0.002)
        self._moments.at("in a call")
        return order

    @blocking
    def send(self, text: str) -> str:
        self._note()
        time.sleep(0.002)
        return text


class Bot(Agent):
    world: World

    @handler
    async def request(self, order: int) -> str:
        paid = await self.world.refund(order)
        sent = await self.world.send(f"paid {paid}")
        again = await self.world.refund(order + 1)
        return f"{sent}, {again}"


async def live(folder: Path, act: str, moments: Moments) -> int:
    signals, asked = StopSignals(), asyncio.Event()
    signals.install()
    disk = TellingDisk(moments)
    host = Host(
        bind(
            Bot,
            settings=AgentSettings(grace=timedelta(milliseconds=30), audit=True),
            world=World(folder, moments),
        ),
        root=folder,
        options=lambda base: replace(base, stores=lambda root, name: FilesStore(root, name, disk)),
    )
    signals.serve(host.begin_stop, asked, host.grace)
    try:
        async with host as engine:
            if act == "invoke":
                request = InvokeRequest("Bot", (), "request", [7])
                await running.invoke(engine, request, stop_asked=asked)
            else:
                await running.serve(engine, stop_asked=asked, idle_within_s=0.0)
    except AgentctlError:
        if not signals.number:
            raise
    return 0


def forked(folder: Path, act: str, chosen: tuple[str, int], after_ms: str) -> None:
    reads, tells = os.pipe()
    pid = os.fork()
    if pid == 0:
        moments = Moments(*chosen, tells)
        code = asyncio.run(live(folder, act, moments))
        (folder / "moments").write_text(json.dumps(moments.seen))
        os._exit(code)
    os.close(tells)
    if after_ms != "-":
        if select.select([reads], [], [], SPEAKS_WITHIN_S)[0] and os.read(reads, 1):
            time.sleep(int(after_ms) / 1000)
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(reads)
    print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    for line in sys.stdin:
        where, what, kind, at, after = json.loads(line)
        forked(Path(where), what, (kind, at), after)
