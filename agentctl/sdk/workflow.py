"""Workflow: an agent whose steps run in the order in which they are written; thin above `step`.

An instance runs once. Its class's own `run` gives what its last step gives, by that one's type.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar, overload

from agentctl.core.retry import RetryPolicy
from agentctl.errors import BadAgentClass, UsageError
from agentctl.sdk.agent import Agent
from agentctl.sdk.capability import Duration, is_blocking
from agentctl.sdk.context import handler_loop
from agentctl.sdk.handlers import Handler, handler
from agentctl.sdk.steps import check_cancelled, check_step, step

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)

_RESULTS = "__agentctl_results__"


class Step(Generic[R_co]):
    """What `@workflow_step` makes of a method; on an object it is the plain method.

    Attributes:
        fn: the method itself.
    """

    def __init__(
        self,
        fn: Callable[[Any], Coroutine[Any, Any, R_co]],
        *,
        retry: RetryPolicy | None = None,
        timeout: Duration | None = None,
        compensate: Callable[[Any, Any], Awaitable[object]] | None = None,
        compensate_retry: RetryPolicy | None = None,
    ) -> None:
        self.fn = fn
        self.name = getattr(fn, "__name__", repr(fn))
        _check(fn, compensate, (retry, compensate_retry))
        self._retry = retry
        self._compensate_retry = compensate_retry
        self._timeout = timeout
        self._compensate = compensate
        self.__doc__ = fn.__doc__
        check_step(self.name, timeout)

    @overload
    def __get__(self, obj: None, owner: type[Any], /) -> Self: ...
    @overload
    def __get__(
        self, obj: object, owner: type[Any], /
    ) -> Callable[[], Coroutine[Any, Any, R_co]]: ...
    def __get__(self, obj: Any, owner: type[Any], /) -> Any:
        return self if obj is None else self.fn.__get__(obj, owner)

    def run(self, obj: Workflow) -> Coroutine[Any, Any, R_co]:
        """Run it as a step of the event that runs."""
        undo = None if self._compensate is None else self._compensate.__get__(obj, type(obj))
        return step(
            self.name,
            self.fn.__get__(obj, type(obj)),
            retry=self._retry,
            timeout=self._timeout,
            compensate=undo,
            compensate_retry=self._compensate_retry,
        )


def _check(
    fn: object, compensate: object, policies: tuple[RetryPolicy | None, RetryPolicy | None]
) -> None:
    """Refuse what would only fail once it runs."""
    name = getattr(fn, "__qualname__", repr(fn))
    if not (inspect.iscoroutinefunction(fn) or is_blocking(fn)):
        raise BadAgentClass(
            f"the step {name} is no `async def`", hint="write `async def`, or mark it @blocking"
        )
    if not _takes(fn, 1):
        raise BadAgentClass(f"the step {name} takes more than self", hint="keep it in the state")
    if compensate is not None and not (callable(compensate) and _takes(compensate, 2)):
        raise BadAgentClass(
            f"what undoes the step {name} is {compensate!r}",
            hint="give a method that takes the step's result: compensate=undo",
        )
    for policy in policies:
        known: object = policy
        if known is not None and not isinstance(known, RetryPolicy):
            raise BadAgentClass(f"the step {name} has retry={known!r}", hint="a RetryPolicy(…)")


def _takes(fn: Any, count: int) -> bool:
    """Whether a method can be called with so many arguments, its self included."""
    try:
        inspect.signature(fn).bind(*([None] * count))
    except TypeError:
        return False
    return True


class _StepDecorator(Protocol):
    def __call__(self, fn: Callable[[S], Coroutine[Any, Any, R]], /) -> Step[R]: ...


class _CompensatedStepDecorator(Protocol[S_co, R]):
    def __call__(self, fn: Callable[[S_co], Coroutine[Any, Any, R]], /) -> Step[R]: ...


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
    compensate_retry: RetryPolicy | None = ...,
) -> _CompensatedStepDecorator[S, R]: ...
def workflow_step(fn: Any = None, /, **options: Any) -> Any:
    """Mark a step of a workflow; the options are those of `step`.

    Args:
        compensate: a method that takes the step's result.

    Raises:
        UsageError: they make no sense.
    """
    return Step(fn) if fn is not None else lambda method: Step(method, **options)


class Workflow(Agent):
    """An agent whose steps run in the order they are written; each instance runs once.

    A second `run` joins the first one, or gives its recorded outcome, until the instance is
    deleted.
    """

    __agentctl_steps__: ClassVar[tuple[Step[Any], ...]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        cls.__agentctl_steps__ = _steps_of(cls)
        if "run" in vars(cls) or "result" in vars(cls):
            raise BadAgentClass(
                f"{cls.__qualname__} has its own run or result, and a workflow has them already",
                hint="mark its methods @workflow_step; or derive it from Agent, and use step(…)",
            )
        if not cls.__agentctl_steps__:
            raise BadAgentClass(
                f"{cls.__qualname__} has no steps", hint="mark its methods @workflow_step"
            )
        cls.run = _run_of(cls)  # type: ignore[method-assign]
        super().__init_subclass__(**kwargs)

    @handler
    async def run(self) -> object:
        """Run the steps; the result is the last one's."""
        return await run_workflow(self)

    def result(self, step: Step[R], /) -> R:
        """An earlier step's result, as it came back; what is done to it, only the caller sees.

        Raises:
            UsageError: that step isn't done.
        """
        results = vars(self).get(_RESULTS, {})
        if step.name not in results:
            raise UsageError(
                f"the step {step.name} of {type(self).__name__} has no result",
                hint="only what ran before in this run has one",
            )
        found: R = copy.deepcopy(results[step.name])
        return found


async def run_workflow(workflow: Workflow) -> object:
    """Run a workflow's steps."""
    loop, last = handler_loop("run()"), None
    results = vars(workflow)[_RESULTS] = {}
    for one in type(workflow).__agentctl_steps__:
        check_cancelled(loop)
        last = results[one.name] = await one.run(workflow)
    return last


def share_results(original: object, other: object) -> None:
    """Let a step's working copy know the results of the steps before."""
    results = vars(original).get(_RESULTS)
    if results is not None:
        vars(other)[_RESULTS] = results


def _steps_of(cls: type) -> tuple[Step[Any], ...]:
    """The steps in the order of their definition, a base's first; one anew keeps its place."""
    found: dict[str, Step[Any]] = {}
    for base in reversed(cls.__mro__):
        for name, one in vars(base).items():
            if isinstance(one, Step):
                found[name] = one
            elif name in found:
                raise BadAgentClass(
                    f"{base.__qualname__}.{name} takes the place of a step, and is none",
                    hint="mark it @workflow_step, too",
                )
    return tuple(found.values())


def _run_of(cls: type[Workflow]) -> Handler[[], object]:
    """The class's own `run`, which returns what its last step does."""

    async def run(self: Workflow) -> object:
        return await run_workflow(self)

    last = cls.__agentctl_steps__[-1].fn
    run.__qualname__ = f"{cls.__qualname__}.run"
    run.__module__ = cls.__module__
    run.__doc__ = "Run the steps; the result is the last one's."
    annotation = getattr(last, "__annotations__", {}).get("return")
    run.__annotations__.pop("return")
    if annotation is not None:
        run.__annotations__["return"] = annotation
    made: Handler[[], object] = Handler(run)
    return made
