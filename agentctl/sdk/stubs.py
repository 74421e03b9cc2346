"""Stubs: what a handler calls in a capability's place.

A call stub takes its place in the event when it is made, and is submitted when it is first
awaited. It works only while its own event's loop runs.
"""

from __future__ import annotations

import functools
import sys
from asyncio import events
from collections.abc import Callable, Coroutine, Generator
from functools import cache
from types import FrameType
from typing import Any, ClassVar, Final

from agentctl.errors import AgentctlError
from agentctl.nearest import nearest_hint
from agentctl.sdk.capability import Capability, MethodSpec, method_names
from agentctl.sdk.loop import HandlerLoop
from agentctl.sdk.ops import CallOp, Op
from agentctl.sdk.scope import SCOPE


def running_loop() -> HandlerLoop | None:
    """The loop whose turn it is, if a handler's code is what runs."""
    loop = events._get_running_loop()
    return loop if isinstance(loop, HandlerLoop) else None


_OF_COROUTINES: Final = ("cr_code", "gi_code", "ag_code", "cr_frame", "gi_frame")


class CallStub(Coroutine[Any, Any, Any]):
    """One call of a handler, not yet awaited; a coroutine, so that tasks can be made of it."""

    __slots__ = ("_fn", "_loop", "_op", "_steps", "order")

    def __init__(self, loop: HandlerLoop, op: Op, fn: str, caller: FrameType) -> None:
        self.order = loop.next_order()
        self._loop = loop
        self._op = op
        self._fn = fn
        self._steps: Generator[Any, Any, Any] | None = None
        loop.unawaited[self.order] = (fn, caller.f_code.co_filename, caller.f_lineno)

    def __hash__(self) -> int:
        return self.order

    def __repr__(self) -> str:
        return f"<call {self._fn} of {self._loop.execution.title}>"

    def _run(self) -> Generator[Any, Any, Any]:
        loop, path = self._loop, self._op.path
        check_turn(loop)
        if loop.closed:  # it is gone, and swallowed all that said so: it stands still
            yield None
        future = loop.open(path)
        loop.execution.submit(self._op)
        try:
            return (yield from future)
        finally:
            # Cancelled, or its coroutine closed, before the outcome came: nobody waits any more.
            if not future.done() or future.cancelled():
                loop.drop(path)

    def _started(self) -> Generator[Any, Any, Any]:
        if self._steps is None:
            self._loop.unawaited.pop(self.order, None)
            self._steps = self._run()
        return self._steps

    def send(self, value: Any) -> Any:
        """Go on; part of the coroutine protocol."""
        return self._started().send(value)

    def throw(self, *error: Any) -> Any:
        """Raise in the call; part of the coroutine protocol."""
        return self._started().throw(*error)

    def close(self) -> None:
        """Give the call up; part of the coroutine protocol."""
        self._started().close()

    def __await__(self) -> Generator[Any, Any, Any]:
        if self._steps is not None:
            raise AgentctlError(f"{self!r} was awaited before", hint="make a task of it first")
        return self._started()

    def __str__(self) -> str:
        raise TypeError(f"{self._fn}() wasn't awaited: write `await` before it")

    def __format__(self, _spec: str) -> str:
        return str(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in _OF_COROUTINES:
            raise AttributeError(name)
        raise AttributeError(
            f"{self._fn}() wasn't awaited, so its result has no {name!r} yet: "
            "write `await` before it"
        )


def check_turn(loop: HandlerLoop) -> None:
    """Make sure that a stub's own event is what runs.

    Raises:
        Dropped: the program let go of the event.
        AgentctlError: another event, or no event, is running.
    """
    loop.refuse_once_closed()
    if events._get_running_loop() is not loop:
        raise AgentctlError(
            f"a capability of {loop.execution.title} was used outside that event",
            hint="use self.<capability> within the handler; don't keep it anywhere",
        )


def _stub_method(
    spec: MethodSpec, field: str, denied: str | None
) -> Callable[..., Coroutine[Any, Any, Any]]:
    def method(self: CapabilityStub, *args: Any, **kwargs: Any) -> Coroutine[Any, Any, Any]:
        loop = self.__agentctl_loop__
        scope = SCOPE.get()
        if scope is not None and scope.loop is loop:
            return scope.call(field, spec, (args, kwargs), denied)
        check_turn(loop)
        listed, named = spec.signature.encode(args, kwargs)
        path = loop.branch().next_path()
        op = CallOp(path, field, spec, listed, named, denied)
        return CallStub(loop, op, spec.fn, sys._getframe(1))

    method.__name__ = method.__qualname__ = spec.name
    method.__agentctl_method__ = spec  # type: ignore[attr-defined]
    return method


def method_of(fn: object) -> MethodSpec | None:
    """The capability's method that a stub's bound method calls; None if it is none."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    return getattr(fn, "__agentctl_method__", None)


class CapabilityStub:
    """What a handler sees of a capability; each method makes a `CallStub`."""

    __agentctl_loop__: HandlerLoop
    __agentctl_methods__: ClassVar[tuple[str, ...]]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        hint = nearest_hint(name, self.__agentctl_methods__, "methods")
        raise AttributeError(f"the capability has no method {name!r}; {hint}")


@cache
def stub_class(
    interface: type[Capability], field: str, allowed: tuple[str, ...] | None
) -> type[CapabilityStub]:
    """Make the class of a field's stubs: the interface, with every method a stub."""
    members: dict[str, Any] = {}
    for name in method_names(interface):
        denied = None
        if allowed is not None and name not in allowed:
            denied = f"{interface.__name__}.{name} isn't among what the agent uses"
        members[name] = _stub_method(MethodSpec(interface, name), field, denied)
    members["__agentctl_methods__"] = tuple(members)
    made = type(f"{interface.__name__}Stub", (CapabilityStub, interface), members)
    # Abstract things that aren't methods (properties) stay unreachable, but don't forbid the stub.
    made.__abstractmethods__ = frozenset()  # type: ignore[attr-defined]
    return made


def make_stub(cls: type[CapabilityStub], loop: HandlerLoop) -> CapabilityStub:
    """Make one event's stub of a capability; the interface's own `__init__` isn't run."""
    stub = object.__new__(cls)
    stub.__agentctl_loop__ = loop
    return stub
