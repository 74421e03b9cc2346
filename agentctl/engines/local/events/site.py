"""What a running event needs of its agent and its program.

`AgentRuntime` is the one implementation; that the event sees no more of it keeps the two apart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from agentctl.core.kept import Asking
from agentctl.core.timing import Sent
from agentctl.engines.local.events.calls import BoundMethod, CallName
from agentctl.engines.local.events.effects import Timings
from agentctl.engines.local.events.endings import End
from agentctl.engines.local.events.ledger import Batch
from agentctl.engines.local.events.made import Made
from agentctl.engines.local.events.questions import Question
from agentctl.engines.local.events.slots import Slots
from agentctl.engines.local.events.timers import Timers
from agentctl.engines.local.events.turns import Turns
from agentctl.engines.port import Listener
from agentctl.names import Address
from agentctl.records import EventRecord, Record
from agentctl.sdk.agent import Agent
from agentctl.sdk.capability import CallOptions
from agentctl.sdk.fields import AgentSpec
from agentctl.sdk.ops import CallOp
from agentctl.times import Clock


class Program(Protocol):
    """The program that the event runs in."""

    @property
    def clock(self) -> Clock:
        """The time."""
        ...

    @property
    def timers(self) -> Timers:
        """All waits of the program."""
        ...

    @property
    def turns(self) -> Turns:
        """Whose code runs just now."""
        ...

    @property
    def listener(self) -> Listener:
        """Who hears what happens."""
        ...

    @property
    def stopping(self) -> bool:
        """Whether a graceful stop began."""
        ...

    def entropy(self) -> str:
        """Something by chance, in hexadecimal."""
        ...

    def now_us(self, not_before_us: int = 0) -> int:
        """The wall clock, never before what was heard already."""
        ...

    def soon(self, callback: Callable[[], None]) -> None:
        """Run `callback` next on the program's loop."""
        ...

    def from_task(self, callback: Callable[[], None]) -> None:
        """Run `callback` as the last thing of a call's task."""
        ...

    def spawn(self, coro: Coroutine[Any, Any, None], name: CallName | None) -> Any:
        """Run a call in a task; one with a name is a capability's, which a stop waits for."""
        ...

    async def take_turn(self, slots: Slots, agent: str, number: int) -> None:
        """Take a slot for a call of an event, once it is its turn."""
        ...

    def over(self, task: asyncio.Task[Any] | None) -> None:
        """A call's task is about to end."""
        ...

    def die(self, error: BaseException) -> None:
        """Let nothing go on: the program is dying of this."""
        ...

    @property
    def open_asks(self) -> dict[tuple[str, int, str], tuple[str, Asking | Sent]]:
        """The questions and the outcomes that events wait for."""
        ...

    def ask(self, question: Question) -> Coroutine[None, None, Made]:
        """Ask another agent, and wait for the answer."""
        ...

    @property
    def timings(self) -> Timings:
        """Whoever carries out timings."""
        ...

    def tell(self, agent: str, askings: Sequence[Asking]) -> None:
        """Let the asked agent forget answers that are on record here."""
        ...

    def threads(self) -> ThreadPoolExecutor:
        """The worker threads of blocking methods."""
        ...


class Site(Protocol):
    """The agent that the event belongs to; `EventRun` is the event itself."""

    @property
    def name(self) -> str:
        """The agent's name."""
        ...

    @property
    def cls(self) -> type[Agent]:
        """The agent's class."""
        ...

    @property
    def spec(self) -> AgentSpec:
        """What the class is made of."""
        ...

    @property
    def program(self) -> Program:
        """The program that the event runs in."""
        ...

    @property
    def latest_us(self) -> int:
        """The latest time on record when the program started."""
        ...

    def key(self, accepted: EventRecord, path: str) -> str:
        """A call's key, `Bot-1-2`."""
        ...

    def address(self, accepted: EventRecord) -> Address:
        """The event's address."""
        ...

    def state_of(self, identity: tuple[str, ...]) -> dict[str, bytes]:
        """The instance's committed state, each field as JSON."""
        ...

    def options(self, op: CallOp) -> CallOptions:
        """The options of a call's method."""
        ...

    def method(self, field: str, name: str) -> BoundMethod:
        """The implementation of a capability's method."""
        ...

    def schedules_of(self, identity: tuple[str, ...]) -> Sequence[Sent]:
        """The instance's named schedules."""
        ...

    def denied(self, field: str, name: str) -> str | None:
        """Why policy forbids to call a capability's method, or None."""
        ...

    def exclusive(self, accepted: EventRecord) -> bool:
        """Whether the event holds its instance."""
        ...

    def heard(self, number: int) -> bool:
        """Whether somebody in this program waits for the event's outcome."""
        ...

    def append(self, record: Record, *, event: EventRecord | None = None) -> None:
        """Put one record on record; `event` is whose it is, for the audit log."""
        ...

    def append_bodies(self, bodies: Sequence[bytes], audit: Sequence[str] = ()) -> None:
        """Put a batch on record, with its audit lines."""
        ...

    def when_durable(self, callback: Callable[[], None], *, now: bool = False) -> None:
        """Run `callback` once everything appended so far is durable.

        Args:
            now: if the event is the only one at work, sync at once, not with the loop's next round.
        """
        ...

    def durable_soon(self) -> None:
        """See to it that what was appended is durable within 10 ms."""
        ...

    def has_turn(self, number: int) -> bool:
        """Whether the event executes alone, under suspicion (R10)."""
        ...

    def entered(self, number: int) -> None:
        """The event entered the code of a call."""
        ...

    def progressed(self, number: int) -> None:
        """The event has a new result."""
        ...

    def parked(self, number: int) -> None:
        """The event only waits for time; it needs no permit."""
        ...

    def goes_on(self, number: int, path: str) -> None:
        """A wait of the event is over: it goes on as soon as it has a permit."""
        ...

    def over(self, number: int, end: End, batch: Batch) -> None:
        """The event came to rest; `batch` goes on record with its end."""
        ...
