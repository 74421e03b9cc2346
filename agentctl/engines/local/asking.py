"""Asking other agents: here, in another program, or of nobody who runs it yet (R16).

A question is asked again after every crash, under the same key and random part, and the asked
side knows it by these: it runs once, and is remembered until the asker has the answer on record.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from msgspec import UNSET, Raw, Struct, UnsetType

from agentctl.core.kept import Asking
from agentctl.engines.local.calls import Made, failed, result_codec
from agentctl.engines.local.endings import End
from agentctl.errors import AgentctlError, Cancelled, NotRecordable
from agentctl.names import Identity, format_instance
from agentctl.record_moves import CancelledRecord
from agentctl.records import DoneRecord, EventRecord, FailedRecord
from agentctl.sdk.execution import AskOp, Failure, Result, Target
from agentctl.values import RecordedError, decode_error


class AskRequest(Struct, frozen=True, omit_defaults=True, rename={"from_": "from"}):
    """A question as the asked side gets it.

    Attributes:
        from_: the asking call's key; `asker` the random part of its event.
        behind: the instances that wait for the answer, from the asking one outwards.
        query: it only reads the committed state.
    """

    agent: str
    identity: Identity
    handler: str
    args: Raw
    kwargs: Raw | UnsetType
    from_: str
    asker: str
    behind: tuple[str, ...] = ()
    query: bool = False

    @property
    def asking(self) -> Asking:
        """Who asks."""
        return self.from_, self.asker


class Asked(Struct, frozen=True, omit_defaults=True):
    """The answer: a result, or an error as recorded there."""

    value: Raw | UnsetType = UNSET
    type: str | None = None
    args: Raw | UnsetType = UNSET
    text: str = ""


class Question(Struct, frozen=True):
    """What a handler asks.

    Attributes:
        key: the asking call's key.
        agent: the asking agent.
        exclusive: the asking event holds its instance.
    """

    op: AskOp
    key: str
    agent: str
    accepted: EventRecord
    exclusive: bool

    @property
    def request(self) -> AskRequest:
        """The question as the asked side gets it."""
        op, accepted = self.op, self.accepted
        asking = (format_instance(self.agent, accepted.of),) if self.exclusive else ()
        return AskRequest(
            op.target.agent,
            op.target.identity,
            op.target.name,
            Raw(op.args),
            UNSET if op.kwargs is None else Raw(op.kwargs),
            self.key,
            accepted.nonce,
            behind=(*asking, *accepted.behind),
            query=op.query,
        )


class Elsewhere(Protocol):
    """Agents that this program doesn't run."""

    async def ask(self, request: AskRequest) -> Asked:
        """Ask whoever runs the agent; wait for the answer, however long."""
        ...

    async def tell(self, agent: str, from_: str, asker: str) -> None:
        """Say that an answer is on record, once; nobody need hear it."""
        ...


class Askers:
    """Asks for the events of one program.

    Args:
        here: answers for an agent that this program runs; None for one that it doesn't.
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
        self._telling: set[asyncio.Task[None]] = set()

    async def ask(self, question: Question) -> Made:
        """Ask, and wait for the answer; what is wrong with the question is an answer, too."""
        request = question.request
        try:
            if self._runs(request.agent):
                asked = await self._here(request, (question.agent, question.accepted.event))
            else:
                asked = await self._elsewhere.ask(request)
            return _made(question.op, asked)
        except AgentctlError as error:
            return failed(error)

    def tell(self, target: Target, from_: str, asker: str) -> None:
        """Let the asked agent forget the answer."""
        if self._runs(target.agent):
            self._told(target.agent, (from_, asker))
            return
        work = self._elsewhere.tell(target.agent, from_, asker)
        task = asyncio.ensure_future(work)
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def close(self) -> None:
        """Give up telling; a later start, or nobody, does it."""
        for task in self._telling:
            task.cancel()
        await asyncio.gather(*self._telling, return_exceptions=True)


def answer_of(end: End) -> Asked:
    """The answer that an event's end is."""
    record = end.record
    match record:
        case DoneRecord():
            return Asked(record.value)
        case FailedRecord():
            return Asked(type=record.type, args=record.args, text=record.text)
        case CancelledRecord():
            return Asked(type=_CANCELLED, text=str(end.error))
        case _:
            raise AssertionError("who is stuck has no answer yet")


_CANCELLED: Final = f"{Cancelled.__module__}.{Cancelled.__qualname__}"


def _made(op: AskOp, asked: Asked) -> Made:
    if isinstance(asked.value, Raw):
        raw = bytes(asked.value)
        try:
            return Made(Result(result_codec(op).decode(raw)), raw)
        except NotRecordable as error:
            what = f"{op.target.agent}.{op.target.name} answered {error.message}"
            return failed(NotRecordable(what, path=error.path))
    assert asked.type is not None
    args = bytes(asked.args) if isinstance(asked.args, Raw) else None
    recorded = RecordedError(asked.type, args, asked.text)
    return Made(Failure(decode_error(recorded)), error=recorded)
