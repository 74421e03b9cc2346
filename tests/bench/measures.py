"""What is measured, and how: each function makes one run and returns one figure."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agentctl import AgentSettings, Host, bind
from tests.bench.agents import CALLS, Instant, Worker

LINE = b"x" * 199 + b"\n"


@contextmanager
def folder(where: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=where) as name:
        yield Path(name)


def bare_syncs(where: Path, seconds: float = 1.0) -> float:
    """Append 200 bytes and `fdatasync`, over and over: syncs a second."""
    with folder(where) as root:
        fd = os.open(root / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            done, begun = 0, time.perf_counter()
            while time.perf_counter() - begun < seconds:
                os.write(fd, LINE)
                os.fdatasync(fd)
                done += 1
            return done / (time.perf_counter() - begun)
        finally:
            os.close(fd)


def _host(root: Path, concurrency: int) -> Host:
    settings = AgentSettings(concurrency=concurrency)
    return Host(bind(Worker, settings=settings, world=Instant()), root=root)


def calls_per_second(where: Path, events: int, at_once: int) -> tuple[float, float]:
    """Calls a second, and syncs a call, with so many events at once."""
    with folder(where) as root:
        return asyncio.run(_calls(root, events, at_once))


async def _calls(root: Path, events: int, at_once: int) -> tuple[float, float]:
    async with _host(root, at_once) as host:
        worker = host.reference(Worker)
        numbers = iter(range(events))

        async def client() -> None:
            for number in numbers:
                await worker.work(number)

        store = host.engine.agents["Worker"].store
        syncs, begun = store.syncs, time.perf_counter()
        await asyncio.gather(*(client() for _ in range(at_once)))
        took = time.perf_counter() - begun
        return events * CALLS / took, (store.syncs - syncs) / (events * CALLS)


def write_unfinished(root: Path, events: int, calls: int = CALLS) -> None:
    """A journal of events that have made all their calls and not ended."""
    from msgspec import Raw

    from agentctl.records import CallRecord, EventRecord, Header, OkRecord, StartRecord, encode
    from agentctl.storage.files.folder import FilesStore
    from agentctl.storage.files.holding import this_program
    from agentctl.times import SystemClock

    store = FilesStore(root, "Worker")
    store.lock(this_program("bench", SystemClock()), 0)
    at = SystemClock().now_us()
    kept = events * (2 + 2 * calls)
    bodies = [encode(Header(1, "Worker", "0" * 32, events + 1, kept=kept, open=events, at=at))]
    for n in range(1, events + 1):
        bodies.append(encode(EventRecord(n, "work", Raw(b"[%d]" % n), nonce=f"{n:016x}", at=at)))
        bodies.append(encode(StartRecord(n, at=at)))
        for i in range(calls):
            said = f"event {n}, call {i}, and some words to fill it up"
            args = Raw(f'["{said}"]'.encode())
            bodies.append(encode(CallRecord(f"{n}-{i + 1}", "World.act", args=args, at=at)))
            bodies.append(encode(OkRecord(f"{n}-{i + 1}", Raw(f'"{said}"'.encode()), at=at)))
    store.rewrite(bodies)
    store.close()


def recovery_seconds(where: Path, events: int) -> float:
    """From the start until every unfinished event has finished."""
    with folder(where) as root:
        write_unfinished(root, events)
        return asyncio.run(_recover(root))


async def _recover(root: Path) -> float:
    begun = time.perf_counter()
    async with _host(root, 64) as host:
        await host.idle()
        return time.perf_counter() - begun


def environment() -> dict[str, str]:
    """The environment of a command that is measured."""
    # Compiled code is kept, as on anybody's machine; the agents that are measured lie here.
    environ = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**environ, "PYTHONPATH": str(Path(__file__).parents[2])}


def start_up_ms(where: Path, *command: str) -> float:
    """Wall time of a command, in milliseconds."""
    begun = time.perf_counter()
    subprocess.run(
        [sys.executable, *command], cwd=where, check=True, capture_output=True, env=environment()
    )
    return (time.perf_counter() - begun) * 1000
