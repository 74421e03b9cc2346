"""`@handler` and `@query`, and what they make of a method.

On an event's own object a handler is a plain method. On a reference it asks whatever runs the
agent in this program.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, overload

from agentctl.errors import AgentctlError, BadAgentClass
from agentctl.sdk.asking import read
from agentctl.sdk.registry import Reference
from agentctl.sdk.timing import BoundHandler

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")


class Handler(Generic[P, R_co]):
    """What `@handler` makes of a method.

    Attributes:
        fn: the method itself.
        exclusive: None leaves it to the agent: one at a time if it has state.
        fails_on: errors of the handler's own that end the event as failed.
    """

    def __init__(
        self,
        fn: Callable[..., Coroutine[Any, Any, R_co]],
        *,
        exclusive: bool | None = None,
        fails_on: tuple[type[Exception], ...] = (),
    ) -> None:
        if not inspect.iscoroutinefunction(fn):
            raise BadAgentClass(
                f"{getattr(fn, '__qualname__', fn)} is no `async def`, and a handler must be one",
                hint="write `async def`; what blocks belongs into a capability, marked @blocking",
            )
        self.fn = fn
        self.name = fn.__name__
        self.exclusive = exclusive
        self.fails_on = fails_on
        self.__doc__ = fn.__doc__

    @overload
    def __get__(self, obj: None, owner: type[Any], /) -> Self: ...
    @overload
    def __get__(self, obj: object, owner: type[Any], /) -> BoundHandler[P, R_co]: ...
    def __get__(self, obj: Any, owner: type[Any], /) -> Any:
        return self if obj is None else BoundHandler(self, obj)


class _HandlerDecorator(Protocol):
    def __call__(
        self, fn: Callable[Concatenate[S, P], Coroutine[Any, Any, R]], /
    ) -> Handler[P, R]: ...


@overload
def handler(fn: Callable[Concatenate[S, P], Coroutine[Any, Any, R]], /) -> Handler[P, R]: ...
@overload
def handler(
    *, exclusive: bool = ..., fails_on: tuple[type[Exception], ...] = ...
) -> _HandlerDecorator: ...
def handler(fn: Any = None, /, **options: Any) -> Any:
    """Mark a method that an event runs.

    Args:
        exclusive: one at a time per instance; the default for agents with state.
        fails_on: error types that end the event as failed; any other is a bug, and the event
            is stuck until a later start.

    Raises:
        BadAgentClass: the method isn't `async def`.
    """
    if fn is not None:
        return Handler(fn)
    return lambda method: Handler(method, **options)


class Query(Generic[P, R_co]):
    """What `@query` makes of a method."""

    def __init__(self, fn: Callable[..., Coroutine[Any, Any, R_co]]) -> None:
        if not inspect.iscoroutinefunction(fn):
            raise BadAgentClass(
                f"{getattr(fn, '__qualname__', fn)} is no `async def`, and a query must be one"
            )
        self.fn = fn
        self.name = fn.__name__
        self.__doc__ = fn.__doc__

    def __get__(self, obj: Any, owner: type[Any], /) -> Any:
        reference: Reference | None = getattr(obj, "__agentctl_reference__", None)
        if obj is None or reference is None:
            return self.fn.__get__(obj, owner)

        def ask_it(*args: Any, **kwargs: Any) -> Any:
            return read(reference, self.name, args, kwargs)

        return ask_it


def query(
    fn: Callable[Concatenate[S, P], Coroutine[Any, Any, R]], /
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, R]]:
    """Mark a read of an instance's committed state; it is no event, and calls nothing."""
    made: Any = Query(fn)
    return made  # type: ignore[no-any-return]


def run_query(coro: Coroutine[Any, Any, Any], title: str) -> Any:
    """Run a query's coroutine to its end, which it must reach without waiting."""
    try:
        coro.send(None)
    except StopIteration as end:
        return end.value
    finally:
        coro.close()
    raise AgentctlError(f"{title} waits for something, and a query can't", hint="use a handler")
