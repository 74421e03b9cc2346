"""Making an event ready to run: its object, its loop, its handler's coroutine."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

from agentctl.core.event_history import EventHistory
from agentctl.engines.local.events.endings import is_failure
from agentctl.engines.local.events.site import Site
from agentctl.engines.local.events.undoing import undone_if_failed
from agentctl.errors import AgentctlError
from agentctl.sdk.agent import build
from agentctl.sdk.execution import Execution
from agentctl.sdk.fields import HandlerSpec
from agentctl.sdk.loop import HandlerLoop, new_loop


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a handler needs.

    Attributes:
        state: the instance's committed state, each field as JSON; the object has it as values.
    """

    handler: HandlerSpec
    state: dict[str, bytes]
    obj: Any
    loop: HandlerLoop
    coro: Coroutine[Any, Any, Any]


def prepare(execution: Execution, site: Site, history: EventHistory) -> Prepared:
    """Make ready what the handler needs; nothing is on record yet, and none of it has run.

    Raises:
        AgentctlError: its handler is gone, or its arguments or state don't fit any more.
        Exception: whatever the author's own types raise.
    """
    accepted = history.accepted
    handler = site.spec.handlers.get(accepted.handler)
    if handler is None:
        raise AgentctlError(
            f"{site.name} has no handler {accepted.handler!r} any more",
            hint="put it back, and the event runs with the next start",
        )
    site.spec.check_identity(accepted.of)
    state = site.state_of(accepted.of)
    args, kwargs = handler.read(accepted.args, accepted.kwargs)
    values = {name: one.codec.decode(state[name]) for name, one in site.spec.state.items()}
    now_us = site.program.now_us(history.started_us or 0)
    loop = new_loop(execution, history.started_us or now_us)
    obj = loop.agent = build(site.cls, accepted.of, values, loop)
    run = partial(handler.handler.fn, obj, *args, **kwargs)
    fails = partial(is_failure, fails_on=handler.handler.fails_on)
    return Prepared(handler, state, obj, loop, undone_if_failed(run, loop, fails))
