"""Answering: what a running program does for who asks it, in this process or over its sockets.

An answer is given once what it says is durable. Arguments are checked by the agent's own handler,
before anything is on record.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from agentctl.core.kept import Asking
from agentctl.core.lanes import rank_of
from agentctl.core.suspicion import EventId
from agentctl.core.timing import Sent
from agentctl.engines.changes import Accepted, Answer, Change
from agentctl.engines.local.asking import deadlocks, queries
from agentctl.engines.local.asking.checking import arguments_of, wanted_by, wanted_of
from agentctl.engines.local.asking.deadlocks import Waits
from agentctl.engines.local.asking.outcomes import (
    as_question,
    end_for,
    is_over,
    number_when_made,
    outcome_request,
)
from agentctl.engines.local.asking.sending import send, set_schedule
from agentctl.engines.local.changing.live import LiveGround
from agentctl.engines.local.changing.operations import carry_out
from agentctl.engines.local.events.effects import OutcomeRequest, Sender, SendRequest
from agentctl.engines.local.events.endings import End
from agentctl.engines.local.events.questions import Asked, AskRequest, answer_of
from agentctl.engines.local.running.accepting import Wanted, find_same, number_of
from agentctl.engines.local.running.agent import AgentRuntime
from agentctl.engines.local.running.waiters import Waiter
from agentctl.engines.port import InvokeRequest
from agentctl.engines.schedules import Scheduled, SetRequest
from agentctl.errors import AgentctlError, AgentError, LaneFull, NotFound
from agentctl.names import Address
from agentctl.nearest import nearest_hint
from agentctl.sdk.fields import AgentSpec


@dataclass(frozen=True)
class Taken:
    """An invocation that is on record.

    Attributes:
        end: its end, for who asked to watch.
        joined: it was there already.
    """

    event: Address
    end: Waiter | None
    joined: bool


class Answering:
    """Answers for the agents of one program.

    Args:
        guard: runs what changes an agent, so that nothing goes on once something is broken.
        check_alive: raises if nothing new begins; `check_dead` if nothing goes on.
    """

    def __init__(
        self,
        agents: Mapping[str, AgentRuntime],
        guard: Callable[[Callable[[], None]], None],
        check_alive: Callable[[], None],
        check_dead: Callable[[], None],
    ) -> None:
        self._agents = agents
        self._guard = guard
        self.check_alive = check_alive
        self._check_dead = check_dead
        self._accepting: set[asyncio.Future[None]] = set()
        self.waits = Waits()

    def agent(self, name: str) -> AgentRuntime:
        """One of the program's agents.

        Raises:
            NotFound: there is none of that name.
        """
        found = self._agents.get(name)
        if found is None:
            raise NotFound(
                f"there is no agent {name!r} here", hint=nearest_hint(name, self._agents, "agents")
            )
        return found

    def fail(self, error: BaseException) -> None:
        """Tell everybody who waits for something to be durable that it won't be."""
        for durable in self._accepting:
            if not durable.done():
                durable.set_exception(error)

    # -- invocations

    async def accept(self, request: InvokeRequest, *, watch: bool) -> Taken:
        """Put an event on record, or find the one that its key stands for; durable on return.

        Args:
            watch: somebody is going to wait for the end.

        Raises:
            NotFound: no such agent or handler.
            BadArguments: the arguments don't fit; nothing was accepted.
            KeyReused, SetAside, LaneFull: what stands in the way; nothing was accepted.
        """
        self.check_alive()
        runtime = self.agent(request.agent)
        taken = self._accept(runtime, request, watch=watch, has_place=False)
        if taken is None:
            async with runtime.room.place(rank_of(request.priority)):
                # No await in here: what stands in the way, or is there already, is seen as it is.
                taken = self._accept(runtime, request, watch=watch, has_place=True)
            assert taken is not None
        await self.durable(runtime)
        return taken

    def _accept(
        self, runtime: AgentRuntime, request: InvokeRequest, *, watch: bool, has_place: bool
    ) -> Taken | None:
        """As `accept`, but not durable yet; None: it has to wait for a place first."""
        self.check_alive()
        answered = runtime.history.answer_to(request.id)
        if answered is not None:
            told = msgspec.json.decode(answered.value, type=Accepted)
            return self._take(runtime, Address.parse(told.event).event or 0, (told.joined, watch))
        wanted = wanted_of(runtime.spec, request)
        runtime.forget_old_outcomes()
        same = find_same(runtime.name, runtime.history, wanted)
        rank = rank_of(wanted.priority)
        if same is None and wanted.due_us is None and not has_place and runtime.room.is_full(rank):
            if request.if_full == "wait":
                return None
            raise LaneFull(
                f"{runtime.room.count(rank)} events of {runtime.name} wait to begin already "
                f"with priority {wanted.priority}",
                hint="try again later; or wait for room: --if-full wait",
            )
        number = self.put(runtime, wanted) if same is None else number_of(same)
        return self._take(runtime, number, (same is not None, watch))

    def _take(self, runtime: AgentRuntime, number: int, how: tuple[bool, bool]) -> Taken:
        joined, watch = how
        waiter = runtime.ends.wait_for(number) if watch else None
        return Taken(runtime.ends.address_of(number), waiter, joined=joined)

    def put(self, runtime: AgentRuntime, wanted: Wanted) -> int:
        """Put an event on record; it is accepted once that is durable."""
        numbers: list[int] = []
        self._guard(lambda: numbers.append(runtime.accept(wanted)))
        self._check_dead()
        return numbers[0]

    async def durable(self, runtime: AgentRuntime) -> None:
        """Wait until everything that is on record of an agent is durable."""
        durable: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._accepting.add(durable)
        runtime.when_durable(functools.partial(_resolve, durable))
        try:
            await durable  # nothing stands between: who asked hears it before a call can begin
        finally:
            self._accepting.discard(durable)
        self._check_dead()

    # -- changes

    async def carry_out(self, change: Change) -> Answer:
        """Carry out a change, and answer once that is durable."""
        return await self._change(change.agent, lambda ground, _: carry_out(ground, change))

    async def schedule(self, request: SetRequest) -> Scheduled:
        """Set a schedule; it is durable on return."""
        return await self._change(
            request.agent, lambda ground, spec: set_schedule(ground, spec, request)
        )

    async def send(self, request: SendRequest) -> Sent:
        """Accept an event or set a schedule, as another agent or a host asks; durable on return."""
        return await self._change(request.agent, lambda ground, spec: send(ground, spec, request))

    async def _change(self, agent: str, work: Callable[[LiveGround, AgentSpec], T]) -> T:
        self.check_alive()
        runtime = self.agent(agent)
        answers: list[T | AgentctlError] = []

        def now() -> None:
            try:
                answers.append(work(LiveGround(runtime), runtime.spec))
            except AgentctlError as error:
                if error.exit_code in NO_ANSWER:
                    raise
                answers.append(error)

        self._guard(now)
        if not answers:
            self._check_dead()
        answer = answers[0]
        if isinstance(answer, AgentctlError):
            raise answer
        await self.durable(runtime)
        return answer

    # -- questions of other agents

    async def ask(self, request: AskRequest, asker: EventId | None = None) -> Asked:
        """Answer another agent's question, however long that takes.

        Args:
            asker: the asking event, where it runs in this program, too.

        Raises:
            NotFound, BadArguments, WouldDeadlock: it can't be asked.
        """
        self.check_alive()
        runtime = self.agent(request.agent)
        if request.query:
            identity = runtime.spec.check_identity(request.identity)
            return queries.answer(runtime.cls, request, runtime.state_of(identity))
        history, asking = runtime.history, request.asking
        number = history.kept.untold.get(asking)
        if number is not None:
            answer = answer_of(runtime.ends.end_of(number))
            await self.durable(runtime)
            return answer
        number = history.asked.get(asking)
        if number is None and not history.lies_aside(asking):
            wanted = wanted_by(runtime.spec, request)
            same = find_same(runtime.name, history, wanted)
            if same is not None:
                return await self._joined(runtime, number_of(same), request, asker=asker)
            deadlocks.check(self._agents, self.waits, request, asker)
            number = self.put(runtime, wanted)
        elif number is not None and asker is not None:
            # Asked before a crash; what closes a circle with it may have come since the start.
            self._check_known((runtime.name, number), request, asker)
        asked = None if number is None else (runtime.name, number)
        waiter = runtime.waiters.wait_for_answer(asking)
        with self.waits.between(asker, asked):
            return answer_of(await waiter)

    async def _joined(
        self, runtime: AgentRuntime, number: int, request: AskRequest, *, asker: EventId | None
    ) -> Asked:
        """Answer with the end of a workflow's run that others asked for before."""
        if asker is not None and number in runtime.open:
            self._check_known((runtime.name, number), request, asker)
        with self.waits.between(asker, (runtime.name, number)):
            while number in runtime.open:  # that it is stuck is no answer
                await runtime.waiters.wait_for(number)
        await self.durable(runtime)
        return answer_of(runtime.ends.end_of(number))

    async def outcome(self, request: OutcomeRequest, sender: Sender | None = None) -> Asked:
        """Answer with the outcome of what a timing made, however long that takes.

        Args:
            sender: the event that waits, where it runs in this program, too.

        Raises:
            OutcomeGone: nothing is kept of it.
            WouldDeadlock: it would wait for who waits.
        """
        self.check_alive()
        runtime = self.agent(request.agent)
        if sender is None:
            return answer_of(await self.end_for(request))
        return answer_of(await self._end_for_event(runtime, request, sender))

    async def _end_for_event(
        self, runtime: AgentRuntime, request: OutcomeRequest, sender: Sender
    ) -> End:
        """Wait for an end for an event of this program, unless that would wait for it."""
        question = as_question(request, sender)
        asker = (sender.agent, sender.accepted.event)
        if request.event is None:
            deadlocks.check(self._agents, self.waits, question, asker)
        number = await number_when_made(runtime, request)
        if number in runtime.open:
            self._check_known((runtime.name, number), question, asker)
        with self.waits.between(asker, (runtime.name, number)):
            return await self.end_for(request)

    def _check_known(self, asked: EventId, request: AskRequest, asker: EventId) -> None:
        deadlocks.check(self._agents, self.waits, request, asker)
        deadlocks.check_event(self._agents, self.waits, asked, request, asker=asker)

    async def end_for(self, request: OutcomeRequest) -> End:
        """Wait until what a timing made has ended, however long; that is durable on return.

        Raises:
            OutcomeGone: nothing is kept of it.
        """
        self.check_alive()
        runtime = self.agent(request.agent)
        end = await end_for(runtime, request)
        await self.durable(runtime)
        return end

    def is_moving(self, agent: str, waited: Asking | Sent) -> bool:
        """Whether what an event waits for, of an agent here, is about to be asked or answered.

        Args:
            waited: a question, or what a timing made.
        """
        history = self._agents[agent].history
        if isinstance(waited, Sent):
            return is_over(history, outcome_request(waited))
        if waited in history.asked:
            return False  # that event says by itself where it stands
        return not history.lies_aside(waited)

    async def query(self, request: InvokeRequest) -> bytes:
        """Read an instance's committed state by a query, and return its result as JSON."""
        self.check_alive()
        runtime = self.agent(request.agent)
        signature = runtime.spec.queries.get(request.handler)
        if signature is None:
            raise queries.no_such(runtime.spec, request.handler)
        given = arguments_of(signature, request)
        named = msgspec.json.encode(given.kwargs) if given.kwargs else None
        args, kwargs = signature.decode(msgspec.json.encode(list(given.args)), named)
        state = runtime.state_of(runtime.spec.check_identity(request.identity))
        try:
            query = (request.handler, args, kwargs)
            return queries.read(runtime.cls, request.identity, state, query)
        except AgentError as error:  # JSON can't carry it to the caller
            raise queries.failed(signature.title, error) from error


T = TypeVar("T")

NO_ANSWER = frozenset({70, 74})
"""Exit codes of what is no answer, but the end of everything."""


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
