"""The port between a handler's loop and its engine; all that an agent's code touches of one.

The loop *submits* what the handler asks for and *drops* what nobody waits for any more; the engine
*delivers* outcomes into the loop, one at a time, in the order in which it puts them on record
(R5). Both happen within the loop's turn or between two turns, never from another thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from msgspec import Struct

from agentctl.core.lanes import Priority
from agentctl.core.lifecycle import Cancellation
from agentctl.core.timing import Sent, Timing

if TYPE_CHECKING:
    from agentctl.core.retry import RetryPolicy
    from agentctl.sdk.capability import MethodSpec
    from agentctl.sdk.step_body import StepBody
    from agentctl.value_schemas import InputType
    from agentctl.values import Codec


class CallOp(Struct, frozen=True):
    """A capability call.

    Attributes:
        path: its place in the event, `1` or `2.3`.
        field: the agent's capability field that was used.
        method: what is called, and how.
        args: the arguments as a JSON list.
        kwargs: the arguments that go by name, as a JSON object; None if there are none.
        denied: why `uses(…)` forbids it, or None.
    """

    path: str
    field: str
    method: MethodSpec
    args: bytes
    kwargs: bytes | None
    denied: str | None


class TimerOp(Struct, frozen=True, gc=False):
    """A wait for time.

    Attributes:
        path: its place in the event.
        until_us: when it ends.
    """

    path: str
    until_us: int


class Target(Struct, frozen=True):
    """A handler or a query of one instance."""

    agent: str
    identity: tuple[str, ...]
    name: str

    @property
    def shown(self) -> str:
        """`Bot.request`."""
        return f"{self.agent}.{self.name}"


class AskOp(Struct, frozen=True):
    """A question to another instance: one of its handlers, as an event of its own, or a query.

    Attributes:
        path: its place in the event.
        target: who is asked, and what.
        cls: the asked agent's class as the asking one knows it.
        args: the arguments as a JSON list.
        kwargs: the arguments that go by name, as a JSON object; None if there are none.
        query: it only reads the committed state.
        priority: the lane in which its event queues.
    """

    path: str
    target: Target
    cls: type
    args: bytes
    kwargs: bytes | None
    query: bool
    priority: Priority = "medium"


class SendOp(Struct, frozen=True):
    """A timing: a handler of some instance, to run now, later, or again and again.

    Its result is a `Sent`, read as `returns`.

    Attributes:
        path: its place in the event.
        target: whose handler, and which.
        cls: that agent's class as the asking one knows it.
        args: the arguments as a JSON list.
        kwargs: the arguments that go by name, as a JSON object; None if there are none.
        returns: a subclass of `Sent`.
    """

    path: str
    target: Target
    cls: type
    args: bytes
    kwargs: bytes | None
    timing: Timing
    returns: type[Sent]

    @property
    def agent(self) -> str:
        """The agent that is asked."""
        return self.target.agent


class CancelOp(Struct, frozen=True):
    """Cancel what a timing made; its result is a `Cancellation`."""

    path: str
    sent: Sent

    @property
    def agent(self) -> str:
        """The agent that is asked."""
        return self.sent.agent


class ResultOp(Struct, frozen=True):
    """Wait for the outcome of the event that a timing made; as that of a question.

    Attributes:
        cls: the agent's class, which says what its handler returns; None: plain JSON.
    """

    path: str
    sent: Sent
    cls: type | None

    @property
    def agent(self) -> str:
        """The agent that is asked."""
        return self.sent.agent


class StepOp(Struct, frozen=True):
    """A step: code of the project that runs as one call.

    Attributes:
        path: its place in the event.
        name: of the step.
        body: its code, and how its arguments and result are recorded.
        args: the arguments as a JSON list.
        policy: how often it is tried.
        timeout_us: how long one attempt may take.
        state: the state that it begins with, each field as JSON.
        undoes: the path of the step whose result it undoes.
    """

    path: str
    name: str
    body: StepBody
    args: bytes
    policy: RetryPolicy
    timeout_us: int | None
    state: Mapping[str, bytes]
    undoes: str | None = None


class QuestionOp(Struct, frozen=True):
    """A question to a person or a webhook (R21).

    Attributes:
        path: its place in the event.
        text: what is asked, for people.
        type: what the answer must be, as it goes on record.
        codec: the same, as the program reads it.
        until_us: when nobody waits for it any more; None: however long it takes.
    """

    path: str
    text: str
    type: InputType
    codec: Codec[Any]
    until_us: int | None


Op: TypeAlias = CallOp | TimerOp | AskOp | SendOp | CancelOp | ResultOp | StepOp | QuestionOp


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
