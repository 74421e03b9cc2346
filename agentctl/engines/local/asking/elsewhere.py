"""Agents that this program doesn't run: asked over their socket, or by their journal (R16).

Where no program runs the asked agent, the question is accepted into its journal under its lock,
and waits; who asks looks again until somebody runs it. Nothing here touches this program's own
journals, and what blocks runs in a thread.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Generic, TypeVar

from agentctl.core.event_history import EndRecord
from agentctl.core.kept import Asking
from agentctl.core.timing import Sent
from agentctl.engines.changes import ANSWERS, Answer, Change
from agentctl.engines.local.asking import deadlocks, queries
from agentctl.engines.local.asking.checking import wanted_by
from agentctl.engines.local.asking.outcomes import gone, number_for
from agentctl.engines.local.asking.sending import send
from agentctl.engines.local.changing import cold, operations
from agentctl.engines.local.control import AsyncControl, ControlGone
from agentctl.engines.local.control.wire import Told
from agentctl.engines.local.events.effects import OutcomeRequest, SendRequest
from agentctl.engines.local.events.made import members_of
from agentctl.engines.local.events.outcomes import of_outcome, of_record
from agentctl.engines.local.events.questions import Asked, AskRequest, answer_of
from agentctl.engines.local.options import EngineOptions
from agentctl.engines.local.running.accepting import find_same, number_of
from agentctl.errors import AgentctlError, Damaged, DiskTrouble, Interrupted, Locked, NotFound
from agentctl.names import Address
from agentctl.sdk.agent import spec_of
from agentctl.storage.files.folder import FilesStore
from agentctl.storage.files.places import agent_folder
from agentctl.storage.port import Store
from agentctl.times import SystemClock

T = TypeVar("T")
log = logging.getLogger("agentctl")

_FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 1.0
_TELLING: Final = 6
"""So often it is tried to say that answers are here; a later start says it, too."""

_ANSWERS: Final = frozenset({1, 2, 3, 4})
"""Exit codes of errors that are an answer; any other says that nobody can answer just now."""


@dataclass(frozen=True)
class _Errand(Generic[T]):
    """Something that is asked of an agent until there is an answer.

    Attributes:
        who: asks, for people.
        at_journal: asks the journal, where no program runs the agent: the answer, None if there
            is none yet, and how the journal looked then.
    """

    agent: str
    method: str
    params: object
    returns: type[T]
    who: str
    at_journal: Callable[[], tuple[T | None, object]]


class Elsewhere:
    """What this program asks of agents that it doesn't run."""

    def __init__(self, options: EngineOptions) -> None:
        self._options = options
        self._clock = options.clock or SystemClock()
        self._troubled: set[str] = set()
        self._controls: dict[str, AsyncControl] = {}
        self._connecting: dict[str, asyncio.Lock] = {}

    async def ask(self, request: AskRequest, cls: type) -> Asked:
        """Ask whoever runs the agent, and wait for the answer, however long.

        Raises:
            NotFound, BadArguments, WouldDeadlock: it can't be asked.
        """
        at_journal = partial(self._ask_journal, request, cls)
        return await self._run(
            _Errand(request.agent, "ask", request, Asked, request.from_, at_journal)
        )

    async def send(self, request: SendRequest, cls: type) -> Sent:
        """Let an agent accept an event or set a schedule.

        Raises:
            NotFound, BadArguments, Conflict: it can't.
        """

        def at_journal() -> tuple[Sent | None, object]:
            with self._opened(request.agent) as ground:
                return send(ground, spec_of(cls), request), None

        return await self._run(
            _Errand(request.agent, "send", request, Sent, request.id, at_journal)
        )

    async def outcome(self, request: OutcomeRequest) -> Asked:
        """Wait for the outcome of what a timing made.

        Raises:
            OutcomeGone: nothing is kept of it.
        """
        at_journal = partial(self._outcome_in_journal, request)
        who = f"the outcome of {request.agent}.{request.handler}"
        return await self._run(_Errand(request.agent, "outcome", request, Asked, who, at_journal))

    async def carry_out(self, change: Change) -> Answer:
        """Have a change carried out."""

        def at_journal() -> tuple[Answer | None, object]:
            with self._opened(change.agent) as ground:
                return operations.carry_out(ground, change), None

        returns: type[Answer] = ANSWERS[type(change)]
        return await self._run(
            _Errand(change.agent, "change", change, returns, change.id, at_journal)
        )

    async def _run(self, errand: _Errand[T]) -> T:
        """Ask again and again, until somebody answers or the journal does."""
        pause_s = _FIRST_PAUSE_S
        seen: object = None
        try:
            while True:
                answer = await self._of_its_program(errand)
                if answer is None and (seen is None or self._look(errand.agent) != seen):
                    found = await self._of_its_folder(errand)
                    answer, seen = found
                if answer is not None:
                    return answer
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        finally:
            self._troubled.discard(errand.who)

    async def _of_its_program(self, errand: _Errand[T]) -> T | None:
        """The answer of the program that runs the agent; None: it gives none, or none runs it."""
        try:
            return await self._call(errand.agent, errand.method, errand.params, errand.returns)
        except (ControlGone, Interrupted):
            return None
        except AgentctlError as error:
            if error.exit_code in _ANSWERS:
                raise
            self._say_that_it_waits(errand.who, error)
            return None

    async def _call(self, agent: str, method: str, params: object, returns: type[T]) -> T:
        """Ask the program that runs an agent, over the one connection to it."""
        control = await self._connected(agent)
        try:
            return await control.call(method, params, returns)
        except ControlGone:
            if self._controls.get(agent) is control:
                del self._controls[agent]
            await control.close()
            raise

    async def _connected(self, agent: str) -> AsyncControl:
        async with self._connecting.setdefault(agent, asyncio.Lock()):
            if agent not in self._controls:
                self._controls[agent] = await AsyncControl.connect(self._folder(agent))
            return self._controls[agent]

    async def close(self) -> None:
        """Hang up."""
        controls = list(self._controls.values())
        self._controls.clear()
        for control in controls:
            await control.close()

    async def _of_its_folder(self, errand: _Errand[T]) -> tuple[T | None, object]:
        """The answer in the agent's journal, and how that looks; None: try again in any case."""
        looked = self._look(errand.agent)
        try:
            return await self._in_thread(errand.at_journal)
        except Locked:
            return None, None  # somebody has begun to run it, or is at its journal for a moment
        except (DiskTrouble, Damaged) as error:
            # No answer: the question may be on record there, and will be answered.
            self._say_that_it_waits(errand.who, error)
            return None, looked if isinstance(error, Damaged) else None

    def _say_that_it_waits(self, who: str, error: AgentctlError) -> None:
        if who not in self._troubled:
            self._troubled.add(who)
            log.warning("%s waits: %s; it is asked again", who, error.message)

    def _folder(self, agent: str) -> str:
        return agent_folder(self._options.root, agent)

    def _look(self, agent: str) -> object:
        """What shows whether somebody changed the agent's journal; None: there is none."""
        try:
            found = (self._options.root / "agents" / agent / "journal").stat()
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(None, work)

    def _ask_journal(self, request: AskRequest, cls: type) -> tuple[Asked | None, object]:
        """Answer from the journal of an agent that nobody runs, or leave the question there.

        Returns:
            The answer if there is one, and how the journal looked under its lock.
        """
        spec = spec_of(cls)
        wanted = None if request.query else wanted_by(spec, request)
        if wanted is not None:
            deadlocks.check_line(spec, request)
        with self._opened(request.agent) as ground:
            if wanted is None:
                return _read(ground, request, cls), None
            history = ground.history
            number = history.event_for(request.asking)
            if number is None and wanted.once and (same := find_same(spec.name, history, wanted)):
                number = number_of(same)
            answer = None if number is None else _kept_answer(ground, number)
            if answer is not None:
                return answer, None
            if number is None and not history.lies_aside(request.asking):
                ground.accept(wanted)
            return None, self._look(request.agent)

    def _outcome_in_journal(self, request: OutcomeRequest) -> tuple[Asked | None, object]:
        """The outcome that is kept in the journal of an agent that nobody runs, if it has one."""
        with self._opened(request.agent) as ground:
            number = number_for(ground.history, request)
            if number is None or number in ground.history.open or number in ground.history.asides:
                return None, self._look(request.agent)
            answer = _kept_answer(ground, number)
            if answer is not None:
                return answer, None
        raise gone(request)

    def _opened(self, agent: str) -> cold.Opening:
        return cold.opened(self._store(agent), agent, clock=self._clock, wait_s=0.0)

    def _store(self, agent: str) -> Store:
        make = self._options.stores or FilesStore
        return make(self._options.root, agent)

    async def tell(self, agent: str, askings: Sequence[Asking]) -> None:
        """Say that answers are on record here; if nobody can be told, a later start says it."""
        pause_s = _FIRST_PAUSE_S
        for _ in range(_TELLING):
            if await self._tell(agent, askings):
                return
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    async def _tell(self, agent: str, askings: Sequence[Asking]) -> bool:
        """Say it once; returns whether another try is of no use."""
        try:
            return await self._call(agent, "told", Told(askings), bool)
        except AgentctlError:
            if self._look(agent) is None:
                return True
            return await self._in_thread(lambda: self._tell_journal(agent, askings))

    def _tell_journal(self, agent: str, askings: Sequence[Asking]) -> bool:
        try:
            with self._opened(agent) as ground:
                now_us = ground.now_us()
                told = (ground.history.told_record(one, now_us) for one in askings)
                records = [record for record in told if record is not None]
                if records:
                    ground.commit(records)
                    # Crash here: the agent's next start may forget the answers.
        except Locked:
            return False
        except (NotFound, DiskTrouble, Damaged):
            pass  # it is remembered there until the next start here
        return True


def _kept_answer(ground: cold.ColdGround, number: int) -> Asked | None:
    """How an event ended, if it did and that is kept."""
    if number in ground.history.kept.events:
        return _answer(ground, number)
    outcome = ground.history.outcomes.of_event(number)
    if outcome is None:
        return None
    return answer_of(of_outcome(Address(ground.agent, outcome.of, number), outcome))


def _answer(ground: cold.ColdGround, number: int) -> Asked:
    event = ground.history.kept.events[number]
    end: EndRecord | None = event.end
    assert end is not None
    address = Address(ground.agent, event.accepted.of, number)
    return answer_of(of_record(address, event.accepted.handler, end))


def _read(ground: cold.ColdGround, request: AskRequest, cls: type) -> Asked:
    kept = ground.history.states.get(request.identity)
    members = {} if kept is None else members_of(kept.state)
    return queries.answer(cls, request, members)
