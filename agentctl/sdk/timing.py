"""BoundHandler: a handler of one instance, and the timings that hang on it.

A timing takes the handler's arguments, and what it then makes is awaited: in a handler a call on
record, on a host a request to whoever runs the agent. What makes no sense is refused at once.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from datetime import datetime, timedelta
from types import FrameType, MethodType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from msgspec import structs

from agentctl.core.lanes import Priority
from agentctl.core.timing import Missed, Overlap, Timing, check
from agentctl.errors import UsageError
from agentctl.sdk.asking import ask
from agentctl.sdk.capability import Duration
from agentctl.sdk.context import Zone
from agentctl.sdk.moments import instant_us, period_us, wait_us, zone_name
from agentctl.sdk.ops import SendOp
from agentctl.sdk.registry import Reference
from agentctl.sdk.stubs import CallStub, running_loop
from agentctl.sdk.tokens import Made, ScheduleHandle, Token, made_of

if TYPE_CHECKING:
    from agentctl.sdk.fields import AgentSpec
    from agentctl.sdk.handlers import Handler
    from agentctl.sdk.loop import HandlerLoop

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
M = TypeVar("M", bound=Made)


class BoundHandler(Generic[P, R_co]):
    """A handler of one instance: call it, or hang a timing on it."""

    __slots__ = ("_handler", "_obj")

    def __init__(self, handler: Handler[P, R_co], obj: object) -> None:
        self._handler = handler
        self._obj = obj

    @property
    def method(self) -> Callable[P, Coroutine[Any, Any, R_co]]:
        """The handler as a plain method of its object."""
        return MethodType(self._handler.fn, self._obj)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R_co]:
        """Run the handler: on a reference as an event, on `self` as a plain method."""
        reference: Reference | None = getattr(self._obj, "__agentctl_reference__", None)
        if reference is None:
            return self._handler.fn(self._obj, *args, **kwargs)
        return ask(reference, self._handler.name, args, kwargs)

    def trigger(
        self, *, key: str | None = None, priority: Priority | None = None
    ) -> Callable[P, Awaitable[Token[R_co]]]:
        """Schedule it now, without waiting."""
        return self._timed("trigger", priority, Timing(key=key), Token)

    def after(
        self,
        delay: Duration,
        /,
        *,
        name: str | None = None,
        key: str | None = None,
        priority: Priority | None = None,
        max_late: Duration | None = None,
    ) -> Callable[P, Awaitable[Token[R_co]]]:
        """Schedule it once, later: after so many seconds, or a timedelta; zero and less: now.

        Args:
            name: makes it a schedule of the instance, in the place of one of the same name.
            key: the idempotency key of the event.
            priority: the lane in which the event queues; default: that of the reference.
            max_late: how late it may begin; later it is missed.

        Raises:
            UsageError: the times make no sense.
        """
        timing = Timing(name=name, key=key, late_us=_late_us(max_late))
        return self._timed("after", priority, timing, Token, wait_us=wait_us("the delay", delay))

    def at(
        self,
        when: datetime,
        /,
        *,
        name: str | None = None,
        key: str | None = None,
        priority: Priority | None = None,
        max_late: Duration | None = None,
    ) -> Callable[P, Awaitable[Token[R_co]]]:
        """Schedule it once, at a time, an aware datetime; options as of `after`.

        Raises:
            UsageError: the time has no zone, or the options make no sense.
        """
        due_us = instant_us("the time", when)
        timing = Timing(name=name, key=key, due_us=due_us, late_us=_late_us(max_late))
        return self._timed("at", priority, timing, Token)

    def every(
        self,
        period: timedelta,
        /,
        *,
        name: str,
        first: datetime | Duration | None = None,
        priority: Priority | None = None,
        missed: Missed = "coalesce",
        overlap: Overlap = "skip",
        jitter: Duration = 0.0,
        max_late: Duration | None = None,
    ) -> Callable[P, Awaitable[ScheduleHandle]]:
        """Schedule it periodically; the same again changes nothing and keeps the grid.

        Args:
            name: of the schedule; it takes the place of one of the same name.
            first: when it fires first, or after how long; default: after one period.
            priority: the lane in which its events queue, as of `after`.
            missed: what becomes of the due times that passed while no program ran.
            overlap: what becomes of one that is due while the one before still runs.
            jitter: each occurrence begins up to so much later than it is due.
            max_late: how late an occurrence may begin; later it is missed.

        Raises:
            UsageError: the times make no sense.
        """
        timing = Timing(
            name=name,
            period_us=period_us(period),
            missed=missed,
            overlap=overlap,
            jitter_us=wait_us("the jitter", jitter),
            late_us=_late_us(max_late),
        )
        if isinstance(first, datetime):
            due_us = instant_us("the first time", first)
            timing = structs.replace(timing, due_us=due_us, anchored=True)
            return self._timed("every", priority, timing, ScheduleHandle)
        wait = timing.period_us if first is None else wait_us("the first delay", first)
        return self._timed("every", priority, timing, ScheduleHandle, wait_us=wait)

    def cron(
        self,
        expression: str,
        /,
        *,
        tz: Zone,
        name: str,
        priority: Priority | None = None,
        missed: Missed = "coalesce",
        overlap: Overlap = "skip",
        jitter: Duration = 0.0,
        max_late: Duration | None = None,
    ) -> Callable[P, Awaitable[ScheduleHandle]]:
        """Schedule it by cron: five fields in a zone, named or a `ZoneInfo`; else as `every`.

        Raises:
            UsageError: the expression, the zone or the times make no sense.
        """
        timing = Timing(
            name=name,
            cron=expression,
            tz=zone_name(tz),
            missed=missed,
            overlap=overlap,
            jitter_us=wait_us("the jitter", jitter),
            late_us=_late_us(max_late),
        )
        return self._timed("cron", priority, timing, ScheduleHandle)

    def _timed(
        self,
        how: str,
        priority: Priority | None,
        timing: Timing,
        returns: type[M],
        *,
        wait_us: int | None = None,
    ) -> Timed[P, M]:
        reference: Reference | None = getattr(self._obj, "__agentctl_reference__", None)
        if priority is None and reference is not None:
            priority = reference.priority
        if priority is not None:
            timing = structs.replace(timing, priority=priority)
        _check(timing)
        loop = running_loop()
        fn = f"{type(self._obj).__name__}.{self._handler.name}.{how}"
        if reference is None:
            if loop is None:
                raise UsageError(
                    f"{fn}() works in a handler",
                    hint=f"elsewhere refer to the instance: {type(self._obj).__name__}.ref(…)",
                )
            reference = Reference(type(self._obj), loop.execution.identity)
        made: Timed[P, M] = Timed(
            reference, self._handler.name, timing, returns, fn=fn, wait_us=wait_us
        )
        if loop is not None:
            made.expect(loop, sys._getframe(2))
        return made


class Timed(Generic[P, M]):
    """A timing that waits for the handler's arguments."""

    __slots__ = ("_fn", "_name", "_order", "_reference", "_returns", "_timing", "_wait_us")

    def __init__(
        self,
        reference: Reference,
        name: str,
        timing: Timing,
        returns: type[M],
        *,
        fn: str,
        wait_us: int | None,
    ) -> None:
        self._reference = reference
        self._name = name
        self._timing = timing
        self._fn = fn
        self._wait_us = wait_us
        self._returns = returns
        self._order = 0

    def expect(self, loop: HandlerLoop, caller: FrameType) -> None:
        """Let the event's end find it if it never gets its arguments."""
        self._order = loop.next_order()
        loop.unawaited[self._order] = (self._fn, caller.f_code.co_filename, caller.f_lineno)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, M]:
        """Give the arguments; what is awaited then is on record when it returns."""
        loop = running_loop()
        if loop is None:
            return self._send(args, kwargs)
        loop.refuse_once_closed()
        loop.unawaited.pop(self._order, None)
        cls = self._reference.cls
        spec: AgentSpec = cls.__dict__["__agentctl_spec__"]
        target = self._reference.target(self._name)
        listed, named = spec.handlers[self._name].signature.encode(args, kwargs)
        timing = self._from(loop.now_us)
        path = loop.branch().next_path()
        op = SendOp(path, target, cls, listed, named, timing, self._returns)
        return CallStub(loop, op, self._fn, sys._getframe(1))

    def __await__(self) -> Generator[Any, Any, Any]:
        raise TypeError(f"{self._fn}(…) takes the handler's arguments: {self._fn}(…)(…)")

    async def _send(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> M:
        invoker = self._reference.find_invoker()
        target = self._reference.target(self._name)
        sent = await invoker.send(target, args, kwargs, self._from(invoker.now_us()))
        return made_of(self._returns, sent, invoker)

    def _from(self, now_us: int) -> Timing:
        """Turn what counts from now into a due time."""
        timing, wait = self._timing, self._wait_us
        if wait is not None and (wait > 0 or timing.recurs):
            timing = structs.replace(timing, due_us=now_us + max(wait, 0))
        return timing


def _late_us(max_late: Duration | None) -> int | None:
    return None if max_late is None else wait_us("max_late", max_late)


def _check(timing: Timing) -> None:
    texts: tuple[tuple[str, object], ...]
    texts = ("name", timing.name), ("key", timing.key), ("cron", timing.cron)
    for what, text in texts:
        if text is not None and not isinstance(text, str):
            raise UsageError(f"the {what} is {text!r}, and no text")
    check(timing)
