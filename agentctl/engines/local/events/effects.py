"""Timings, and what is done with what they made: as the event has them, and as they travel.

What concerns the event's own agent is an *effect*: it goes on record with the call's result, in
one write, so that neither is there without the other. What concerns another agent is asked of it,
under an id that it knows again.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType

from agentctl.core.kept import Asking
from agentctl.core.timing import Timing
from agentctl.engines.local.events.made import Made
from agentctl.names import Identity
from agentctl.records import EventRecord
from agentctl.sdk.ops import CancelOp, Op, ResultOp, SendOp

TimingOp: TypeAlias = SendOp | CancelOp | ResultOp


def is_effect(op: Op, agent: str) -> bool:
    """Whether an agent carries out by itself what its event asks for, and at once."""
    return isinstance(op, (SendOp, CancelOp)) and op.agent == agent


@dataclass(frozen=True, slots=True)
class Sender:
    """Who asks.

    Attributes:
        key: the asking call's key.
        exclusive: the asking event holds its instance.
    """

    agent: str
    key: str
    accepted: EventRecord
    exclusive: bool

    @property
    def asking(self) -> Asking:
        """As the asked agent knows it."""
        return self.key, self.accepted.nonce


@dataclass(frozen=True, slots=True)
class Effect:
    """What comes of a timing in the event's own agent.

    Attributes:
        bodies: what goes on record in front of the call's outcome, with its audit lines.
        take: lets it take effect, once that is on record.
    """

    made: Made
    bodies: Sequence[bytes] = ()
    audit: Sequence[str] = ()
    take: Callable[[], None] | None = None


class Timings(Protocol):
    """Whoever carries out timings for the events of a program."""

    def effect(self, op: SendOp | CancelOp, sender: Sender) -> Effect:
        """Decide what comes of what an event asks of its own agent."""
        ...

    def ask(self, op: TimingOp, sender: Sender) -> Coroutine[None, None, Made]:
        """Ask another agent, or wait for an outcome."""
        ...


class SendRequest(Struct, frozen=True, omit_defaults=True):
    """A timing as the asked agent gets it.

    Attributes:
        id: the same each time that it is asked; "" of one that nobody asks again.
    """

    agent: str
    identity: Identity
    handler: str
    args: Raw
    timing: Timing
    kwargs: Raw | UnsetType = UNSET
    id: str = ""


class OutcomeRequest(Struct, frozen=True, omit_defaults=True):
    """Wait for the outcome of an event; or of the one that a schedule makes at a due time."""

    agent: str
    identity: Identity
    handler: str
    event: int | None = None
    schedule: str | None = None
    due_us: int | None = None
    key: str | None = None
