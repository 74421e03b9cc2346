"""What a handler can ask of its engine: one small struct for each kind, each with its place.

They cross the port in `execution`; an engine says what comes of each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from agentctl.core.lanes import Priority
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
        undoes: the path of the step whose result it undoes.
        repeat: an attempt that a crash cut off is made again (R9).
    """

    path: str
    name: str
    body: StepBody
    args: bytes
    policy: RetryPolicy
    timeout_us: int | None
    undoes: str | None = None
    repeat: bool = True


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
