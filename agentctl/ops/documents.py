"""The JSON documents that commands answer with, each a struct that bears its schema's name.

Invariant: fields are only ever added, and never change their meaning. Never decides what a
document says.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

encode = msgspec.json.encode
"""Write a document as one line of JSON."""


class ErrorDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.error/1"):
    """An error, on stderr; the last three only where there is an event."""

    code: int
    error: str
    detail: str
    hint: str
    event: str | UnsetType = UNSET
    status: str | UnsetType = UNSET
    type: str | UnsetType = UNSET


class InvokeDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.invoke/1"):
    """How an event ended that a command invoked, or that it was accepted; a query is no event.

    Attributes:
        due: RFC 3339, of one that is scheduled.
    """

    event: str | None
    handler: str
    key: str | None
    status: str
    result: Raw | UnsetType = UNSET
    due: str | UnsetType = UNSET


class VersionDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.version/1"):
    """Which agentctl this is."""

    version: str


class HelpDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.help/1"):
    """What `help` says, of a command or a topic; of everything if `topic` is empty."""

    topic: str
    text: str


class CompletionDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.completion/1"):
    """The script by which a shell completes the command."""

    shell: str
    script: str


class SeenAudit(Struct, frozen=True):
    """One agent's audit log."""

    agent: str
    lines: tuple[str, ...]


class AuditDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.audit/1"):
    """The audit logs of some agents."""

    agents: tuple[SeenAudit, ...]


class SeenSetAside(Struct, frozen=True):
    """One event in `set-aside`; `records` are its lines."""

    event: str
    handler: str
    args: Raw
    starts: int
    records: tuple[Raw, ...]


class SetAsideOfAgent(Struct, frozen=True):
    """What is set aside of one agent."""

    agent: str
    events: tuple[SeenSetAside, ...]


class SetAsideDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.set-aside/1"):
    """What is set aside of some agents."""

    agents: tuple[SetAsideOfAgent, ...]


class SeenState(Struct, frozen=True):
    """One instance's committed state."""

    instance: str
    state: Raw


class StateOfAgent(Struct, frozen=True):
    """The instances of one agent that have state."""

    agent: str
    instances: tuple[SeenState, ...]


class StateDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.state/1"):
    """The instances of some agents."""

    agents: tuple[StateOfAgent, ...]


def of_failure(
    code: int,
    error: str,
    *,
    detail: str,
    hint: str,
    event: str | None = None,
    status: str | None = None,
    type: str | None = None,  # noqa: A002 - the document's own word
) -> ErrorDocument:
    """Make the document of an error; what there isn't is left out."""
    return ErrorDocument(
        code, error, detail, hint, event=event or UNSET, status=status or UNSET, type=type or UNSET
    )
