"""Asking other agents: here, in another program, or of nobody who runs it yet (R16).

A question is asked again after every crash, under the same key and random part, and the asked
side knows it by these: it runs once, and is remembered until the asker has the answer on record.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from msgspec import Raw

from agentctl.core.kept import Asking
from agentctl.engines.local.events.made import Made, failed, result_codec
from agentctl.engines.local.events.questions import Asked, AskRequest, Question
from agentctl.errors import AgentctlError, Interrupted, NotRecordable
from agentctl.sdk.execution import Failure, Result
from agentctl.sdk.ops import AskOp, ResultOp
from agentctl.values import RecordedError, decode_error


class Elsewhere(Protocol):
    """Agents that this program doesn't run."""

    async def ask(self, request: AskRequest, cls: type) -> Asked:
        """Ask whoever runs the agent; wait for the answer, however long."""
        ...

    async def tell(self, agent: str, askings: Sequence[Asking]) -> None:
        """Say that answers are on record here."""
        ...

    async def close(self) -> None:
        """Hang up."""
        ...


class Askers:
    """Asks for the events of one program.

    Args:
        here: answers for an agent that this program runs, as `runs` says.
        told: takes note that the asker has its answer.
    """

    def __init__(
        self,
        here: Callable[[AskRequest, tuple[str, int]], Awaitable[Asked]],
        runs: Callable[[str], bool],
        told: Callable[[str, Asking], None],
        elsewhere: Elsewhere,
    ) -> None:
        self._here = here
        self._runs = runs
        self._told = told
        self._elsewhere = elsewhere
        self._to_tell: dict[str, list[Asking]] = {}
        self._telling: dict[str, asyncio.Task[None]] = {}

    async def ask(self, question: Question) -> Made:
        """Ask, and wait for the answer; what is wrong with the question is an answer, too.

        Raises:
            asyncio.CancelledError: this program stops first; the next start asks again.
        """
        request = question.request
        try:
            if self._runs(request.agent):
                asked = await self._here(request, (question.agent, question.accepted.event))
            else:
                asked = await self._elsewhere.ask(request, question.op.cls)
            return made_of(question.op, asked)
        except Interrupted:
            raise asyncio.CancelledError from None
        except AgentctlError as error:
            return failed(error)

    def tell(self, agent: str, askings: Sequence[Asking]) -> None:
        """Let the asked agent forget answers."""
        if self._runs(agent):
            for asking in askings:
                self._told(agent, asking)
            return
        self._to_tell.setdefault(agent, []).extend(askings)
        if agent not in self._telling:
            self._telling[agent] = asyncio.ensure_future(self._tell(agent))

    async def _tell(self, agent: str) -> None:
        """Tell an agent's folder, one message at a time, of all that has come up meanwhile."""
        try:
            while askings := self._to_tell.pop(agent, None):
                await self._elsewhere.tell(agent, askings)
        finally:
            del self._telling[agent]

    async def close(self) -> None:
        """Give up telling; a later start does it."""
        telling = list(self._telling.values())
        for task in telling:
            task.cancel()
        await asyncio.gather(*telling, return_exceptions=True)
        await self._elsewhere.close()


def made_of(op: AskOp | ResultOp, asked: Asked) -> Made:
    """The answer as the handler gets it."""
    if isinstance(asked.value, Raw):
        raw = bytes(asked.value)
        try:
            return Made(Result(result_codec(op).decode(raw)), raw)
        except NotRecordable as error:
            who = f"{op.agent}.{op.sent.handler}" if isinstance(op, ResultOp) else op.target.shown
            what = f"{who} answered {error.message}"
            return failed(NotRecordable(what, path=error.path))
    assert asked.type is not None
    args = bytes(asked.args) if isinstance(asked.args, Raw) else None
    recorded = RecordedError(asked.type, args, asked.text)
    return Made(Failure(decode_error(recorded)), error=recorded)
