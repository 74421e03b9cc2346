"""Durable: runs agents without a folder, over and over on one journal in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from msgspec import Raw

from agentctl.core.timing import Timing
from agentctl.engines.changes import ResumeRequest
from agentctl.engines.local.engine import LocalEngine
from agentctl.engines.local.options import EngineOptions
from agentctl.engines.local.running.binding import Binding, make_binding
from agentctl.engines.port import Ended
from agentctl.errors import NotFound, Stuck, UsageError
from agentctl.hosting import Host
from agentctl.names import Address, parse_call_key
from agentctl.nearest import nearest_hint
from agentctl.sdk.agent import Agent, spec_of
from agentctl.sdk.capability import Capability, Duration
from agentctl.sdk.ops import Target
from agentctl.sdk.settings import AgentSettings
from agentctl.storage.files.folder import FilesStore
from agentctl.storage.memory import MemoryDisk
from agentctl.testing.clock import FakeClock
from agentctl.times import SECOND_US, to_us
from agentctl.values import codec

ROOT = Path("/memory")

_QUIET_ROUNDS: Final = 3


class Durable:
    """A world for agents under test: a disk in memory, and a clock that jumps.

    Each `run` is a program of its own that starts, recovers what the one before left, and stops.
    Where everything waits for time, the clock jumps to the next due moment.

    Attributes:
        clock: the time of this world.
        disk: what survives from one run to the next.
    """

    def __init__(self, *, clock: FakeClock | None = None, disk: MemoryDisk | None = None) -> None:
        self.clock = clock or FakeClock()
        self.disk = disk or MemoryDisk()
        if self.disk.kind(str(ROOT)) is None:
            self.disk.make_folder(str(ROOT))

    def host(self, *bindings: Binding[Any], jumps: bool = True) -> Host:
        """Make a host on this world's disk and clock; to be entered with `async with`."""
        return _JumpingHost(bindings, self._options, self.clock if jumps else None)

    def _options(self, base: EngineOptions) -> EngineOptions:
        # Nobody moves the clock while a second program waits for the lock.
        return replace(base, root=ROOT, clock=self.clock, stores=self._store, lock_wait_s=0.0)

    def _unscheduled(self, base: EngineOptions) -> EngineOptions:
        return replace(self._options(base), schedules=False)

    def _store(self, root: Path, agent: str) -> FilesStore:
        return FilesStore(root, agent, self.disk, clock=self.clock)

    def run(
        self,
        agent: type[Agent],
        handler: str,
        /,
        *args: Any,
        identity: tuple[Any, ...] = (),
        settings: AgentSettings | None = None,
        **capabilities: Capability,
    ) -> Any:
        """Start the agent, run one event of it, or read by one of its queries, and stop.

        Returns:
            The handler's result; what it raises is raised here.

        Raises:
            NotFound: the agent has no such handler, and no such query.
            UsageError: the event waits for an input, and for no time: it would wait for ever.
        """
        binding = make_binding(agent, capabilities, settings)
        spec = spec_of(agent)
        if handler not in spec.handlers and handler not in spec.queries:
            raise NotFound(
                f"{agent.__name__} has no handler {handler!r}",
                hint=nearest_hint(handler, [*spec.handlers, *spec.queries], "handlers"),
            )

        async def program() -> Any:
            async with self.host(binding) as host:
                invoker = host.engine.invoker
                target = Target(agent.__name__, spec.identity_of(identity), handler)
                if handler in spec.queries:
                    return await invoker.query(target, args, {})
                return await _unless_it_waits(
                    host.engine, agent.__name__, invoker.invoke(target, args, {})
                )

        return asyncio.run(program())

    def trigger(
        self,
        agent: type[Agent],
        handler: str,
        /,
        *args: Any,
        identity: tuple[Any, ...] = (),
        settings: AgentSettings | None = None,
        **capabilities: Capability,
    ) -> str:
        """Start the agent, let one event of it run until it ends or waits, and stop.

        The clock stands still meanwhile: `pass_time` goes on with what waits for time, `resume`
        with what waits for an input.

        Returns:
            The event's address, `Desk#1`.
        """
        binding = make_binding(agent, capabilities, settings)
        target = Target(agent.__name__, spec_of(agent).identity_of(identity), handler)

        async def program() -> str:
            async with self.host(binding, jumps=False) as host:
                sent = await host.engine.invoker.send(target, args, {}, Timing())
                await _until_quiet(host.engine)
                return str(Address(target.agent, target.identity, sent.event))

        return asyncio.run(program())

    def resume(
        self,
        agent: type[Agent],
        call: str,
        value: Any,
        /,
        *,
        by: str = "",
        settings: AgentSettings | None = None,
        **capabilities: Capability,
    ) -> None:
        """Start the agent, give the input that a call waits for, and let its event go on.

        The clock stands still meanwhile.

        Args:
            call: its key, `Desk-1-1`; or the address of an event that waits for one input alone.
            value: the input; recorded by its own type, and checked by the one that is asked for.
            by: who gives it.

        Raises:
            NotFound, Conflict, UsageError: as `agentctl invocation resume` would refuse it.
        """
        binding = make_binding(agent, capabilities, settings)
        event, path = parse_call_key(call) or (Address.parse(call), None)
        given = Raw(codec(type(value)).encode(value))
        request = ResumeRequest(
            event.agent, "", event.identity, event.event, call=path, value=given, by=by
        )

        async def program() -> None:
            async with self.host(binding, jumps=False) as host:
                await host.carry_out(request)
                await _until_quiet(host.engine)

        asyncio.run(program())

    def recover(
        self,
        agent: type[Agent],
        /,
        *,
        settings: AgentSettings | None = None,
        allow_stuck: bool = False,
        **capabilities: Capability,
    ) -> None:
        """Start the agent, let everything that is unfinished come to rest, and stop.

        Schedules don't fire, since one that recurs would never let it rest: `pass_time` fires
        them. An unfinished event that goes round for good doesn't come to rest either.

        Raises:
            Stuck: events stopped at a bug, and `allow_stuck` isn't set; said of each at the end.
        """
        binding = make_binding(agent, capabilities, settings)

        async def program() -> list[Ended]:
            # Without an end the clock would jump from due time to due time of a schedule.
            async with _JumpingHost((binding,), self._unscheduled, self.clock) as host:
                await host.idle(float("inf"))
                return _stuck(host.engine)

        _tell(asyncio.run(program()), allow_stuck)

    def pass_time(
        self,
        agent: type[Agent],
        duration: Duration,
        /,
        *,
        settings: AgentSettings | None = None,
        allow_stuck: bool = False,
        **capabilities: Capability,
    ) -> None:
        """Start the agent, let so much time pass on the clock, and stop.

        Whatever is due meanwhile runs at its moment, the last one included; what is overdue runs
        at once.

        Args:
            duration: seconds, or a timedelta.

        Raises:
            Stuck: events stopped at a bug, and `allow_stuck` isn't set; all the time has passed
                then.
        """
        binding = make_binding(agent, capabilities, settings)
        end_s = (to_us(self.clock.monotonic_s()) + to_us(duration)) / SECOND_US

        async def program() -> list[Ended]:
            async with self.host(binding, jumps=False) as host:
                await _until_quiet(host.engine)
                while self.clock.jump(end_s):
                    await _until_quiet(host.engine)
                self.clock.advance(max(0.0, end_s - self.clock.monotonic_s()))
                return _stuck(host.engine)

        _tell(asyncio.run(program()), allow_stuck)

    @property
    def journals(self) -> dict[str, bytes]:
        """The journals of this world's agents, by name, as they stand on its disk."""
        agents = f"{ROOT}/agents"
        if self.disk.kind(agents) is None:
            return {}
        return {
            name: self.disk.read_file(f"{agents}/{name}/journal")
            for name in self.disk.list_folder(agents)
        }


