"""start, bind, Host: agents in one's own program."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from agentctl.engines.changes import Answer, Change
from agentctl.engines.local.engine import LocalEngine
from agentctl.engines.local.options import EngineOptions
from agentctl.engines.local.running.binding import Binding, make_binding
from agentctl.engines.port import Ended, InvokeRequest, Listener, Recovered, Stopped
from agentctl.errors import AgentctlError, UsageError
from agentctl.names import Address
from agentctl.sdk.agent import Agent, refer, spec_of
from agentctl.sdk.capability import Capability, CapabilityOptions
from agentctl.sdk.forbidden import guard_interpreter
from agentctl.sdk.registry import serve, unserve
from agentctl.sdk.settings import AgentSettings

__all__ = ["Binding", "Host", "bind", "find_root", "start"]

A = TypeVar("A", bound=Agent)

_INTERRUPT_AFTER_S: Final = 0.05
"""What a block gets to end by itself once its waiting calls were told of the trouble."""


def bind(
    agent: type[A],
    /,
    *,
    settings: AgentSettings | None = None,
    deny: Mapping[str, str] | None = None,
    options: Mapping[str, CapabilityOptions] | None = None,
    **capabilities: Capability,
) -> Binding[A]:
    """Bind an agent's capabilities to implementations.

    Args:
        settings: override the class's own.
        deny: reasons why calls are forbidden, by `field.method`; they raise `Denied`.
        options: how capabilities are called, by field.

    Raises:
        UsageError: a capability is missing, unknown, or bound to what doesn't implement it.
    """
    return make_binding(agent, capabilities, settings, deny, options=options)


class Host:
    """Several agents in one program.

    Entering it takes the folders' locks and resumes what is unfinished; leaving it stops
    gracefully. Where the disk fails, waiting calls and the block raise `DiskTrouble`.
    """

    def __init__(
        self,
        *bindings: Binding[Any],
        root: str | Path | None = None,
        listener: Listener | None = None,
        command: str = "a program",
        lock_wait_s: float = 5.0,
        options: Callable[[EngineOptions], EngineOptions] | None = None,
    ) -> None:
        if not bindings:
            raise UsageError("there is no agent to run", hint="Host(bind(Bot, payments=…))")
        base = EngineOptions(
            root=find_root(root), command=command, lock_wait_s=lock_wait_s, listener=listener
        )
        self._options = options(base) if options is not None else base
        self._bindings = bindings
        self._engine: LocalEngine | None = None
        self._begun: LocalEngine | None = None
        self._block: asyncio.Task[Any] | None = None
        self._interrupted = False
        self._stopped = Stopped(0, 0)

    @property
    def engine(self) -> LocalEngine:
        """The engine behind it.

        Raises:
            UsageError: the host wasn't entered.
        """
        if self._engine is None:
            raise UsageError("the host isn't running", hint="use it in `async with`")
        return self._engine

    @property
    def recovered(self) -> Sequence[Recovered]:
        """What the start found."""
        return self.engine.recovered

    async def __aenter__(self) -> Self:
        guard_interpreter()
        engine = self._begun = LocalEngine(self._bindings, self._options)
        await engine.start()
        self._engine = engine
        for binding in self._bindings:
            serve(binding.cls, engine.invoker)
        self._block = asyncio.current_task()
        engine.when_dead = self._interrupt_soon
        return self

    def _interrupt_soon(self) -> None:
        """Let the block end if the engine dies while nothing in it waits for the engine."""
        loop = asyncio.get_running_loop()
        loop.call_later(_INTERRUPT_AFTER_S, self._interrupt)

    def _interrupt(self) -> None:
        if self._engine is not None and self._block is not None:
            self._interrupted = self._block.cancel()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        if self._interrupted and self._block is not None:
            self._block.uncancel()
        await self.stop()

    async def submit(self, request: InvokeRequest) -> Address:
        """Accept an event; when this returns, it is durable."""
        return await self.engine.submit(request)

    async def query(self, request: InvokeRequest) -> bytes:
        """Read an instance's committed state by a query, and return its result as JSON."""
        return await self.engine.answering.query(request)

    async def others(self) -> None:
        """Wait until no other program waits for an answer of this one."""
        await self.engine.others()

    async def carry_out(self, change: Change) -> Answer:
        """Carry out a change: cancel, retry, delete, requeue, drop; durable on return."""
        return await self.engine.carry_out(change)

    async def ended(self, event: Address) -> Ended:
        """Wait until an event comes to rest."""
        return await self.engine.ended(event)

    async def idle(self, within_s: float = 0.0) -> Sequence[Address]:
        """Wait until nothing is queued, running, or due within so many seconds."""
        return await self.engine.idle(within_s)

    async def broken(self) -> AgentctlError:
        """Wait until nothing can go on, and return why; as long as all is well, for ever."""
        engine = self.engine
        await engine.broken.wait()
        try:
            engine.check_alive()
        except AgentctlError as error:
            return error
        raise AssertionError("what is broken isn't alive")

    @property
    def grace(self) -> timedelta | None:
        """The longest that any agent's calls get when the program stops; None: to their end."""
        graces = [binding.settings.grace for binding in self._bindings]
        return None if None in graces else max(one for one in graces if one is not None)

    def begin_stop(self, at_most: timedelta | None = None) -> bool:
        """Put on record at once that a stop begins; a signal's handler may call it.

        Args:
            at_most: the longest grace that any call gets; None: its agent's own.

        Returns:
            Whether there is something to stop: not before the folders are held.
        """
        return self._begun is not None and self._begun.begin_stop(at_most)

    def break_off(self) -> None:
        """Put on record which handler it was that blocked its turn, before the stop and until now.

        For who ends the process under it; a signal's handler may call it.
        """
        if self._begun is not None:
            self._begun.break_off()

    async def stop(self) -> Stopped:
        """Stop gracefully; the second time, only tell again."""
        if self._engine is not None:
            engine, self._engine = self._engine, None
            for binding in self._bindings:
                unserve(binding.cls, engine.invoker)
            self._stopped = await engine.stop()
        return self._stopped

    def reference(self, agent: type[A]) -> A:
        """The reference that `start` gives: to the one instance, where there is only one."""
        identity = () if not spec_of(agent).identity else None
        return refer(agent, identity, self.engine.invoker)


def start(
    agent: type[A],
    /,
    *,
    root: str | Path | None = None,
    settings: AgentSettings | None = None,
    **capabilities: Capability,
) -> AbstractAsyncContextManager[A]:
    """Run one agent: take its folder's lock, resume what is unfinished, stop at the end.

    It is entered when each recovered event that may run has gone through its record and has
    ended, parked, or entered the code of its first live call.

    Args:
        root: where `agents/` lies; default: beside the nearest `kavach.toml`, else the working
            folder.

    Raises:
        Locked: another program runs the agent.
        JournalDamaged: its journal can't be trusted.
        DiskTrouble: its journal can't be written.
    """
    host = Host(make_binding(agent, capabilities, settings), root=root)
    return _started(host, agent)


@asynccontextmanager
async def _started(host: Host, agent: type[A]) -> AsyncIterator[A]:
    async with host:
        yield host.reference(agent)


def find_root(root: str | Path | None) -> Path:
    """Where `agents/` lies: as given, beside the nearest `kavach.toml`, or right here."""
    if root is not None:
        return Path(root).absolute()
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "kavach.toml").is_file():
            return folder
    return here
