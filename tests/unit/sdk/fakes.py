"""An event without an engine: a test delivers what its handler waits for, and may run it again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentctl.core.lanes import Priority
from agentctl.core.lifecycle import Cancellation
from agentctl.core.timing import Sent, Timing
from agentctl.sdk.agent import Agent, build, spec_of
from agentctl.sdk.execution import Fired, Outcome, Result
from agentctl.sdk.loop import new_loop
from agentctl.sdk.ops import Op, SendOp, Target, TimerOp

START_US = 1_767_225_600_000_000
"""The first of January 2026."""

Delivery = tuple[str, Outcome, int]


class FakeRun:
    """One run of an event; what was delivered is its journal, over which another can run.

    Attributes:
        ops: all that the handler asked for, in order.
        open: what it waits for.
        journal: what was delivered.
    """

    nonce = "00ff"
    title = "Bot/ada#7"

    def __init__(
        self,
        cls: type[Agent],
        name: str,
        *args: Any,
        journal: Sequence[Delivery] = (),
        occurrence: tuple[int, int] | None = None,
        named: Sequence[Sent] = (),
    ) -> None:
        spec = spec_of(cls)
        self.identity = ("ada",) if spec.identity else ()
        self.occurrence = occurrence
        self.replaying = self.cancelled = False
        self.ops: list[Op] = []
        self.open: dict[str, Op] = {}
        self.dropped: list[str] = []
        self.read_at: list[str] = []
        self.journal: list[Delivery] = []
        self._named = named
        self.loop = new_loop(self, START_US)
        state = {one.name: one.codec.decode(one.default) for one in spec.state.values()}
        self.obj = build(cls, self.identity, state, self.loop)
        self.loop.start(spec.handlers[name].handler.fn(self.obj, *args))
        self.loop.turn()
        for path, outcome, at_us in journal:
            self.deliver(path, outcome, at_us)

    def schedules(self, path: str) -> Sequence[Sent]:
        self.read_at.append(path)
        return self._named

    def as_recorded(self, paths: Sequence[str]) -> Sequence[str]:
        return paths

    def submit(self, op: Op) -> None:
        self.ops.append(op)
        self.open[op.path] = op

    def drop(self, path: str) -> None:
        self.dropped.append(path)
        del self.open[path]

    def deliver(self, path: str, outcome: Outcome, at_us: int) -> None:
        del self.open[path]
        self.journal.append((path, outcome, at_us))
        self.loop.deliver(path, outcome, at_us)
        self.loop.turn()

    def fire(self, at_us: int | None = None) -> None:
        """End the one timer that is open, in time or late."""
        (op,) = (one for one in self.open.values() if isinstance(one, TimerOp))
        self.deliver(op.path, Fired(), op.until_us if at_us is None else max(at_us, op.until_us))

    def answer(self, made: Any) -> None:
        """Let the one thing that the handler waits for return this."""
        (path,) = self.open
        self.deliver(path, Result(made), self.loop.now_us)

    @property
    def sent(self) -> SendOp:
        """The one timing that the handler made."""
        (op,) = self.ops
        assert isinstance(op, SendOp)
        return op

    @property
    def result(self) -> Any:
        assert self.loop.root is not None
        return self.loop.root.result()


def in_handler(cls: Any, act: Callable[[Any], Any], **options: Any) -> FakeRun:
    """Run a test's own function as the handler `act` of a class that calls `self.acts`."""
    cls.acts = staticmethod(act)
    return FakeRun(cls, "act", **options)


@dataclass
class FakeInvoker:
    """Whoever runs the agents of a test: it writes down what it is asked for."""

    sends: list[tuple[Target, Sequence[Any], Mapping[str, Any], Timing]] = field(
        default_factory=list
    )
    cancelled: list[Sent] = field(default_factory=list)
    awaited: list[Sent] = field(default_factory=list)
    named: Sequence[Sent] = ()

    async def invoke(
        self,
        target: Target,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        priority: Priority = "medium",
    ) -> Any:
        raise AssertionError(f"{target} was invoked, and no test here does")

    async def query(self, target: Target, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        raise AssertionError(f"{target} was queried, and no test here does")

    async def send(
        self, target: Target, args: Sequence[Any], kwargs: Mapping[str, Any], timing: Timing
    ) -> Sent:
        self.sends.append((target, args, kwargs, timing))
        instance = "/".join((target.agent, *target.identity))
        event = None if timing.name else 9
        due_us = timing.due_us or (self.now_us() if timing.name else None)
        period_us = timing.period_us
        return Sent(instance, target.name, event, timing.name, due_us, period_us, timing.key)

    async def cancel(self, sent: Sent) -> Cancellation:
        self.cancelled.append(sent)
        return Cancellation.CANCELLED

    async def outcome(self, sent: Sent) -> Any:
        self.awaited.append(sent)
        return 42

    def schedules(self, target: Target) -> Sequence[Sent]:
        assert target.identity == ("ada",)
        return self.named

    def now_us(self) -> int:
        return START_US
