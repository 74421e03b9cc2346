"""What a face asks of any engine: a dozen operations, dataclasses in and out.

`Engine` is a program that runs agents; `Desk` is what can be asked whether or not one runs. All
values are JSON as recorded, so that no face needs the user's types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from agentctl.core.lanes import Priority
from agentctl.engines.changes import Accepted, Answer, Change, Invoked
from agentctl.engines.schedules import Scheduled, ScheduleView, SetRequest
from agentctl.engines.views import (
    AgentView,
    ArchivedView,
    CountView,
    HolderView,
    Inside,
    InstanceView,
    JournalLine,
    JournalView,
    LockView,
    SetAsideView,
)
from agentctl.errors import AgentctlError
from agentctl.names import Address, Identity

if TYPE_CHECKING:
    from agentctl.sdk.agent import Agent

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


@dataclass(frozen=True)
class Unanswered:
    """A program that hasn't answered yet; who asked goes on waiting.

    Attributes:
        pid: 0 where it isn't known.
        once: what was asked isn't done twice if it is asked again.
    """

    agent: str
    pid: int
    once: bool


class Holder(Protocol):
    """The program that holds an agent's folder, as another one reaches it.

    Each method raises what the same thing would raise here, and `ControlGone` (exit code 5) if
    the program ends before it answers: who asks asks again, under the same id.
    """

    def invoke(self, request: InvokeRequest, timeout_s: float | None) -> Invoked:
        """Have an event accepted, durably; or have a query read.

        Raises:
            TimeoutError: no answer yet; whether it was accepted isn't known.
        """
        ...

    def wait(self, event: Address, timeout_s: float | None) -> Ended:
        """Wait until an event comes to rest.

        Raises:
            TimeoutError: it hasn't yet.
        """
        ...

    def schedule(self, request: SetRequest) -> Scheduled:
        """Have a schedule set, durably; its handler there checks the arguments."""
        ...

    def look(self) -> Inside:
        """Look into the program."""
        ...


class Desk(Protocol):
    """What can be asked of an agent's folder; reading takes no lock and changes nothing."""

    def agents(self) -> Sequence[str]:
        """The agents that have a folder, sorted."""
        ...

    def journal(self, agent: str) -> JournalView:
        """Read a journal, as far as it can be read."""
        ...

    def follow(self, agent: str) -> Callable[[], Sequence[JournalLine]]:
        """Follow a journal, also over its replacement: each call of it reads what is new."""
        ...

    def audit(self, agent: str) -> Sequence[str]:
        """Read the audit log's lines."""
        ...

    def set_aside(self, agent: str) -> Sequence[SetAsideView]:
        """Read what is set aside."""
        ...

    def set_aside_text(self, agent: str) -> bytes:
        """Read the file `set-aside` as it is."""
        ...

    def states(self, agent: str) -> Mapping[Address, bytes]:
        """Read each instance's committed state, as JSON."""
        ...

    def look(self, agent: str, *, ended: bool = False) -> AgentView:
        """Look at an agent's events one by one; with `ended` also at what is kept of those over.

        Raises:
            FormatTooNew: a later version wrote the journal.
        """
        ...

    def count(self, agent: str) -> CountView:
        """Count where an agent's events stand; raises as `look`."""
        ...

    def instances(self, agent: str) -> Sequence[InstanceView]:
        """Read what is kept of each instance, sorted.

        Raises:
            JournalDamaged, FormatTooNew: what it says of any can't be trusted.
        """
        ...

    def schedules(self, agent: str) -> Sequence[ScheduleView]:
        """Read an agent's schedules, sorted by instance and name; raises as `instances`."""
        ...

    def holder(self, agent: str) -> HolderView | None:
        """Tell which program holds an agent's folder."""
        ...

    def inside(self, agent: str) -> Inside | None:
        """Look into the program that runs an agent; None if none does, or it doesn't answer."""
        ...

    def lock(self, agent: str) -> LockView:
        """Read the lock's note, and whether a program holds the lock; doesn't take it."""
        ...

    def backup(self, agents: Sequence[str], target: Path) -> Sequence[ArchivedView]:
        """Write one archive (tar.gz) of these agents' folders, also beside running programs.

        Raises:
            Conflict, JournalDamaged: no archive was written.
        """
        ...

    def carry_out(self, change: Change, wait_s: float = 5.0) -> Answer:
        """Carry out a change: under the folder's lock, or through the program that holds it.

        Args:
            wait_s: how long nobody may be reached.

        Raises:
            NotFound, Conflict, UsageError: as each change says; nothing was changed.
            Locked: a program holds the folder and doesn't answer.
        """
        ...

    def invoke(
        self, agent: str, alone: Callable[[], T], beside: Callable[[Holder], T], wait_s: float
    ) -> T:
        """Do something beside the program that runs an agent, or without one.

        Args:
            alone: does it where no program runs the agent; raises `Locked` if one does by now.
            beside: has it done by the one that does.
            wait_s: how long nobody may be reached.

        Raises:
            Locked: a program holds the folder and doesn't answer.
        """
        ...

    def leave(self, cls: type[Agent], request: InvokeRequest) -> Accepted:
        """Accept an event that begins when a program next runs the agent.

        Raises:
            NotFound, BadArguments, KeyReused, SetAside: nothing was accepted.
            Locked: a program runs the agent.
        """
        ...

    def schedule(self, cls: type[Agent], request: SetRequest) -> Scheduled:
        """Set a schedule, which fires while a program runs the agent.

        Raises:
            NotFound, BadArguments, UsageError, Conflict: nothing was set.
            Locked: a program runs the agent.
        """
        ...
