"""LocalEngine: the agents of one program on files of one machine; implements the port `Engine`."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from agentctl.core.suspicion import EventId, StartPlan, plan_start
from agentctl.engines.local import moving, queries, recovery
from agentctl.engines.local.agent import AgentRuntime
from agentctl.engines.local.binding import Binding
from agentctl.engines.local.endings import End, as_value
from agentctl.engines.local.log import LogListener
from agentctl.engines.local.options import EngineOptions, random_part
from agentctl.engines.local.program import ProgramCore
from agentctl.engines.port import Ended, InvokeRequest, Recovered, Stopped
from agentctl.errors import AgentctlError, BadArguments, DiskTrouble, NotFound, UsageError
from agentctl.names import Address
from agentctl.nearest import nearest_hint
from agentctl.sdk.execution import Target
from agentctl.storage.files.folder import FilesStore
from agentctl.storage.files.holding import this_program
from agentctl.storage.port import Store
from agentctl.storage.volatile import VolatileStore
from agentctl.times import SystemClock

_CANCEL_WAIT_S: Final = 1.0
"""What calls that are cut off get for their own clean-up; a thread is not waited for."""


class LocalEngine:
    """The agents of one program; made within its event loop."""

    def __init__(self, bindings: Sequence[Binding[Any]], options: EngineOptions) -> None:
        names = [binding.spec.name for binding in bindings]
        if len({name.lower() for name in names}) != len(names):
            raise UsageError(f"an agent is there twice: {', '.join(sorted(names))}")
        self._bindings = {binding.spec.name: binding for binding in bindings}
        self._options = options
        self._clock = options.clock or SystemClock()
        listener = options.listener or LogListener()
        self.program = ProgramCore(self._clock, listener, options.entropy)
        self.program.begin_event = self._begin_event
        self.program.pump_all = self._pump_all
        self.program.at_work = self._at_work
        self.program.can_begin = self._can_begin
        self.program.on_death = self._on_death
        self.agents: dict[str, AgentRuntime] = {}
        self.recovered: Sequence[Recovered] = ()
        self.broken = asyncio.Event()
        self.when_dead: Callable[[], None] | None = None
        self._watched: dict[Address, asyncio.Future[End]] = {}
        self._accepting: set[asyncio.Future[None]] = set()

    # -- starting

    async def start(self) -> None:
        """Take the folders' locks, recover, and wait until that is done.

        Raises:
            Locked: another program holds one of the folders.
            JournalDamaged, FormatTooNew: a journal can't be trusted; nothing was changed.
            DiskTrouble: a journal can't be written.
        """
        stores = self._lock_all()
        try:
            self._recover(stores)
        except BaseException:
            for store in stores.values():
                store.close()
            raise
        for found in self.recovered:
            self.program.listener.recovered(found)
        try:
            self._pump_all()
            self.program.settle_soon()
            await self.program.recovered.wait()
            self.check_alive()
        except BaseException:
            if self.program.dead is None:
                await self.stop()
            else:
                self._let_go()
            raise

    def _lock_all(self) -> dict[str, Store]:
        """Lock in sorted order, all or none (R11)."""
        taken: dict[str, Store] = {}
        holder = this_program(self._options.command, self._clock)
        try:
            for name in sorted(self._bindings):
                store = self._store(name)
                store.lock(holder, self._options.lock_wait_s)
                taken[name] = store
        except BaseException:
            for store in taken.values():
                store.close()
            raise
        return taken

    def _store(self, name: str) -> Store:
        root, settings = self._options.root, self._bindings[name].settings
        make = self._options.stores or FilesStore
        if settings.journal:
            return make(root, name)
        beside = make(root, name) if settings.audit else None
        return VolatileStore(f"{root}/agents/{name}", beside)

    def _now_us(self) -> int:
        return self._clock.now_us()

    def _recover(self, stores: dict[str, Store]) -> None:
        opened = {name: recovery.read(name, store) for name, store in stores.items()}
        histories = {name: one.history for name, one in opened.items()}
        starts = {name: b.settings.max_starts for name, b in self._bindings.items()}
        plan = plan_start(histories, starts)
        self.program.counted = plan.counted
        self.recovered = [self._open_agent(name, opened[name], plan) for name in sorted(opened)]
        ready: set[EventId] = set()
        for name, agent in self.agents.items():
            suspects = frozenset(number for owner, number in plan.turns if owner == name)
            ready.update((name, number) for number in agent.recover(suspects))
        self.program.take_turns([event for event in plan.turns if event in ready])

    def _open_agent(self, name: str, opened: recovery.Opened, plan: StartPlan) -> Recovered:
        binding, history, store = self._bindings[name], opened.history, opened.store
        audit = binding.settings.audit
        if audit:
            recovery.complete_audit(opened)
        moved = [history.open[number] for owner, number in plan.set_aside if owner == name]
        now_us = max(self._now_us(), history.latest_us)
        new_id = random_part() + random_part()
        recovery.rewrite(
            opened,
            recovery.Rewriting(name, new_id, now_us, start=True, audit=audit, leaving=len(moved)),
        )
        # Only now: `set-aside` must not follow records that a power cut could still take.
        moves, trouble = moving.reconcile(store, history, moved, now_us)
        if trouble is not None:
            self.program.listener.warned(f"{trouble.message}; {trouble.hint}")
        moving.commit(store, name, moves, audit=audit)
        for one in moved:
            del history.open[one.number]
        agent = AgentRuntime(binding, store, history, self.program)
        self.agents[name] = agent
        return Recovered(
            name,
            store.path,
            [agent.address(one.accepted) for one in history.open.values()],
            [agent.address(one.accepted) for one in moved],
            agent.unable(),
            opened.cut,
            [Address(name, one.of, number) for number, one in sorted(history.asides.items())],
        )

    def _begin_event(self, event: EventId) -> None:
        name, number = event
        self.agents[name].begin(number)

    def _pump_all(self) -> None:
        for agent in self.agents.values():
            agent.events.pump_soon()

    def _at_work(self) -> int:
        return sum(agent.events.at_work for agent in self.agents.values())

    def _can_begin(self) -> bool:
        return any(agent.events.can_begin for agent in self.agents.values())

    @property
    def quiet(self) -> bool:
        """Whether nothing is queued or executing: only time can bring anything about."""
        return not self._at_work()

    # -- asking

    def agent(self, name: str) -> AgentRuntime:
        """One of the program's agents.

        Raises:
            NotFound: there is none of that name.
        """
        found = self.agents.get(name)
        if found is None:
            raise NotFound(
                f"there is no agent {name!r} here", hint=nearest_hint(name, self.agents, "agents")
            )
        return found

    def check_alive(self) -> None:
        """Make sure that the program goes on.

        Raises:
            DiskTrouble: the disk failed.
            BaseException: whatever the program is dying of.
        """
        dead = self.program.dead
        if isinstance(dead, DiskTrouble):
            raise DiskTrouble(dead.message, hint=dead.hint) from dead
        if dead is not None:
            raise dead
        if self.program.stopping:
            raise AgentctlError("the program is stopping", hint="start it again")

    def accept(self, target: Target, raw: tuple[bytes, bytes | None]) -> tuple[AgentRuntime, int]:
        """Put an event of checked arguments on record."""
        self.check_alive()
        agent = self.agent(target.agent)
        identity = agent.spec.check_identity(target.identity)
        number: list[int] = []
        self.program.guard(lambda: number.append(agent.accept(identity, target.name, *raw)))
        self.check_alive()
        return agent, number[0]

    async def invoke(self, target: Target, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Accept an event and wait for its outcome, as the handler's caller sees it."""
        handler = self.agent(target.agent).spec.handlers[target.name]
        runtime, number = self.accept(target, handler.signature.encode(args, kwargs))
        end = await runtime.wait_for(number)
        if end.error is not None:
            raise end.error
        assert end.ended.result is not None
        return as_value(end.ended.result, handler)

    async def query(self, target: Target, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Read the last committed state of an instance."""
        self.check_alive()
        runtime = self.agent(target.agent)
        state = runtime.state_of(runtime.spec.check_identity(target.identity))
        raw = queries.read(runtime.cls, target.identity, state, (target.name, args, kwargs))
        return runtime.spec.queries[target.name].result.decode(raw)

    async def submit(self, request: InvokeRequest) -> Address:
        """Accept an event; when this returns, it is durable.

        Raises:
            NotFound: no such agent or handler.
            BadArguments: the arguments don't fit; nothing was accepted.
        """
        raw = self._raw_arguments(request)
        target = Target(request.agent, request.identity, request.handler)
        agent, number = self.accept(target, raw)
        address = agent.address(agent.open[number].accepted)
        self._watched[address] = agent.wait_for(number)
        durable: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._accepting.add(durable)
        agent.when_durable(functools.partial(_resolve, durable))
        try:
            await durable  # nothing stands between: who asked hears it before a call can begin
        finally:
            self._accepting.discard(durable)
        self.check_alive()
        return address

    def _raw_arguments(self, request: InvokeRequest) -> tuple[bytes, bytes | None]:
        spec = self.agent(request.agent).spec
        handler = spec.handlers.get(request.handler)
        if handler is None:
            raise NotFound(
                f"{spec.name} has no handler {request.handler!r}",
                hint=nearest_hint(request.handler, spec.handlers, "handlers"),
            )
        signature = handler.signature
        signature.bind(request.args, request.kwargs or {})
        args = msgspec.json.encode(list(request.args))
        kwargs = msgspec.json.encode(dict(request.kwargs)) if request.kwargs else None
        try:
            values, named = signature.decode(args, kwargs)
        except AgentctlError as error:
            raise BadArguments(
                f"{signature.title}: {error.message}", hint=f"call it as {signature.shown}"
            ) from None
        return signature.encode(values, named)

    async def ended(self, event: Address) -> Ended:
        """Wait until an event that this program accepted or recovered comes to rest."""
        waiter = self._watched.pop(event, None)
        if waiter is None:
            assert event.event is not None
            waiter = self.agent(event.agent).wait_for(event.event)
        return (await waiter).ended

    async def idle(self, within_s: float = 0.0) -> Sequence[Address]:
        """Wait until nothing is queued, executing, or due within so many seconds."""
        while not self._is_idle(within_s):
            self.check_alive()
            self.program.moved.clear()
            await self.program.moved.wait()
        if self.program.dead is not None:
            self.check_alive()  # what came to rest may not be on record
        return [
            agent.address(agent.open[number].accepted)
            for agent in self.agents.values()
            for number in sorted(agent.stuck)
        ]

    def _is_idle(self, within_s: float) -> bool:
        if not self.program.gate_open or self._at_work():
            return False
        due_s = self.program.timers.next_due_s
        return due_s is None or due_s > self._clock.monotonic_s() + within_s

    # -- stopping

    async def stop(self) -> Stopped:
        """Stop gracefully (R12): let running calls end, as long as their grace lasts."""
        program = self.program
        if program.dead is not None:
            return self._abandon(program.dead)
        for agent in self.agents.values():
            program.guard(agent.say_stopping)
        program.stopping = True
        cut_off = await self._end_calls()
        await asyncio.sleep(0)  # results that came in the last moment go on record
        for agent in self.agents.values():
            program.guard(agent.stop)
        if (dead := self.program.dead) is not None:
            return self._abandon(dead)
        program.timers.close()
        program.close_threads()
        return Stopped(self._open_events(), cut_off)

    async def _end_calls(self) -> int:
        tasks = set(self.program.tasks)
        graces = [binding.settings.grace for binding in self._bindings.values()]
        longest = (
            None if None in graces else max(g.total_seconds() for g in graces if g is not None)
        )
        running = tasks
        if tasks:
            _, running = await asyncio.wait(tasks, timeout=longest)
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=_CANCEL_WAIT_S)
        return len(running)

    def _open_events(self) -> int:
        return sum(len(agent.open) for agent in self.agents.values())

    def _on_death(self, error: BaseException) -> None:
        told: BaseException = error
        if isinstance(error, SystemExit | KeyboardInterrupt):
            told = AgentctlError(
                "the program is ending", hint="its events run on at the next start"
            )
        for agent in self.agents.values():
            agent.waiters.fail(told)
        for durable in self._accepting:
            if not durable.done():
                durable.set_exception(told)
        self.broken.set()
        if self.when_dead is not None:
            self.when_dead()

    def _abandon(self, dead: BaseException) -> Stopped:
        """Close everything without another record.

        Raises:
            DiskTrouble: the disk failed; the end of the program itself goes its own way.
        """
        self._let_go()
        if isinstance(dead, SystemExit | KeyboardInterrupt):
            return Stopped(self._open_events(), len(self.program.tasks))
        self.check_alive()
        raise AssertionError("a dead program is never alive")

    def _let_go(self) -> None:
        """Free threads and locks, and let nothing go on; what isn't on record stays so."""
        self.program.timers.close()
        self.program.close_threads()
        for task in self.program.tasks:
            task.cancel()
        for agent in self.agents.values():
            agent.abandon()


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
