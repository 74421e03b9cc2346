"""Serving: the control socket of every agent that a program runs, and what may be asked there.

A socket listens from the moment when the folder is locked: who asks during the recovery waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from agentctl.core.kept import Asking
from agentctl.engines.changes import Change, Invoked
from agentctl.engines.local.asking.answering import Answering
from agentctl.engines.local.control import ControlServer
from agentctl.engines.local.control.wire import Nothing, Rest, Told, WaitRequest
from agentctl.engines.local.events.effects import OutcomeRequest, SendRequest
from agentctl.engines.local.events.questions import AskRequest
from agentctl.engines.local.looking.inside import look
from agentctl.engines.local.running.program import ProgramCore
from agentctl.engines.port import InvokeRequest, Warned
from agentctl.engines.schedules import SetRequest
from agentctl.engines.views import Inside
from agentctl.errors import DiskTrouble, Interrupted, UsageError
from agentctl.storage.port import Store

T = TypeVar("T")


class Serving:
    """Serves the sockets of a program's agents.

    Args:
        told: takes note that askers have their answers.
        warnings: what was warned of lately.
    """

    def __init__(
        self,
        answering: Answering,
        program: ProgramCore,
        told: Callable[[str, Asking], None],
        warnings: Callable[[], list[Warned]],
    ) -> None:
        self._answering = answering
        self._program = program
        self._told = told
        self._warnings = warnings
        self._servers: list[ControlServer] = []
        self._open = asyncio.Event()
        self._under_way = 0
        self._none = asyncio.Event()
        self._none.set()

    async def start(self, stores: Mapping[str, Store]) -> None:
        """Listen; what is asked is answered from `open` on."""
        for name, store in stores.items():
            if store.path_on_disk is None:
                continue
            server = ControlServer(store.path_on_disk, self._methods(name))
            try:
                await server.start()
            except DiskTrouble as trouble:
                # Some file systems have no sockets; the agent runs all the same.
                text = f"{name}: commands can't reach this program: {trouble.message}"
                self._program.listener.warned(text)
            else:
                self._servers.append(server)

    def open(self) -> None:
        """Answer from now on: the start has recovered what was unfinished."""
        self._open.set()

    async def close(self) -> None:
        """Hang up; who asks again finds the next holder."""
        await asyncio.gather(*(server.close() for server in self._servers))

    def _methods(self, agent: str) -> dict[str, Callable[[Raw], Awaitable[object]]]:
        here: dict[str, tuple[Any, Callable[..., Awaitable[object]]]] = {
            "invoke": (InvokeRequest, self._invoke),
            "wait": (WaitRequest, partial(self._wait, agent)),
            "change": (Change, self._answering.carry_out),
            "ask": (AskRequest, self._answering.ask),
            "send": (SendRequest, self._answering.send),
            "outcome": (OutcomeRequest, self._answering.outcome),
            "schedule": (SetRequest, self._answering.schedule),
            "told": (Told, partial(self._take_note, agent)),
            "look": (Nothing, partial(self._look, agent)),
        }
        return {name: self._method(agent, kind, method) for name, (kind, method) in here.items()}

    def _method(
        self, agent: str, kind: Any, method: Callable[..., Awaitable[object]]
    ) -> Callable[[Raw], Awaitable[object]]:
        decoder = msgspec.json.Decoder(kind)

        async def answer(params: Raw) -> object:
            try:
                request = decoder.decode(params)
            except msgspec.MsgspecError as error:
                raise UsageError(
                    f"this request can't be understood: {error}",
                    hint="who asks may be of another version than the running program",
                ) from None
            asked = getattr(request, "agent", agent)
            if asked != agent:
                raise UsageError(
                    f"this is the socket of {agent}, and {asked} is asked for",
                    hint=f"ask at the folder of {asked}",
                )
            with self._one_more():
                await self._open.wait()
                return await method(request)

        return answer

    @contextmanager
    def _one_more(self) -> Iterator[None]:
        self._under_way += 1
        self._none.clear()
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._none.set()

    async def others(self) -> None:
        """Wait until nobody waits for an answer."""
        await self._none.wait()

    async def _invoke(self, request: InvokeRequest) -> Invoked:
        runtime = self._answering.agent(request.agent)
        if request.handler in runtime.spec.queries:
            return Invoked(result=Raw(await self._answering.query(request)))
        taken = await self._answering.accept(request, watch=request.waits)
        return Invoked(str(taken.event), taken.joined)

    async def _wait(self, agent: str, request: WaitRequest) -> Rest:
        end = await self._answering.agent(agent).ends.wait_for(request.event)
        return Rest.of(end.ended)

    async def _take_note(self, agent: str, told: Told) -> bool:
        if self._program.stopping:
            raise Interrupted("the program is stopping", hint="say it again when it runs again")
        for asking in told.askings:
            self._told(agent, asking)
        return True

    async def _look(self, agent: str, _: Nothing) -> Inside:
        return look(self._answering.agent(agent), self._program, self._warnings())
