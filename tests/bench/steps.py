"""What is measured of workflows, and of events that wait for a person."""

from __future__ import annotations

import asyncio
import gc
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from agentctl import AgentSettings, Host, bind
from agentctl.engines.port import InvokeRequest
from tests.bench.agents import CALLS, Desk, Flow, Instant
from tests.bench.measures import calls_per_second, folder
from tests.bench.rows import Row

AT_ONCE: Final = 64
WAITING: Final = 10_000
IDLE_S: Final = 5.0
SLOWER: Final = (
    "a step is a call around another one: its code gets a working copy of the agent's object, "
    "and a context of its own."
)


def steps_per_second(where: Path, workflows: int) -> float:
    """Steps a second, with 64 workflows of 10 steps at once."""
    with folder(where) as root:
        return asyncio.run(_steps(root, workflows))


async def _steps(root: Path, workflows: int) -> float:
    settings = AgentSettings(concurrency=AT_ONCE)
    async with Host(bind(Flow, settings=settings, world=Instant()), root=root):
        numbers = iter(range(workflows))

        async def client() -> None:
            for number in numbers:
                await Flow.ref(number).run()

        begun = time.perf_counter()
        await asyncio.gather(*(client() for _ in range(AT_ONCE)))
        return workflows * CALLS / (time.perf_counter() - begun)


def waiting_costs(where: Path, events: int) -> tuple[float, float]:
    """The bytes of memory that an event takes that waits for an input, and the processor's share.

    In a process of its own: what others left behind would be used again.
    """
    with folder(where) as root:
        code = f"from tests.bench.steps import wait_alone; wait_alone({str(root)!r}, {events})"
        ran = subprocess.run(
            [sys.executable, "-c", code],
            cwd=Path(__file__).parents[2],
            capture_output=True,
            check=True,
            text=True,
        )
        each, share = ran.stdout.split()
        return float(each), float(share)


def wait_alone(root: str, events: int) -> None:
    """Measure it in this process, and print it."""
    print(*asyncio.run(_wait(Path(root), events)))


async def _wait(root: Path, events: int) -> tuple[float, float]:
    settings = AgentSettings(capacity=events + 1)
    async with Host(bind(Desk, settings=settings), root=root) as host:
        await _ask(host, 100)  # what the first ones load is nobody's own
        gc.collect()
        before = _resident()
        await _ask(host, events)
        gc.collect()
        each = (_resident() - before) / events
        begun, used = time.perf_counter(), time.process_time()
        await asyncio.sleep(IDLE_S)
        return each, (time.process_time() - used) / (time.perf_counter() - begun)


async def _ask(host: Host, events: int) -> None:
    for number in range(events):
        await host.engine.answering.accept(InvokeRequest("Desk", (), "ask", [number]), watch=False)
    await host.idle()


def _resident() -> int:
    """The memory that this process has in use, in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def step_rows(where: Path, runs: int) -> list[Row]:
    """Workflows against plain calls, and events at rest."""
    pairs = [
        (steps_per_second(where, 1_000), calls_per_second(where, 1_000, AT_ONCE)[0])
        for _ in range(runs)
    ]
    rate = statistics.median(steps for steps, _ in pairs)
    ratio = statistics.median(steps / calls for steps, calls in pairs)
    each, share = waiting_costs(where, WAITING)
    return [
        Row(
            f"{AT_ONCE} workflows of 10 steps at once",
            f"{rate:,.0f} steps/s = {ratio:.2f} × plain calls",
            "≥ 0.8 × plain calls",
            ratio >= 0.8,
            SLOWER,
        ),
        Row(
            f"{WAITING:,} events that wait for an input, memory of each",
            f"{each / 1024:.1f} KB",
            "≤ 8 KB",
            each <= 8 * 1024,
        ),
        Row(
            f"the same at rest, over {IDLE_S:.0f} s",
            f"{share:.2%} of a processor",
            "< 0.5 %",
            share < 0.005,
        ),
    ]
