"""What agents ask each other, and the answers: as the asking event has them, and as they travel.

Never asks, and never decides whether a question may be asked.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from agentctl.core.kept import Asking
from agentctl.core.lanes import Priority
from agentctl.engines.local.events.endings import End
from agentctl.errors import Cancelled, MissedRun
from agentctl.names import Identity, format_instance
from agentctl.record_moves import CancelledRecord, MissedRecord
from agentctl.records import DoneRecord, EventRecord, FailedRecord
from agentctl.sdk.ops import AskOp


class AskRequest(Struct, frozen=True, omit_defaults=True, rename={"from_": "from"}):
    """A question as the asked side gets it.

    Attributes:
        from_: the asking call's key; `asker` the random part of its event.
        behind: the instances that wait for the answer, from the asking one outwards.
        query: it only reads the committed state.
        priority: the lane in which its event queues.
    """

    agent: str
    identity: Identity
    handler: str
    args: Raw
    from_: str
    asker: str
    kwargs: Raw | UnsetType = UNSET
    behind: tuple[str, ...] = ()
    query: bool = False
    priority: Priority = "medium"

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

    def __post_init__(self) -> None:
        if self.value is UNSET and self.type is None:
            raise ValueError("an answer is a result or an error")


def answer_of(end: End) -> Asked:
    """The answer that an event's end is."""
    record = end.record
    match record:
        case DoneRecord():
            return Asked(record.value)
        case FailedRecord():
            return Asked(type=record.type, args=record.args, text=record.text)
        case CancelledRecord():
            message = f"{end.ended.event} was cancelled"
            args = Raw(msgspec.json.encode([message]))
            return Asked(type=_CANCELLED, args=args, text=message)
        case MissedRecord():
            message = f"{end.ended.event} was missed: {end.ended.text}"
            args = Raw(msgspec.json.encode([message]))
            return Asked(type=_MISSED, args=args, text=message)
        case _:
            raise AssertionError("who is stuck has no answer yet")


_CANCELLED: Final = f"{Cancelled.__module__}.{Cancelled.__qualname__}"
_MISSED: Final = f"{MissedRun.__module__}.{MissedRun.__qualname__}"


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
        return AskRequest(
            op.target.agent,
            op.target.identity,
            op.target.name,
            Raw(op.args),
            self.key,
            accepted.nonce,
            kwargs=UNSET if op.kwargs is None else Raw(op.kwargs),
            behind=behind(self.agent, accepted, exclusive=self.exclusive),
            query=op.query,
            priority=op.priority,
        )


def behind(agent: str, accepted: EventRecord, *, exclusive: bool) -> tuple[str, ...]:
    """The instances that wait for what an event asks, from its own outwards, if it holds that."""
    own = (format_instance(agent, accepted.of),) if exclusive else ()
    return (*own, *accepted.behind)
