"""Names that the design promises and this version doesn't have yet.

They are typed, so that code written against the whole design type-checks, and each of them says
`NotInThisVersion` when it is used. This file shrinks with every version, and then goes.
"""

from __future__ import annotations

from collections.abc import (
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar, TypeVarTuple, overload

from agentctl.errors import ControlFlow, NotInThisVersion
from agentctl.sdk.capability import Duration

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


def not_yet(what: str) -> NotInThisVersion:
    """Make the error that a planned name raises."""
    return NotInThisVersion(
        f"{what} isn't in this version of agentctl", hint="see docs/concepts.md, What isn't there"
    )


class Question(Generic[T]):
    """A question on record, not yet answered."""

    @property
    def key(self) -> str:
        """Its call key, to be sent along."""
        raise not_yet("Question")

    def __await__(self) -> Generator[Any, None, T]:
        raise not_yet("Question")


async def question(text: str, type_: type[T], /, *, timeout: Duration | None = None) -> Question[T]:
    """Put a question on record."""
    raise not_yet("question()")


async def wait_for_input(text: str, type_: type[T], /, *, timeout: Duration | None = None) -> T:
    """Wait for a person or a webhook."""
    raise not_yet("wait_for_input()")


class WaitForInput(ControlFlow):
    """Raised in a step: the step waits for an input of this type."""

    def __init__(
        self, text: str, type_: type[object], /, *, timeout: Duration | None = None
    ) -> None:
        raise not_yet("WaitForInput")


def resume_input(type_: type[T], /) -> T | None:
    """The input that a waiting step was resumed with."""
    raise not_yet("resume_input()")


@dataclass(frozen=True)
class Fixed:
    """The same delay after each failure, in seconds."""

    delay: float


@dataclass(frozen=True)
class Exponential:
    """A delay that grows by `factor` from `base` up to `cap`, in seconds."""

    base: float
    cap: float
    factor: float = 2.0


@dataclass(frozen=True)
class RetryPolicy:
    """How often, and how soon, a failed attempt is made again."""

    max_attempts: int = 1
    backoff: Fixed | Exponential = Fixed(0)
    jitter: float = 0.0
    retry_on: tuple[type[Exception], ...] | None = None


def step(
    name: str,
    fn: Callable[[*Ts], Awaitable[R]],
    /,
    *args: *Ts,
    retry: RetryPolicy | None = None,
    timeout: Duration | None = None,
    compensate: Callable[[R], Awaitable[object]] | None = None,
) -> Coroutine[Any, Any, R]:
    """Run a step: one call with a policy."""
    raise not_yet("step()")


class Step(Generic[R_co]):
    """What `@workflow_step` makes of a method."""

    @overload
    def __get__(self, obj: None, owner: type[Any], /) -> Self: ...
    @overload
    def __get__(
        self, obj: object, owner: type[Any], /
    ) -> Callable[[], Coroutine[Any, Any, R_co]]: ...
    def __get__(self, obj: Any, owner: type[Any], /) -> Any:
        raise not_yet("workflow_step")


class _StepDecorator(Protocol):
    def __call__(self, fn: Callable[[S], Coroutine[Any, Any, R]], /) -> Step[R]: ...


class _CompensatedStepDecorator(Generic[S, R]):
    def __call__(self, fn: Callable[[S], Coroutine[Any, Any, R]], /) -> Step[R]:
        raise not_yet("workflow_step")


@overload
def workflow_step(fn: Callable[[S], Coroutine[Any, Any, R]], /) -> Step[R]: ...
@overload
def workflow_step(
    *, retry: RetryPolicy | None = ..., timeout: Duration | None = ...
) -> _StepDecorator: ...
@overload
def workflow_step(
    *,
    retry: RetryPolicy | None = ...,
    timeout: Duration | None = ...,
    compensate: Callable[[S, R], Awaitable[object]],
) -> _CompensatedStepDecorator[S, R]: ...
def workflow_step(*args: Any, **kwargs: Any) -> Any:
    """Mark a step of a workflow."""
    raise not_yet("workflow_step")


@dataclass(frozen=True)
class StepDef:
    """A step of a plan that came in as data."""

    name: str
    retry: RetryPolicy | None = None
    timeout: float | None = None


async def run_steps(
    plan: Sequence[StepDef], bodies: Mapping[str, Callable[[], Awaitable[object]]], /
) -> dict[str, object]:
    """Run a plan as data."""
    raise not_yet("run_steps()")
