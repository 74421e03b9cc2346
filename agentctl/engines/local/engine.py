"""LocalEngine: the agents of one program on files of one machine; implements the port `Engine`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from agentctl.core.kept import Asking, answers_had
from agentctl.core.setting import Wish
from agentctl.core.suspicion import EventId
from agentctl.engines.changes import Answer, Change
from agentctl.engines.local.asking import told
from agentctl.engines.local.asking.answering import Answering
from agentctl.engines.local.asking.elsewhere import Elsewhere
from agentctl.engines.local.asking.filing import bring_in_line
from agentctl.engines.local.asking.inviting import HostInvoker
from agentctl.engines.local.asking.sending import wish_by
from agentctl.engines.local.asking.timings import LocalTimings
from agentctl.engines.local.events.askers import Askers
from agentctl.engines.local.events.endings import End
from agentctl.engines.local.events.turns import Turn
from agentctl.engines.local.log import LogListener
from agentctl.engines.local.looking.remembering import Remembering
from agentctl.engines.local.options import EngineOptions
from agentctl.engines.local.running.agent import AgentRuntime
from agentctl.engines.local.running.binding import Binding
from agentctl.engines.local.running.folders import Folders
from agentctl.engines.local.running.grace import end_calls, shorter
from agentctl.engines.local.running.program import ProgramCore
from agentctl.engines.local.serving import Serving
from agentctl.engines.local.starting.locking import lock_all
from agentctl.engines.local.starting.start import start_agents
from agentctl.engines.local.starting.uncollected import uncollected
from agentctl.engines.port import Ended, InvokeRequest, Recovered, Stopped, Warned
from agentctl.errors import AgentctlError, DiskTrouble, Interrupted, UsageError
from agentctl.names import Address
from agentctl.storage.port import Store
from agentctl.times import SystemClock


class LocalEngine:
    """The agents of one program; made within its event loop."""

    def __init__(self, bindings: Sequence[Binding[Any]], options: EngineOptions) -> None:
        names = [binding.spec.name for binding in bindings]
        if len({name.lower() for name in names}) != len(names):
            raise UsageError(f"an agent is there twice: {', '.join(sorted(names))}")
        self._bindings = {binding.spec.name: binding for binding in bindings}
        self._options = options
        self._clock = options.clock or SystemClock()
        self._heard = options.listener or LogListener()
        listener = Remembering(self._heard, self._clock)
        self._warnings = listener.warnings
        self.program = ProgramCore(self._clock, listener, options.entropy)
        self.program.compacts_at = options.compacts_at
        self.program.begin_event = self._begin_event
        self.program.pump_all = self._pump_all
        self.program.at_work = self._at_work
        self.program.can_begin = self._can_begin
        self.program.on_death = self._on_death
        self.agents: dict[str, AgentRuntime] = {}
        self.recovered: Sequence[Recovered] = ()
        self.broken = asyncio.Event()
        self.when_dead: Callable[[], None] | None = None
        self._holding = self._speaking = False
        self._grace_at_most: timedelta | None = None
        self._blocked: Turn | None = None
        self._to_tell: dict[str, list[Asking]] = {}
        self._watched: dict[Address, asyncio.Future[End]] = {}
        self._folders = Folders(self.program)
        self.answering = Answering(
            self.agents, self.program.guard, self.check_alive, self._check_dead
        )
        self._serving = Serving(
            self.answering, self.program, self._told, lambda: list(self._warnings)
        )
        elsewhere = Elsewhere(options)
        self.program.askers = Askers(
            self.answering.ask, self.agents.__contains__, self._told, elsewhere
        )
        timings = LocalTimings(self.agents, self.answering, elsewhere)
        self.program.timings = timings
        self.invoker = HostInvoker(self.answering, timings, self._clock)

    # -- starting

    async def start(self) -> None:
        """Take the folders' locks, recover, and wait until that is done.

        Raises:
            Locked: another program holds one of the folders.
            JournalDamaged, FormatTooNew: a journal can't be trusted; nothing was changed.
            DiskTrouble: a journal can't be written.
        """
        wishes = self._wishes()
        stores = await lock_all(self._bindings, self._options, self.program.timers)
        self._holding = True
        if self._options.watches:
            self.program.turns.watch(self._heard.warned)
        try:
            await self._serving.start(stores)
            self.agents.update(self._start_agents(stores))
        except BaseException:
            await self._serving.close()
            for store in stores.values():
                store.close()
            raise
        self._speaking = True
        self._folders.begin(stores.values())
        if self.program.stopping:  # the signal came while the journals were being read
            self.program.guard(self._say_stopping)
        for found in self.recovered:
            self.program.listener.recovered(found)
        try:
            self._pump_all()
            self.program.settle_soon()
            await self.program.recovered.wait()
            self._check_dead()
            self._attend_to_schedules(wishes)
            self._serving.open()
            while self._to_tell:
                self.program.tell(*self._to_tell.popitem())
        except BaseException:
            if self.program.dead is None:
                await self.stop()
            else:
                await self._hang_up()
                self._let_go()
            raise

    def _start_agents(self, stores: dict[str, Store]) -> dict[str, AgentRuntime]:
        with uncollected():
            agents, self.recovered = start_agents(
                self._bindings, stores, self.program, counts=self._options.counts
            )
        for name, agent in agents.items():
            history = agent.history
            had = [pair for event in history.open.values() for pair in answers_had(name, event)]
            for asked, asking in (*history.to_tell, *had):
                self._to_tell.setdefault(asked, []).append(asking)
            history.to_tell.clear()
        return agents

    def _wishes(self) -> Mapping[str, Sequence[Wish]] | None:
        """What `kavach.toml` says of schedules, checked by the handlers.

        Raises:
            NotFound, BadArguments, UsageError: there is no such handler, or it doesn't fit.
        """
        if self._options.filed is None:
            return None
        wishes: dict[str, list[Wish]] = {}
        for request in self._options.filed:
            if request.agent in self._bindings:
                wish = wish_by(self._bindings[request.agent].spec, request)
                wishes.setdefault(request.agent, []).append(wish)
        return wishes

    def _attend_to_schedules(self, wishes: Mapping[str, Sequence[Wish]] | None) -> None:
        if wishes is not None:
            bring_in_line(self.agents, wishes)
        if self._options.schedules:
            with uncollected():
                for agent in self.agents.values():
                    agent.calendar.open()

    def _told(self, agent: str, asking: Asking) -> None:
        if not self.program.stopping:  # else the next start says it again
            self.program.guard(lambda: told.take_note(self.agents[agent], asking))

    def _begin_event(self, event: EventId) -> None:
        name, number = event
        if number in self.agents[name].open:
            self.agents[name].begin(number)
        else:  # it was ended while it waited for its turn
            self.program.passed(name, number)

    def _pump_all(self) -> None:
        for agent in self.agents.values():
            agent.events.pump_soon()

    def _close_rooms(self) -> None:
        """Let those who wait for room hear that there will be none."""
        for agent in self.agents.values():
            agent.room.close()

    def _at_work(self) -> int:
        number = 0
        for agent in self.agents.values():
            number += agent.events.at_work
        return number

    def _can_begin(self) -> bool:
        return any(agent.events.can_begin for agent in self.agents.values())

    @property
    def quiet(self) -> bool:
        """Whether nothing is queued or executing: only time can bring anything about."""
        return not self._at_work()

    @property
    def warnings(self) -> Sequence[Warned]:
        """What this program warned of, the latest last; only the latest are kept."""
        return tuple(self._warnings)

    # -- asking

    def agent(self, name: str) -> AgentRuntime:
        """One of the program's agents.

        Raises:
            NotFound: there is none of that name.
        """
        return self.answering.agent(name)

    def check_alive(self) -> None:
        """Make sure that the program goes on.

        Raises:
            DiskTrouble: the disk failed.
            BaseException: whatever the program is dying of.
        """
        self._check_dead()
        if self.program.stopping:
            raise Interrupted("the program is stopping", hint="ask again when it runs again")

    def _check_dead(self) -> None:
        dead = self.program.dead
        if isinstance(dead, DiskTrouble):
            raise DiskTrouble(dead.message, hint=dead.hint) from dead
        if dead is not None:
            raise dead

    async def submit(self, request: InvokeRequest) -> Address:
        """Accept an event, or join the one that its key stands for; it is durable then.

        Raises:
            NotFound: no such agent or handler.
            BadArguments: the arguments don't fit; nothing was accepted.
            KeyReused, SetAside, LaneFull: what stands in the way; nothing was accepted.
        """
        taken = await self.answering.accept(request, watch=True)
        assert taken.end is not None
        self._watched[taken.event] = taken.end
        return taken.event

    async def ended(self, event: Address) -> Ended:
        """Wait until an event that this program knows comes to rest."""
        waiter = self._watched.pop(event, None)
        if waiter is None:
            assert event.event is not None
            waiter = self.agent(event.agent).ends.wait_for(event.event)
        return (await waiter).ended

    async def others(self) -> None:
        """Wait until no other program waits for an answer of this one."""
        await self._serving.others()

    async def carry_out(self, change: Change) -> Answer:
        """Carry out a change; when this returns, it is durable."""
        return await self.answering.carry_out(change)

    async def idle(self, within_s: float = 0.0) -> Sequence[Address]:
        """Wait until nothing is queued, executing, or due within so many seconds."""
        while not self._is_idle(within_s):
            self._check_dead()
            self.program.moved.clear()
            await self.program.moved.wait()
        if self.program.dead is not None:
            self._check_dead()  # what came to rest may not be on record
        return [
            agent.address(agent.open[number].accepted)
            for agent in self.agents.values()
            for number in sorted(agent.stuck)
        ]

    def _is_idle(self, within_s: float) -> bool:
        if not self.program.gate_open or self._at_work():
            return False
        for agent, asking in self.program.open_asks.values():
            if agent in self.agents and self.answering.is_moving(agent, asking):
                return False
        if any(rest is not None and rest <= within_s for rest in self._rests()):
            return False
        due_s = self.program.timers.next_due_s
        return due_s is None or due_s > self._clock.monotonic_s() + within_s

    def _rests(self) -> Iterator[float | None]:
        return (agent.calendar.rest_s for agent in self.agents.values())

    # -- stopping

    async def stop(self) -> Stopped:
        """Stop gracefully (R12): let running calls end, as long as their grace lasts."""
        program = self.program
        if program.dead is not None:
            await self._hang_up()
            return self._abandon(program.dead)
        if not program.stopping:
            program.stopping = True
            program.guard(self._say_stopping)
        program.clear_queues()
        self._close_rooms()
        settings = {name: binding.settings for name, binding in self._bindings.items()}
        graces = {name: shorter(one.grace, self._grace_at_most) for name, one in settings.items()}
        cut_off = await end_calls(program, graces)
        await asyncio.sleep(0)  # results that came in the last moment go on record
        await self._hang_up()  # who asks now, asks the next holder
        for agent in self.agents.values():
            program.guard(agent.stop)
        if (dead := self.program.dead) is not None:
            return self._abandon(dead)
        self._folders.close()
        program.timers.close()
        program.turns.close()
        program.close_threads()
        return Stopped(self._open_events(), cut_off)

    async def _hang_up(self) -> None:
        await self._serving.close()
        await self.program.askers.close()

    def begin_stop(self, at_most: timedelta | None = None) -> bool:
        """Put on record at once that what is cut off from here on is no crash (R12).

        A signal's handler may call it, in the middle of anything on the loop's thread.

        Args:
            at_most: the longest grace that any call gets; None: its agent's own.

        Returns:
            Whether there is something to stop: not before the folders are held.
        """
        if self._holding and not self.program.stopping:
            self.program.stopping = True
            self._grace_at_most = at_most
            blocked = self.program.turns.blocked()
            self._blocked = None if blocked is None else blocked[0]
            if self._speaking:
                with suppress(DiskTrouble):  # the next write says so, where it can be told
                    self._say_stopping()
            # A start that is under way has nothing more to wait for, and who waits for room, too.
            self.program.loop.call_soon_threadsafe(self.program.recovered.set)
            self.program.loop.call_soon_threadsafe(self._close_rooms)
        return self._holding

    def break_off(self) -> None:
        """Put on record that the program ends under a handler that blocked before the stop.

        Such an end isn't a graceful one for it: else each start would run into it again (R10).
        """
        if self._blocked is not None and self.program.dead is None:
            with suppress(DiskTrouble):  # it ends either way
                self.program.turns.break_off(self._blocked)

    def _say_stopping(self) -> None:
        for agent in self.agents.values():
            agent.say_stopping()

    def _open_events(self) -> int:
        return sum(len(agent.open) for agent in self.agents.values())

    def _on_death(self, error: BaseException) -> None:
        told: BaseException = error
        if isinstance(error, SystemExit | KeyboardInterrupt):
            told = AgentctlError(
                "the program is ending", hint="its events run on at the next start"
            )
        for agent in self.agents.values():
            agent.fail_waiters(told)
        self.answering.fail(told)
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
        self._folders.close()
        self.program.timers.close()
        self.program.turns.close()
        self.program.close_threads()
        for task in (*self.program.tasks, *self.program.asks):
            task.cancel()
        for agent in self.agents.values():
            agent.abandon()