class _JumpingHost(Host):
    """A host whose clock jumps whenever only time can bring anything about."""

    def __init__(self, bindings: tuple[Binding[Any], ...], options: Any, clock: FakeClock | None):
        super().__init__(*bindings, root=ROOT, options=options)
        self._clock = clock
        self._jumper: asyncio.Task[None] | None = None

    async def __aenter__(self) -> _JumpingHost:
        await super().__aenter__()
        if self._clock is not None:
            self._jumper = asyncio.create_task(_jump_when_quiet(self.engine, self._clock))
        return self

    async def __aexit__(self, *exc_info: Any) -> None:
        try:
            if self._jumper is not None:
                self._jumper.cancel()
                await asyncio.wait({self._jumper})
        finally:  # a block that is interrupted right here frees its locks all the same
            await super().__aexit__(*exc_info)


def _stuck(engine: LocalEngine) -> list[Ended]:
    """The events that are stuck now, in the order of their numbers."""
    return [end for one in engine.agents.values() for _, end in sorted(one.stuck.items())]


def _tell(stuck: list[Ended], allowed: bool) -> None:
    """Raise what is stuck, unless it may be: a test that goes on would pass over a bug."""
    if not stuck or allowed:
        return
    told = [f"{end.event}: {end.text}" + (f" ({end.line})" if end.line else "") for end in stuck]
    count = "an event is" if len(told) == 1 else f"{len(told)} events are"
    raise Stuck(
        f"{count} stuck: {'; '.join(told)}", hint="allow_stuck=True lets a test go on regardless"
    )


async def _unless_it_waits(engine: LocalEngine, agent: str, asked: Coroutine[Any, Any, Any]) -> Any:
    """Wait for the outcome, unless only an input that nobody gives could bring it about."""
    program, before = asyncio.current_task(), set(engine.agent(agent).open)
    assert program is not None

    async def watch() -> str:
        found = await _stands_still(engine, agent, before)
        program.cancel()
        return found

    watching = asyncio.ensure_future(watch())
    try:
        return await asked
    except asyncio.CancelledError:
        if not watching.done():
            raise
        program.uncancel()
        raise UsageError(
            f"it waits for ever: {watching.result()}",
            hint="let it wait with durable.trigger(…), and answer with durable.resume(…)",
        ) from None
    finally:
        watching.cancel()


async def _stands_still(engine: LocalEngine, agent: str, before: set[int]) -> str:
    """Wait until no time helps an event that is new; return what it asks for."""
    runtime = engine.agent(agent)
    while True:
        await _until_quiet(engine)
        for number in sorted(set(runtime.open) - before):
            run = runtime.runs.get(number)
            waits = {} if run is None else run.waits()
            if waits and engine.program.timers.next_due_s is None:
                asked = "; ".join(wait.text for wait in waits.values())
                return f"{agent}#{number} asks: {asked}"
        engine.program.moved.clear()
        await engine.program.moved.wait()


async def _jump_when_quiet(engine: LocalEngine, clock: FakeClock) -> None:
    """Jump once the engine has been quiet for some rounds of the loop, again and again."""
    while True:
        await _until_quiet(engine)
        if not clock.jump():
            engine.program.moved.clear()
            await engine.program.moved.wait()


async def _until_quiet(engine: LocalEngine) -> None:
    """Wait until the engine has been quiet for some rounds of the loop."""
    rounds = 0
    while rounds <= _QUIET_ROUNDS:
        await asyncio.sleep(0)
        rounds = rounds + 1 if engine.quiet else 0
