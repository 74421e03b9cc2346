"""Programs that die in process, at a chosen change of their disk, and leave nothing running.

Owns: one life of a program (`Life`): its loop, its disk, its capabilities. A death stops the loop
in the same instant: what was ready is cancelled, what waits is never woken. Keeps: the dead are
buried, coroutine by coroutine, while the world watches for a call of theirs. Never: lets asyncio
cancel a dead program's tasks, since a killed program cleans nothing up.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from mortal_world import ROOT, World, read
from reading_raw import Seen
from steady import SteadyLoop

from agentctl import attempt, call_key, service_key
from agentctl.core.compaction import COMPACTS_AT
from agentctl.engines.local.desk import FilesDesk
from agentctl.engines.port import Ended
from agentctl.errors import DiskTrouble
from agentctl.hosting import Host
from agentctl.names import Address
from agentctl.sdk.registry import unserve
from agentctl.storage.faulty import Fault, FaultyDisk, SimulatedDeath
from agentctl.storage.files.folder import FilesStore
from agentctl.storage.memory import MemoryDisk
from agentctl.testing import FakeClock

LONGEST_S = 20.0


class TickingClock(FakeClock):
    """A clock that a test moves on, and that never tells the same time twice."""

    def now_us(self) -> int:
        self.set_wall(super().now_us() + 1)
        return super().now_us()


class MortalDisk(FaultyDisk):
    """A disk whose death is the whole program's.

    Attributes:
        on_replace: hears what is about to take the place of what.
    """

    def __init__(self, disk: MemoryDisk, fault: Fault | None, stop: Callable[[], None]) -> None:
        super().__init__(disk, fault)
        self._stop = stop
        self.on_replace: Callable[[str, str], None] = lambda source, target: None

    def replace(self, source: str, target: str) -> None:
        if not self.dead:
            self.on_replace(source, target)
        super().replace(source, target)

    def _die(self) -> None:
        self.dead = True
        self._stop()
        raise SimulatedDeath


@dataclass(frozen=True)
class State:
    """What a life begins with: a disk, and a world that remembers."""

    disk: MemoryDisk
    world: World

    @classmethod
    def fresh(cls) -> State:
        disk = MemoryDisk(ROOT)
        return cls(disk, World())


class Life:
    """One program, from its start to its death or its graceful stop; also its listener."""

    def __init__(
        self, state: State, agent: str, fault: Fault | None = None, beside: Sequence[str] = ()
    ) -> None:
        self.agent = agent
        self.world = state.world.twin()
        self.world.lives += 1
        self.disk = MortalDisk(state.disk.after_kill(), fault, self._stop)
        self.disk.on_replace = self._replaced
        self.compacts_at = COMPACTS_AT
        self.clock = TickingClock(self.world.wall_us)
        self.host: Host | None = None
        self.is_up = False
        self.waiting: list[asyncio.Future[Any]] = []
        self.loop: SteadyLoop | None = None
        self._nonces = (f"{self.world.lives:04x}{n:012x}" for n in itertools.count())
        for name in beside:
            if name not in self.world.beside:
                self.world.beside[name] = World(broken=self.world.broken)
        for name in (agent, *beside):
            self.world_of(name).found(self.seen(name))

    def world_of(self, agent: str) -> World:
        """The world as far as it is about one agent."""
        return self.world.beside.get(agent, self.world)

    def seen(self, agent: str) -> Seen:
        """What an agent's journal says right now."""
        return Seen.of(read(self.disk.disk, agent, "journal"))

    def _replaced(self, source: str, target: str) -> None:
        """A journal is exchanged: of the old one counts what the new one doesn't repeat."""
        if target.endswith("/journal") and self.disk.kind(target) is not None:
            header = Seen.of(self.disk.disk.read_file(source)).header
            assert header is not None
            if since := header.get("since"):
                agent = target.split("/")[-2]
                old = Seen(self.disk.disk.read_file(target)[:since])
                self.world_of(agent).found(old)

    # -- living

    def run(self, step: Callable[[Life], Awaitable[None]]) -> BaseException | None:
        """Live; None: the step was done. Else what the program ended of."""
        self.loop = loop = SteadyLoop()
        loop.set_exception_handler(lambda _loop, _context: None)
        main = loop.create_task(self._main(step))
        main.add_done_callback(lambda _: loop.stop())
        alarm = loop.call_later(LONGEST_S, self._hung)
        loop.run_forever()
        alarm.cancel()
        self.world.wall_us = self.clock.now_us()
        if self.disk.dead:
            error: BaseException | None = SimulatedDeath()
        else:
            error = main.exception() if main.done() else None
        if isinstance(error, DiskTrouble):
            self._all_heard()
        self._bury(loop)
        if error is not None and not isinstance(error, SimulatedDeath | DiskTrouble):
            raise error
        return error

    async def _main(self, step: Callable[[Life], Awaitable[None]]) -> None:
        await step(self)

    def _hung(self) -> None:
        self.world.breaks(f"the program hangs: {self.disk.log[-3:]}")
        assert self.loop is not None
        self.loop.stop()

    def die(self) -> None:
        """Be killed here and now."""
        self.disk._die()

    def _stop(self) -> None:
        loop = self.loop
        if loop is not None:
            for handle in loop._ready:  # type: ignore[attr-defined]
                handle.cancel()
            loop.stop()

    def _all_heard(self) -> None:
        """Of a disk that failed every waiting caller hears."""
        for future in self.waiting:
            if not future.done():
                self.world.breaks("a caller still waits after the disk failed")
            elif future.cancelled() or not isinstance(future.exception(), DiskTrouble | None):
                self.world.breaks(f"a caller got {future}, not DiskTrouble")

    def _bury(self, loop: SteadyLoop) -> None:
        """Close what the dead left, under the eyes of the world."""
        self.disk.dead = True
        # What is closed may ask for its loop again: without one asyncio makes another, for good.
        asyncio.set_event_loop(loop)
        calls = sum(map(len, self.world.made.values()))
        engine = self.host._begun if self.host is not None else None
        for task in asyncio.all_tasks(loop):
            _close(task)
        for agent in engine.agents.values() if engine is not None else ():
            for run in agent.runs.values():
                handler_loop = getattr(run, "_loop", None)
                for task in list(handler_loop.tasks.values()) if handler_loop else ():
                    _close(task)
        if self.host is not None and self.host._engine is not None:
            # Its memory goes with a program; what serves here would stay for good.
            for binding in self.host._bindings:
                unserve(binding.cls, self.host.engine.invoker)
        if sum(map(len, self.world.made.values())) != calls:
            self.world.breaks("the dead program made a call")
        asyncio.set_event_loop(None)
        loop.close()

    # -- what a living program does

    async def start(self, *bindings: Any, filed: Sequence[Any] | None = None) -> Host:
        """Enter a host on this life's disk and clock; leaving it is up to `stop`.

        Args:
            filed: the schedules that `kavach.toml` sets, if it is asked.
        """

        def options(base: Any) -> Any:
            from dataclasses import replace

            return replace(
                base,
                root=Path(ROOT),
                clock=self.clock,
                filed=filed,
                entropy=lambda: next(self._nonces),
                compacts_at=self.compacts_at,
                stores=lambda root, name: FilesStore(root, name, self.disk, clock=self.clock),
            )

        self.host = Host(*bindings, root=ROOT, listener=self, options=options)
        await self.host.__aenter__()
        self.is_up = True
        for binding in bindings:
            self.world_of(binding.spec.name).recovered()
        return self.host

    async def rest(self, until_s: float = float("inf")) -> None:
        """Let everything come to rest; where only time helps, let it pass."""
        assert self.host is not None
        passed = 0.0
        while True:
            await self.host.idle(0.0)
            for _ in range(6):
                await asyncio.sleep(0)
            if not self.host.engine.quiet:
                continue
            self.host.engine.check_alive()
            # All that waits is parked, or ended: durable, with everything before it.
            for name in self.host.engine.agents:
                self.world_of(name).settled |= self.seen(name).settled
                self.world_of(name).failed |= self.seen(name).tried
            before_s = self.clock.monotonic_s()
            if passed >= until_s or not self.clock.jump():
                return
            passed += self.clock.monotonic_s() - before_s
            await asyncio.sleep(0)

    async def stop(self) -> None:
        assert self.host is not None
        await self.host.stop()

    def desk(self) -> FilesDesk:
        return FilesDesk(Path(ROOT), self.clock, self.disk)

    # -- what capabilities do

    def enter(
        self, fn: str, args: tuple[object, ...], heard: list[str], *, in_step: bool = False
    ) -> str:
        """A capability's code begins; returns the call's key."""
        key, of_service = call_key(), service_key()
        assert key is not None
        assert of_service is not None
        if self.disk.dead:
            self.world.breaks(f"the dead program made the call {key}")
        agent = agent_of(key)
        own = [one for one in heard if agent_of(one) == agent]
        self.world_of(agent).called(key, of_service, repr((fn, args)), own)
        self.heard(agent, heard)
        self._attempted(key.rpartition(".")[0] if in_step else key)
        return key

    def _attempted(self, key: str) -> None:
        world, number = self.world_of(agent_of(key)), attempt()
        assert number is not None
        world.attempted(key, number, self.clock.now_us())
        if world.dies_in_calls and (key, number) not in world.died_in:
            world.died_in.add((key, number))
            self.die()

    def heard(self, by: str, keys: Sequence[str]) -> None:
        """An event of one agent heard of calls of others, in their answers."""
        for key in keys:
            if agent_of(key) != by:
                self.world_of(agent_of(key)).settled.add(key)

    # -- Listener

    def recovered(self, found: object) -> None:
        """The world finds out for itself."""

    def started(self, event: Address, handler: str, *, again: bool) -> None:
        assert event.event is not None
        self.world_of(event.agent).started(event.event)

    def ended(self, end: Ended, *, heard: bool) -> None:
        assert end.event.event is not None
        self.world_of(end.event.agent).ended(end.event.event, end.status, end.result)

    def called(self, key: str, fn: str) -> None:
        """The world sees calls by itself."""

    def asked(self, key: str, text: str, type_: str) -> None:
        """The world sees questions in the journal."""

    def warned(self, text: str) -> None:
        self.world.breaks(f"warned: {text}")

    def waiting(self, calls: Sequence[tuple[str, str]], at_most: timedelta | None) -> None:
        """The world knows what it is asked to do."""


def agent_of(key: str) -> str:
    """The agent that a call's key names."""
    return key.partition("-")[0].partition("/")[0]


def _close(task: asyncio.Task[Any]) -> None:
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    # Else all_tasks() looks through it, in each life to come until it is collected.
    asyncio._unregister_task(task)  # type: ignore[attr-defined]
    coro = task.get_coro()
    if coro is not None:
        with suppress(BaseException):  # nobody is left to whom it could matter
            coro.close()
