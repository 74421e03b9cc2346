"""Queries: reading an instance's committed state; no event, and nothing is recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentctl.errors import NotFound
from agentctl.names import Identity
from agentctl.nearest import nearest_hint
from agentctl.sdk.agent import Agent, build, spec_of
from agentctl.sdk.handlers import run_query


def read(
    cls: type[Agent],
    identity: Identity,
    state: Mapping[str, bytes],
    query: tuple[str, Sequence[Any], Mapping[str, Any]],
) -> bytes:
    """Run a query over a committed state.

    Args:
        cls: the agent.
        identity: the instance.
        state: its fields as JSON; those it lacks are at their default.
        query: the query's name and its arguments.

    Returns:
        The result as JSON.

    Raises:
        NotFound: the agent has no such query.
        BadArguments, NotRecordable: the arguments don't fit, or the state doesn't any more.
    """
    spec = spec_of(cls)
    name, args, kwargs = query
    signature = spec.queries.get(name)
    if signature is None:
        raise NotFound(
            f"{spec.name} has no query {name!r}", hint=nearest_hint(name, spec.queries, "queries")
        )
    fields = {
        field: one.codec.decode(state.get(field, one.default)) for field, one in spec.state.items()
    }
    given, named = signature.decode(*signature.encode(args, kwargs))
    obj = build(cls, spec.check_identity(identity), fields, None)
    value = run_query(getattr(obj, name)(*given, **named), signature.title)
    return signature.result.encode(value)
