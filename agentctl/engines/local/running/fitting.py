"""Whether an event on record fits the code that is loaded (R3)."""

from __future__ import annotations

from agentctl.errors import AgentctlError
from agentctl.records import EventRecord
from agentctl.sdk.fields import AgentSpec


def why_unable(spec: AgentSpec, accepted: EventRecord) -> str | None:
    """Why an event can't run with this code; None: it can."""
    handler = spec.handlers.get(accepted.handler)
    if handler is None:
        return f"there is no handler {accepted.handler!r} any more"
    try:
        spec.check_identity(accepted.of)
        handler.read(accepted.args, accepted.kwargs)
    except AgentctlError as error:
        return error.message
    return None
