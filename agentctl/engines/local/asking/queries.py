"""Queries: reading an instance's committed state; no event, and nothing is recorded."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Raw

from agentctl.engines.local.events.questions import Asked, AskRequest
from agentctl.errors import AgentctlError, AgentError, NotFound, QueryFailed
from agentctl.names import Identity
from agentctl.nearest import nearest_hint
from agentctl.sdk.agent import Agent, build, spec_of
from agentctl.sdk.fields import AgentSpec
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
        AgentError: the query's own, which its caller is meant to see.
        QueryFailed: its code raised something else, or waits.
    """
    spec = spec_of(cls)
    name, args, kwargs = query
    signature = spec.queries.get(name)
    if signature is None:
        raise no_such(spec, name)
    fields = {
        field: one.codec.decode(state.get(field, one.default)) for field, one in spec.state.items()
    }
    given, named = signature.decode(*signature.encode(args, kwargs))
    obj = build(cls, spec.check_identity(identity), fields, None)
    try:
        value = run_query(getattr(obj, name)(*given, **named), signature.title)
    except AgentError:
        raise
    except AgentctlError as error:
        if type(error) is not AgentctlError:
            raise
        raise QueryFailed(error.message, hint=error.hint) from None
    except Exception as error:
        raise failed(signature.title, error) from error
    return signature.result.encode(value)


def answer(cls: type[Agent], request: AskRequest, state: Mapping[str, bytes]) -> Asked:
    """Answer another agent's query over a committed state.

    Raises:
        NotFound, BadArguments, NotRecordable, QueryFailed: as `read`.
    """
    spec = spec_of(cls)
    signature = spec.queries.get(request.handler)
    if signature is None:
        raise no_such(spec, request.handler)
    kwargs = bytes(request.kwargs) if isinstance(request.kwargs, Raw) else None
    args, named = signature.decode(bytes(request.args), kwargs)
    query = (request.handler, args, named)
    try:
        return Asked(Raw(read(cls, request.identity, state, query)))
    except AgentError as error:
        raise failed(signature.title, error) from error


def no_such(spec: AgentSpec, name: str) -> NotFound:
    """Say that an agent has no such query; with the nearest."""
    return NotFound(
        f"{spec.name} has no query {name!r}", hint=nearest_hint(name, spec.queries, "queries")
    )


def failed(title: str, error: Exception) -> QueryFailed:
    """Say that a query's code raised; the error itself is to be its cause."""
    text = "".join(traceback.format_exception_only(error)).strip()
    return QueryFailed(
        f"{title}: {text}", hint="mend the query; it is no event, so nothing was changed"
    )
