"""Checking what is asked by the handler that is to do it, before anything is on record.

An invocation's arguments come as JSON values, or as the words of a command line; either way the
asked agent's own handler says whether they fit. Never runs the handler.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw

from agentctl.core.lanes import check_priority
from agentctl.core.timing import check_key
from agentctl.engines.local.asking import words
from agentctl.engines.local.events.effects import SendRequest
from agentctl.engines.local.events.questions import AskRequest
from agentctl.engines.local.running.accepting import Wanted, digest_of, once
from agentctl.engines.port import InvokeRequest
from agentctl.errors import AgentctlError, BadArguments
from agentctl.sdk.fields import AgentSpec, HandlerSpec
from agentctl.sdk.signature import CallSignature


def arguments_of(signature: CallSignature, request: InvokeRequest) -> words.Arguments:
    """The arguments of an invocation, as JSON values.

    Raises:
        BadArguments: they don't fit.
    """
    if request.words is not None:
        return words.from_words(signature, request.words)
    if request.text is not None:
        return words.from_json(signature, request.text)
    signature.bind(request.args, request.kwargs or {})
    return words.Arguments(request.args, request.kwargs or {})


def wanted_of(spec: AgentSpec, request: InvokeRequest) -> Wanted:
    """Check an invocation by its handler.

    Raises:
        NotFound: there is no such handler.
        BadArguments: the arguments don't fit.
        UsageError: the key can't be one.
    """
    handler = handler_of(spec, request.handler)
    given = arguments_of(handler.signature, request)
    args = msgspec.json.encode(list(given.args))
    kwargs = msgspec.json.encode(dict(given.kwargs)) if given.kwargs else None
    raw, named = checked(handler, args, kwargs)
    key = request.key
    if key is not None:
        check_key(key)
    wanted = Wanted(
        spec.check_identity(request.identity),
        handler.name,
        raw,
        named,
        key=key,
        due_us=request.due_us,
        priority=check_priority(request.priority),
        digest=None if key is None else digest_of(handler, raw, named),
        request=request.id,
    )
    return once(handler, wanted)


def wanted_by(spec: AgentSpec, request: AskRequest) -> Wanted:
    """Check what another agent asks for, by its handler."""
    handler, raw, named = checked_request(spec, request)
    wanted = Wanted(
        spec.check_identity(request.identity),
        handler.name,
        raw,
        named,
        priority=request.priority,
        from_=request.from_,
        asker=request.asker,
        behind=request.behind,
    )
    return once(handler, wanted)


def checked_request(
    spec: AgentSpec, request: AskRequest | SendRequest
) -> tuple[HandlerSpec, bytes, bytes | None]:
    """The handler that another agent or a host asks for, and the arguments as it records them."""
    handler = handler_of(spec, request.handler)
    kwargs = bytes(request.kwargs) if isinstance(request.kwargs, Raw) else None
    return handler, *checked(handler, bytes(request.args), kwargs)


def handler_of(spec: AgentSpec, name: str) -> HandlerSpec:
    """One of an agent's handlers.

    Raises:
        NotFound: there is none of that name; with the nearest.
    """
    handler = spec.handlers.get(name)
    if handler is None:
        raise words.no_handler(spec, name)
    return handler


def checked(handler: HandlerSpec, args: bytes, kwargs: bytes | None) -> tuple[bytes, bytes | None]:
    """Arguments as the handler records them.

    Raises:
        BadArguments: they don't fit.
    """
    signature = handler.signature
    try:
        values, named = signature.decode(args, kwargs)
    except BadArguments:
        raise
    except AgentctlError as error:
        raise BadArguments(
            f"{signature.title}: {error.message}", hint=f"call it as {signature.shown}"
        ) from None
    return signature.encode(values, named)
