"""Agents that this program doesn't run: asked over their socket, or by their journal (R16).

Where no program runs the asked agent, the question is accepted into its journal under its lock,
and waits; who asks looks again until somebody runs it. Nothing here touches this program's own
journals, and what blocks runs in a thread.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from agentctl.core.event_history import EndRecord
from agentctl.core.kept import Asking
from agentctl.engines.local.asking import deadlocks, queries
from agentctl.engines.local.asking.checking import wanted_by
from agentctl.engines.local.changing import cold
from agentctl.engines.local.changing.leaving import leave
from agentctl.engines.local.control import AsyncControl, ControlGone
from agentctl.engines.local.control.wire import Told
from agentctl.engines.local.events.outcomes import of_record
from agentctl.engines.local.events.questions import Asked, AskRequest, answer_of
from agentctl.engines.local.options import EngineOptions
from agentctl.engines.local.running.agent import members_of
from agentctl.errors import AgentctlError, Damaged, DiskTrouble, Locked, NotFound
from agentctl.names import Address
from agentctl.record_moves import ToldRecord
from agentctl.sdk.agent import spec_of
from agentctl.storage.files.folder import FilesStore
from agentctl.storage.files.places import agent_folder
from agentctl.storage.port import Store
from agentctl.times import SystemClock

T = TypeVar("T")
log = logging.getLogger("agentctl")

_FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 1.0
_ANSWERS: Final = frozenset({1, 2, 3, 4})
"""Exit codes of errors that are an answer; any other says that nobody can answer just now."""


class Elsewhere:
    """What this program asks of agents that it doesn't run."""

    def __init__(self, options: EngineOptions) -> None:
        self._options = options
        self._clock = options.clock or SystemClock()
        self._troubled: set[Asking] = set()
        self._controls: dict[str, AsyncControl] = {}
        self._connecting: dict[str, asyncio.Lock] = {}

    async def ask(self, request: AskRequest, cls: type) -> Asked:
        """Ask whoever runs the agent, and wait for the answer, however long.

        Raises:
            NotFound, BadArguments, WouldDeadlock: it can't be asked.
        """
        pause_s = _FIRST_PAUSE_S
        seen: object = None
        while True:
            try:
                return await self._of_its_program(request)
            except ControlGone:
                pass
            except AgentctlError as error:
                if error.exit_code in _ANSWERS:
                    raise
            if (now := self._look(request.agent)) != seen or seen is None:
                found = await self._of_its_folder(request, cls)
                if found is not None:
                    return found
                seen = self._look(request.agent) if now is not None else None
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    async def _of_its_program(self, request: AskRequest) -> Asked:
        return await self._call(request.agent, "ask", request, Asked)

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

    async def _of_its_folder(self, request: AskRequest, cls: type) -> Asked | None:
        try:
            return await self._in_thread(lambda: self._of_its_journal(request, cls))
        except (DiskTrouble, Damaged) as error:
            # No answer: the question may be on record there, and will be answered.
            if request.asking not in self._troubled:
                self._troubled.add(request.asking)
                log.warning("%s waits: %s; it is asked again", request.from_, error.message)
            return None

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

    def _of_its_journal(self, request: AskRequest, cls: type) -> Asked | None:
        """Answer from the journal of an agent that nobody runs, or leave the question there."""
        spec = spec_of(cls)
        wanted = None if request.query else wanted_by(spec, request)
        if wanted is not None:
            deadlocks.check_line(spec, request)
        try:
            with self._opened(request.agent) as ground:
                if wanted is None:
                    return _read(ground, request, cls)
                history = ground.history
                number = history.kept.untold.get(request.asking)
                if number is not None:
                    return _answer(ground, number)
                aside = any(
                    (one.from_, one.asker) == request.asking for one in history.asides.values()
                )
                if request.asking not in history.asked and not aside:
                    leave(ground, wanted)
        except Locked:
            pass  # somebody has begun to run it
        return None

    def _opened(self, agent: str) -> cold.Opening:
        return cold.opened(self._store(agent), agent, clock=self._clock, wait_s=0.0)

    def _store(self, agent: str) -> Store:
        make = self._options.stores or FilesStore
        return make(self._options.root, agent)

    async def tell(self, agent: str, askings: Sequence[Asking]) -> None:
        """Say that answers are on record here; if nobody can be told, a later start says it."""
        try:
            await self._call(agent, "told", Told(askings), bool)
        except AgentctlError:
            if self._look(agent) is not None:
                await self._in_thread(lambda: self._tell_journal(agent, askings))

    def _tell_journal(self, agent: str, askings: Sequence[Asking]) -> None:
        try:
            with self._opened(agent) as ground:
                untold = ground.history.kept.untold
                known = [one for one in askings if one in untold]
                now_us = ground.now_us()
                records = [ToldRecord(one[0], untold[one], at=now_us) for one in known]
                if records:
                    ground.commit(records)
        except (Locked, NotFound, DiskTrouble, Damaged):
            return  # it is remembered there until the next start here


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
