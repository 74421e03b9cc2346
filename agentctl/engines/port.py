"""What a face asks of any engine: a dozen operations, dataclasses in and out.

`Engine` is a program that runs agents; `desk` has what can be asked whether or not one runs. All
values are JSON as recorded, so that no face needs the user's types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from agentctl.core.lanes import Priority
from agentctl.engines.changes import Answer, Change
from agentctl.errors import AgentctlError
from agentctl.names import Address, Identity

if TYPE_CHECKING:
    pass

T = TypeVar("T")

EndStatus: TypeAlias = Literal["completed", "failed", "cancelled", "missed", "stuck"]


class InvokeRequest(Struct, frozen=True):
    """An invocation as a face takes it.

    Attributes:
        args, kwargs: the arguments as JSON values, by position and by name.
        words: in place of both: the arguments as a person types them, read by the handler.
        text: in place of all three: a JSON list or object.
        key: the idempotency key (R17).
        due_us: when it is to begin, in microseconds since the epoch; None: as soon as it can.
        priority: the lane in which it queues; `if_full` says what to do if too many do (R22).
        waits: who asks is going to wait for the end.
        id: made once by who asks, however often it asks.
    """

    agent: str
    identity: Identity
    handler: str
    args: Sequence[object] = ()
    kwargs: Mapping[str, object] | None = None
    words: Sequence[str] | None = None
    text: str | None = None
    key: str | None = None
    due_us: int | None = None
    priority: Priority = "medium"
    if_full: Literal["wait", "refuse"] = "wait"
    waits: bool = False
    id: str = ""


@dataclass(frozen=True)
class Ended:
    """How an event came to rest.

    Attributes:
        result: JSON, of a completed event.
        type: the error's type, `module.Class`, of a failed one.
        text: the error's text; of a stuck one, the bug's.
        line: where the bug is, `shop/bot.py:31`.
        divergence: the event is stuck since replay asked for another call.
        error: the bug itself, where it happened in this process; faces show the user's frames.
    """

    event: Address
    handler: str
    status: EndStatus
    result: bytes | None = None
    type: str | None = None
    text: str = ""
    line: str | None = None
    divergence: bool = False
    error: BaseException | None = field(default=None, repr=False, compare=False)


class Recovered(Struct, frozen=True):
    """What a start found in one agent's journal.

    Attributes:
        unfinished: open events that run again, sleeping ones included.
        set_aside: those that this start moved to `set-aside`.
        lying: those that lay there before.
        stuck: those that can't run: their handler is gone, or their arguments don't fit; each
            with the reason.
        cut: what was wrong with a tail that was cut off, or None.
        new: those of the unfinished ones that have never begun.
    """

    agent: str
    folder: str
    unfinished: Sequence[Address]
    set_aside: Sequence[Address]
    stuck: Sequence[tuple[Address, str]]
    cut: str | None
    lying: Sequence[Address] = ()
    new: Sequence[Address] = ()


class Stopped(Struct, frozen=True):
    """What a graceful stop left open.

    Attributes:
        open: events that the next start resumes.
        cut_off: calls that were still running when their grace was over.
    """

    open: int
    cut_off: int


class Warned(Struct, frozen=True):
    """Something that a person should know, and since when, in microseconds of the wall clock."""

    at_us: int
    text: str


class Listener(Protocol):
    """Hears what an engine does, as it does it; called on the engine's own loop."""

    def recovered(self, found: Recovered) -> None:
        """A start has read an agent's journal; nothing of it runs yet."""
        ...

    def started(self, event: Address, handler: str, *, again: bool) -> None:
        """An event begins to execute."""
        ...

    def ended(self, end: Ended, *, heard: bool) -> None:
        """An event came to rest, durably; `heard`: somebody in this program waited for it."""
        ...

    def called(self, key: str, fn: str) -> None:
        """A call is made for real."""
        ...

    def asked(self, key: str, text: str, type_: str) -> None:
        """An event asks a person for an input, under a call key."""
        ...

    def warned(self, text: str) -> None:
        """Something that a person should know."""
        ...

    def waiting(self, calls: Sequence[tuple[str, str]], at_most: timedelta | None) -> None:
        """A stop waits for calls, each a key and a method; `at_most`: None is until they end."""
        ...


class Engine(Protocol):
    """A program that runs agents; an asynchronous context that recovers and stops gracefully."""

    @property
    def recovered(self) -> Sequence[Recovered]:
        """What the start found."""
        ...

    async def submit(self, request: InvokeRequest) -> Address:
        """Accept an event; when this returns, it is durable.

        Raises:
            NotFound: no such agent or handler; with the nearest names.
            BadArguments, NotRecordable: the arguments don't fit; nothing was accepted.
        """
        ...

    async def query(self, request: InvokeRequest) -> bytes:
        """Read an instance's committed state by one of its queries; no event, nothing recorded.

        Returns:
            The result as JSON.

        Raises:
            NotFound: no such agent or query.
            BadArguments, NotRecordable: the arguments don't fit, or the state no longer does.
            QueryFailed: the query's own code raised; that is the cause.
        """
        ...

    async def ended(self, event: Address) -> Ended:
        """Wait until an event that this program accepted or recovered comes to rest."""
        ...

    async def others(self) -> None:
        """Wait until no other program waits for an answer of this one."""
        ...

    async def carry_out(self, change: Change) -> Answer:
        """Carry out a change; when this returns, it is durable."""
        ...

    async def idle(self, within_s: float = 0.0) -> Sequence[Address]:
        """Wait until nothing is queued, running, or due within so many seconds.

        Returns:
            The events that are stuck.
        """
        ...

    async def broken(self) -> AgentctlError:
        """Wait until nothing can go on (R14), and answer why; so long as all is well, for ever."""
        ...

    def begin_stop(self, at_most: timedelta | None = None) -> bool:
        """Put on record at once that a stop begins (R12); a signal's handler may call it.

        Args:
            at_most: the longest grace that any call gets; None: its agent's own.

        Returns:
            Whether there is something to stop: not before the folders are held.
        """
        ...

    async def stop(self) -> Stopped:
        """Stop gracefully (R12); a second time it answers the same and does nothing."""
        ...
