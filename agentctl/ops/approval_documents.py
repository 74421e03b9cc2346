"""The JSON documents of commands that answer what events wait for.

Invariant: as in `documents`.
"""

from __future__ import annotations

from msgspec import Raw, Struct


class SeenInput(Struct, frozen=True, rename={"schema_": "schema"}):
    """An input that an event waits for.

    Attributes:
        step: the name of the step that waits; null: the handler itself asks.
        question: what is asked for.
        type: the input's type, for people.
        schema_: the JSON Schema of what fits; null where `type` says everything.
        asked: since when it waits.
        until: when nobody waits for it any more.
        status: where the event stands.
    """

    call: str
    event: str
    handler: str
    step: str | None
    question: str
    type: str
    schema_: Raw | None
    asked: str | None
    until: str | None
    status: str


class ApprovalsDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.approvals/1"):
    """What waits for a person, what has waited longest first."""

    approvals: tuple[SeenInput, ...]


class ResumeDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.resume/1"):
    """An input that is on record; `by` and `note` are whoever gave it."""

    call: str
    event: str
    by: str
    note: str


class ApprovalDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.approval/1"):
    """A question that was answered with yes or no."""

    call: str
    event: str
    approved: bool
    by: str
    note: str
