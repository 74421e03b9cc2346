"""The JSON documents of commands that tell about steps and workflows, and why something is so.

Invariant: as in `documents`. Times are RFC 3339, UTC, and null where there is none.
"""

from __future__ import annotations

from msgspec import Raw, Struct

from agentctl.ops.journal_documents import SeenRecord


class SeenAttempt(Struct, frozen=True):
    """One try of a step or a call; `error` says what it failed with, if it did."""

    attempt: int
    at: str | None
    ended: str | None
    error: str | None


class SeenStep(Struct, frozen=True):
    """One step of an event, or what undoes one.

    Attributes:
        name: the step's; of what undoes it `undo charge`.
        state: `queued`, `running`, `backing_off`, `waiting`, `done`, `failed`, `undone` or
            `dropped`.
        attempt: the last one that began.
        next: of one that backs off: when the next attempt begins.
        error: what the last attempt failed with that did.
        asks: of one that waits: what for.
    """

    name: str
    key: str
    state: str
    attempt: int
    next: str | None
    error: str | None
    result: Raw | None
    asks: str | None
    attempts: tuple[SeenAttempt, ...]


class SeenWorkflow(Struct, frozen=True):
    """One run of a workflow in short.

    Attributes:
        workflow: its instance.
        step: the last step that was begun, of a failed run the one that failed; `step_state`
            how that one stands.
        steps: how many were begun, undoings aside.
        next: when it goes on by itself.
        asks: what it asks a person for.
        text: why it is stuck, failed or was cancelled.
    """

    workflow: str
    event: str
    status: str
    step: str | None
    step_state: str | None
    steps: int
    accepted: str | None
    ended: str | None
    next: str | None
    asks: str | None
    text: str | None


class WorkflowListDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.workflow-list/1"):
    """The workflows of some agents, the newest last."""

    workflows: tuple[SeenWorkflow, ...]


class WorkflowDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.workflow-show/1"):
    """One run of a workflow, with its steps; only its outcome where no more is kept."""

    workflow: str
    event: str
    status: str
    accepted: str | None
    started: str | None
    ended: str | None
    next: str | None
    waits_for: str | None
    result: Raw | None
    type: str | None
    text: str | None
    cancelling: bool
    steps: tuple[SeenStep, ...]


class WhyDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.why/1"):
    """Why an event or a schedule is where it is, and what comes next.

    Attributes:
        event: null of a schedule; then `instance` and `schedule` name it.
        status: an event's state; of a schedule `due`, `paused` or `gone`.
        why, next: in words; times in it as elsewhere.
        at: when that comes, where it is known.
        behind: the event that it waits for, of one that waits for its turn.
        record: the journal's line that says so.
    """

    event: str | None
    instance: str
    schedule: str | None
    status: str
    why: str
    next: str
    at: str | None
    behind: str | None
    record: SeenRecord | None
