"""Capabilities: what an agent may do to the world.

A capability is a class of methods. An agent's field annotated with it gives the handler a *stub*
of the class, whose methods make call stubs (stubs.py); the class bound at start does the work.
"""

from __future__ import annotations

import functools
import inspect
from abc import ABC
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from types import CoroutineType
from typing import Any, ClassVar, Final, Literal, ParamSpec, TypeAlias, TypeVar, cast

from agentctl.core.retry import RetryPolicy
from agentctl.errors import BadAgentClass, UsageError
from agentctl.sdk.signature import CallSignature, surrounding_names
from agentctl.times import to_us

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., object])

Duration: TypeAlias = float | timedelta
"""Seconds, or a timedelta."""


@dataclass(frozen=True, slots=True)
class CallOptions:
    """The options of one capability method, as `@call(…)` gives them."""

    timeout_us: int | None = None
    repeat: bool = True
    match: Literal["arguments", "name"] = "arguments"
    record: Literal["value", "digest"] = "value"
    retry: RetryPolicy | None = None


DEFAULT_OPTIONS: Final = CallOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class CapabilityOptions:
    """How one capability of one agent is called, as `kavach.toml` says it.

    Attributes:
        timeout: for every method, over what `@call(timeout=…)` says.
        retry: for every method, over what `@call(retry=…)` says.
        limit: calls of it at once in one program; further ones wait their turn, which doesn't
            count towards their timeout.

    Raises:
        UsageError: a timeout or a limit that leaves no call.
    """

    timeout: Duration | None = None
    retry: RetryPolicy | None = None
    limit: int | None = None

    def __post_init__(self) -> None:
        if self.timeout is not None and to_us(self.timeout) <= 0:
            raise UsageError(f"a timeout of {self.timeout} leaves a call no time")
        if self.limit is not None and self.limit < 1:
            raise UsageError(f"the limit is {self.limit}, and must be at least 1")


class Capability(ABC):  # noqa: B024 - it is the methods of a subclass that are abstract
    """What an agent may do to the world: an interface, or an implementation of one."""

    __agentctl_names__: ClassVar[Mapping[str, object]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__agentctl_names__ = surrounding_names(1)


@dataclass(frozen=True, slots=True)
class Uses:
    """A capability field narrowed to some methods."""

    methods: tuple[str, ...]


def uses(*methods: str) -> Any:
    """Narrow a capability field to these methods; the others raise `Denied`."""
    return Uses(methods)


def blocking(fn: Callable[P, R], /) -> Callable[P, CoroutineType[Any, Any, R]]:
    """Mark a capability method that blocks: it runs in a worker thread and is awaited.

    A call that is cancelled lets its thread run on; what the thread returns then is dropped.
    """
    if inspect.iscoroutinefunction(fn):
        raise BadAgentClass(f"{fn.__qualname__} is async: it needs no @blocking")
    fn.__agentctl_blocking__ = True  # type: ignore[attr-defined]
    return cast("Callable[P, CoroutineType[Any, Any, R]]", fn)


def call(
    *,
    retry: RetryPolicy | None = None,
    timeout: Duration | None = None,
    repeat: bool = True,
    match: Literal["arguments", "name"] = "arguments",
    record: Literal["value", "digest"] = "value",
) -> Callable[[F], F]:
    """Set the options of one capability method.

    Args:
        retry: how often a failed attempt is made again, before anything reaches the handler.
        timeout: seconds, or a timedelta, that one attempt may take; then it fails with
            `TimeoutError`.
        repeat: False: a call cut off by a crash raises `UnknownOutcome` instead of being made
            again.
        match: `name`: replay doesn't compare the arguments with the record.
        record: `digest`: only a digest of the arguments is recorded.
    """
    if retry is not None and not isinstance(retry, RetryPolicy):
        raise BadAgentClass(f"@call(retry={retry!r}) makes no sense", hint="a RetryPolicy(…)")
    if match not in ("arguments", "name") or record not in ("value", "digest"):
        raise BadAgentClass(
            f"@call(match={match!r}, record={record!r}) makes no sense",
            hint='match is "arguments" or "name", record is "value" or "digest"',
        )
    timeout_us = None if timeout is None else to_us(timeout)
    if timeout_us is not None and timeout_us <= 0:
        raise BadAgentClass(f"@call(timeout={timeout!r}) leaves a call no time")
    options = CallOptions(timeout_us, repeat, match, record, retry)

    def mark(fn: F) -> F:
        fn.__agentctl_call__ = options  # type: ignore[attr-defined]
        return fn

    return mark


class MethodSpec:
    """One method of a capability as an agent's field names it.

    Arguments and results are recorded by the annotations of the interface, not of whatever
    implements it.
    """

    def __init__(self, interface: type[Capability], name: str) -> None:
        self.name = name
        self.interface = interface
        self.fn = f"{interface.__name__}.{name}"
        function = inspect.getattr_static(interface, name)
        owner = next(base for base in interface.__mro__ if name in vars(base))
        names = getattr(owner, "__agentctl_names__", {})
        self.signature = CallSignature(function, owner, names, title=self.fn)


def options_of(function: object) -> CallOptions:
    """What `@call(…)` set on a method, or the defaults."""
    return getattr(function, "__agentctl_call__", DEFAULT_OPTIONS)


def is_blocking(function: object) -> bool:
    """Whether a method is marked `@blocking`."""
    while isinstance(function, functools.partial):
        function = function.func
    return bool(getattr(function, "__agentctl_blocking__", False))


def merged_options(interface: CallOptions, implementation: CallOptions) -> CallOptions:
    """Take the implementation's options; what it leaves at its default is the interface's."""
    if implementation == DEFAULT_OPTIONS:
        return interface
    return replace(
        implementation,
        timeout_us=implementation.timeout_us or interface.timeout_us,
        retry=implementation.retry or interface.retry,
        repeat=implementation.repeat and interface.repeat,
        match="name" if "name" in (interface.match, implementation.match) else "arguments",
        record="digest" if "digest" in (interface.record, implementation.record) else "value",
    )


def method_names(interface: type[Capability]) -> list[str]:
    """The public methods of a capability, in the order of their definition.

    Raises:
        BadAgentClass: one is neither async nor `@blocking`.
    """
    names: dict[str, None] = {}
    for base in reversed(interface.__mro__[:-1]):
        if not issubclass(base, Capability) or base is Capability:
            continue
        for name, member in vars(base).items():
            if name.startswith("_") or not inspect.isfunction(member):
                continue
            if not (inspect.iscoroutinefunction(member) or is_blocking(member)):
                raise BadAgentClass(
                    f"{base.__qualname__}.{name} is neither async nor @blocking",
                    hint="write `async def`, or mark it @blocking, or begin its name with _",
                )
            names[name] = None
    return list(names)
