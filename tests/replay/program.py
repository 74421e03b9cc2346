"""A whole program, the real engine on a disk in memory, whose world answers in an order of chance.

Owns: one life of the program, from its start to the end of its event or to its death. Keeps: a
life that died does nothing more, and what it does anyway is told. It never waits for real time.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentctl import AgentSettings, call_key
from agentctl.engines.local.engine import LocalEngine
from agentctl.engines.local.log import LogListener
from agentctl.engines.local.options import EngineOptions
from agentctl.engines.local.running.binding import make_binding
from agentctl.engines.port import Ended, InvokeRequest
from agentctl.sdk.agent import Agent
from agentctl.sdk.forbidden import guard_interpreter
from agentctl.storage.faulty import FaultyDisk, SimulatedDeath
from agentctl.storage.files.folder import FilesStore
from agentctl.storage.memory import MemoryDisk
from agentctl.testing import FakeClock

from .bot import Bot
from .stage import NONCE, STEP_S
from .world import World, answer

SETTINGS = AgentSettings(max_starts=1000, audit=False)


@dataclass
class Life(LogListener):
    """What one program did; hears it from the engine.

    Attributes:
        made: the calls made for real, as (key, what), in order.
        accepted: somebody was told that the event is accepted.
        late: what the program did after its death.
    """

    made: list[tuple[str, str]] = field(default_factory=list)
    accepted: bool = False
    end: Ended | None = None
    late: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def ended(self, end: Ended, *, heard: bool) -> None:
        self.end = end

    def warned(self, text: str) -> None:
        self.warnings.append(text)


class AwaitedWorld(World):
    """Answers once its gate is opened."""

    def __init__(self, life: Life, disk: FaultyDisk) -> None:
        self._life = life
        self._disk = disk
        self.gates: dict[str, asyncio.Future[None]] = {}

    async def _answer(self, what: Any) -> Any:
        key = call_key()
        assert key is not None
        doing = (key, what if isinstance(what, str) else str(sorted(what)))
        if self._disk.dead:
            self._life.late.append(f"made {doing}")
        self._life.made.append(doing)
        self.gates[key] = asyncio.get_running_loop().create_future()
        try:
            await self.gates[key]
        finally:
            del self.gates[key]
        return answer(what)

    async def do(self, what: str) -> str:
        return await self._answer(what)

    async def tell(self, what: set[str]) -> set[str]:
        return await self._answer(what)


def stores_on(disk: Any, clock: FakeClock) -> Callable[[Path, str], FilesStore]:
    return lambda root, agent: FilesStore(root, agent, disk, clock=clock)


def live(
    disk: FaultyDisk,
    handler: str,
    chance: random.Random,
    *,
    clock: FakeClock,
    agent: type[Agent] = Bot,
) -> Life:
    """Run a program until its event came to rest, or until it dies."""
    life = Life()
    asyncio.run(_live(disk, life, _Plan(handler, chance, clock, agent)))
    return life


@dataclass(frozen=True)
class _Plan:
    handler: str
    chance: random.Random
    clock: FakeClock
    agent: type[Agent]


async def _live(disk: FaultyDisk, life: Life, plan: _Plan) -> None:
    world = AwaitedWorld(life, disk)
    options = EngineOptions(
        root=Path(disk.root),
        listener=life,
        clock=plan.clock,
        entropy=lambda: NONCE,
        stores=stores_on(disk, plan.clock),
    )
    guard_interpreter()
    engine = LocalEngine([make_binding(plan.agent, {"world": world}, SETTINGS)], options)
    try:
        await engine.start()
        if not engine.agent("Bot").open and life.end is None:
            await engine.submit(InvokeRequest("Bot", (), plan.handler, ()))
            life.accepted = True
        await _until_the_end(engine, life, world, plan)
        await engine.stop()
    except SimulatedDeath:
        # Frees what it has in memory; its disk is dead, too.
        with contextlib.suppress(SimulatedDeath):
            await engine.stop()
        for runtime in engine.agents.values():
            for run in list(runtime.runs.values()):
                run.let_go()


async def _until_the_end(engine: LocalEngine, life: Life, world: AwaitedWorld, plan: _Plan) -> None:
    chance, clock = plan.chance, plan.clock
    while True:
        await _quiet()
        engine.check_alive()
        if life.end is not None:
            return
        due_s, gates = engine.program.timers.next_due_s, sorted(world.gates)
        assert gates or due_s is not None, "the handler waits for ever"
        if due_s is not None and (not gates or chance.random() < 0.2):
            clock.jump()
            continue
        clock.advance(chance.random() * STEP_S)
        await _quiet()
        gates = sorted(world.gates)
        for key in chance.sample(gates, min(len(gates), chance.choice((1, 1, 1, 2)))):
            world.gates[key].set_result(None)


async def _quiet() -> None:
    """Let everything that is ready run."""
    loop: Any = asyncio.get_running_loop()
    await asyncio.sleep(0)
    while loop._ready:
        await asyncio.sleep(0)


def journal_on(disk: MemoryDisk) -> list[bytes]:
    """The records of the journal on a disk, without its header."""
    store = FilesStore(Path(disk.root), "Bot", disk)
    return [line.body for line in store.scan().lines][1:]
