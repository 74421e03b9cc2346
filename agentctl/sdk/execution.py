"""The port between a handler's loop and its engine; all that an agent's code touches of one.

The loop *submits* what the handler asks for and *drops* what nobody waits for any more; the engine
*delivers* outcomes into the loop, one at a time, in the order in which it puts them on record
(R5). Both happen within the loop's turn or between two turns, never from another thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from agentctl.core.lanes import Priority
from agentctl.core.lifecycle import Cancellation
from agentctl.core.timing import Sent, Timing
from agentctl.names import Address
from agentctl.sdk.ops import Op, Target


class Result(Struct, frozen=True):
    """A call returned this value, as read back from the record.

    Attributes:
        state: of a step: the fields of the state that it changed, each as JSON.
    """

    value: Any
    state: Mapping[str, bytes] | None = None


class Failure(Struct, frozen=True):
    """A call raised this error, as read back from the record."""

    error: Exception


class Fired(Struct, frozen=True, gc=False):
    """A timer's end."""


Outcome: TypeAlias = Result | Failure | Fired


class Execution(Protocol):
    """One event being run, as its handler's loop sees it."""

    @property
    def nonce(self) -> str:
        """The event's random part; seeds `random()` and `uuid4()`."""
        ...

    @property
    def replaying(self) -> bool:
        """Whether recorded outcomes are still being delivered."""
        ...

    @property
    def cancelled(self) -> bool:
        """Whether a cancellation is on record, also if it is still to be delivered."""
        ...

    @property
    def title(self) -> str:
        """The event's address, `Bot#7`, for messages."""
        ...

    @property
    def identity(self) -> tuple[str, ...]:
        """The identity of the instance that the event belongs to."""
        ...

    @property
    def occurrence(self) -> tuple[int, int] | None:
        """Of a scheduled event: its due time, and how many missed ones it stands for."""
        ...

    def schedules(self, path: str) -> Sequence[Sent]:
        """Read the instance's named schedules, at once; what is read is on record as a call."""
        ...

    def key(self, path: str) -> str:
        """A call's key, `Bot-7-3`."""
        ...

    def as_recorded(self, paths: Sequence[str]) -> Sequence[str]:
        """Put calls into the order in which they are on record; new ones come last."""
        ...

    def submit(self, op: Op) -> None:
        """Take what the handler asks for; its outcome is delivered later, or never."""
        ...

    def drop(self, path: str) -> None:
        """Take back what nobody waits for any more (R9)."""
        ...


class Invoker(Protocol):
    """Whatever runs agents in this program; references and hosts invoke through it."""

    async def invoke(
        self,
        target: Target,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        priority: Priority = "medium",
    ) -> Any:
        """Accept an event and wait for its outcome."""
        ...

    async def query(self, target: Target, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Read the last committed state."""
        ...

    async def send(
        self, target: Target, args: Sequence[Any], kwargs: Mapping[str, Any], timing: Timing
    ) -> Sent:
        """Let a handler run now, later, or again and again; it is durable on return."""
        ...

    async def cancel(self, sent: Sent) -> Cancellation:
        """Cancel what a timing made."""
        ...

    async def resume(self, call: tuple[Address, str], value: bytes, by: str, note: str) -> None:
        """Give a call the input that it waits for, as JSON; it is durable on return."""
        ...

    async def outcome(self, sent: Sent) -> Any:
        """Wait for the outcome of the event that a timing made.

        Raises:
            OutcomeGone: it is no longer kept, or there never was such an event.
        """
        ...

    def schedules(self, target: Target) -> Sequence[Sent]:
        """Read an instance's named schedules."""
        ...

    def now_us(self) -> int:
        """The wall clock of the program."""
        ...
