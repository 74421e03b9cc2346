"""Asking another instance: on a host through whoever runs it, in a handler as a call on record."""

from __future__ import annotations

import sys
from collections.abc import Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentctl.sdk.context import handler_loop
from agentctl.sdk.ops import AskOp
from agentctl.sdk.registry import Reference
from agentctl.sdk.scope import SCOPE
from agentctl.sdk.stubs import CallStub, running_loop

if TYPE_CHECKING:
    from agentctl.sdk.fields import AgentSpec
    from agentctl.sdk.loop import HandlerLoop


def ask(
    reference: Reference, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Coroutine[Any, Any, Any]:
    """Run another instance's handler as an event of its own, and wait for the outcome.

    Raises:
        BadArguments, NotRecordable: the arguments don't fit; in a handler, at once.
        UsageError: the reference names no instance.
        AgentctlError: a step's code asks, which would ask anew with each attempt.
    """
    loop = running_loop()
    if loop is None and SCOPE.get() is not None:
        loop = handler_loop(f"{reference.cls.__name__}.ref(…).{name}()")
    if loop is None:
        return _invoke(reference, name, args, kwargs)
    return _stub(loop, reference, (name, args, kwargs), query=False)


def read(
    reference: Reference, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Coroutine[Any, Any, Any]:
    """Read another instance's committed state by one of its queries; no event."""
    loop = running_loop()
    if loop is None:
        return _query(reference, name, args, kwargs)
    return _stub(loop, reference, (name, args, kwargs), query=True)


def _stub(
    loop: HandlerLoop,
    reference: Reference,
    asked: tuple[str, Sequence[Any], Mapping[str, Any]],
    *,
    query: bool,
) -> CallStub:
    name, args, kwargs = asked
    spec: AgentSpec = reference.cls.__dict__["__agentctl_spec__"]
    target = reference.target(name)
    signature = spec.queries[name] if query else spec.handlers[name].signature
    listed, named = signature.encode(args, kwargs)
    path = loop.branch().next_path()
    op = AskOp(path, target, reference.cls, listed, named, query, reference.priority)
    return CallStub(loop, op, signature.title, sys._getframe(3))


async def _invoke(
    reference: Reference, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    target = reference.target(name)
    return await reference.find_invoker().invoke(target, args, kwargs, reference.priority)


async def _query(
    reference: Reference, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    return await reference.find_invoker().query(reference.target(name), args, kwargs)
