"""What a face asks to be changed, and what it is answered: one request and one answer a change.

Each travels as JSON, to whoever holds the agent's folder, or is carried out under its lock. `id`
is made once by who asks and stays the same however often it is asked: a change that was carried
out under an `id` is answered again, and not made again.
"""

from __future__ import annotations

import enum
from typing import TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType

from agentctl.core.lifecycle import Cancellation
from agentctl.engines.schedules import (
    FireRequest,
    Paused,
    PauseRequest,
    Unscheduled,
    UnscheduleRequest,
)
from agentctl.names import Identity


class State(enum.StrEnum):
    """Where an invocation stands: the words of R8's table."""

    SCHEDULED = "scheduled"
    QUEUED = "queued"
    RUNNING = "running"
    SLEEPING = "sleeping"
    WAITING = "waiting"
    STUCK = "stuck"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    MISSED = "missed"
    SET_ASIDE = "set_aside"


OVER = frozenset({State.COMPLETED, State.FAILED, State.CANCELLED, State.MISSED, State.SET_ASIDE})
"""The states that nothing leaves by itself."""


class Accepted(Struct, frozen=True):
    """An invocation that is on record.

    Attributes:
        event: its address.
        joined: an event that was there already, under the same idempotency key.
    """

    event: str
    joined: bool = False


class Invoked(Struct, frozen=True, omit_defaults=True):
    """An invocation that is on record; or what a query said, which is no event.

    Attributes:
        event: its address; None of a query.
        joined: it was there already, under the same idempotency key.
        due_us: when it is to begin, if later.
        result: of a query: JSON.
    """

    event: str | None = None
    joined: bool = False
    due_us: int | None = None
    result: Raw | UnsetType = UNSET


class CancelRequest(Struct, frozen=True, tag_field="do", tag="cancel"):
    """Cancel one event, named by its number or by its idempotency key (R20).

    Attributes:
        running: also if it is executing.
        by: who asks, for the audit log.
    """

    agent: str
    id: str
    identity: Identity = ()
    event: int | None = None
    key: str | None = None
    running: bool = False
    reason: str = ""
    by: str = ""


class Cancelled(Struct, frozen=True):
    """What came of a cancellation.

    Attributes:
        event: its address; None if nobody such is known.
        status: how it had ended, of one that was finished; None if that is no longer kept.
        cleans_up: it ends only once its code has cleaned up.
        runs_on: what it does just now is to end before that.
    """

    answer: Cancellation
    event: str | None = None
    key: str | None = None
    status: State | None = None
    cleans_up: bool = False
    runs_on: bool = False


class RetryRequest(Struct, frozen=True, tag_field="do", tag="retry"):
    """Run a stuck or a failed event again, under its number, with its recorded calls.

    Attributes:
        accept_divergence: keep its record only up to the call that differs.
    """

    agent: str
    id: str
    identity: Identity = ()
    event: int | None = None
    key: str | None = None
    accept_divergence: bool = False
    by: str = ""


class Retried(Struct, frozen=True):
    """The event that is queued again.

    Attributes:
        again: calls that are on record and may be made again.
    """

    event: str
    was: State
    again: tuple[str, ...] = ()


class ResumeRequest(Struct, frozen=True, tag_field="do", tag="resume"):
    """Give an input that an event waits for (R21).

    Attributes:
        call: which of its calls waits, `3` or `2.3`; None: the only one.
        value: the input.
        text: in place of it: the input as a person types it, read by the recorded type.
        by, note: who gives it, and what that one says to it.
    """

    agent: str
    id: str
    identity: Identity = ()
    event: int | None = None
    key: str | None = None
    call: str | None = None
    value: Raw | UnsetType = UNSET
    text: str | None = None
    by: str = ""
    note: str = ""


class Resumed(Struct, frozen=True):
    """The call that has its input now, `Bot-7-3`, and its event's address."""

    call: str
    event: str


class DeleteRequest(Struct, frozen=True, tag_field="do", tag="delete"):
    """Delete an instance: its state and its keys; its open events are cancelled.

    One that is executing stands in the way, unless it was cancelled before: that one, as any that
    was, ends without running on.

    Attributes:
        dry_run: only say what would go.
    """

    agent: str
    id: str
    identity: Identity = ()
    dry_run: bool = False
    by: str = ""


class Deleted(Struct, frozen=True):
    """What went with an instance.

    Attributes:
        state_bytes: how long its state was, as JSON.
        cancelled: its events that are cancelled by that.
        keys: how many idempotency keys were remembered.
        cleaning_up: those of the cancelled that end only once they have cleaned up.
        schedules: the names of those that it had.
    """

    instance: str
    state_bytes: int
    cancelled: tuple[str, ...]
    keys: int
    cleaning_up: tuple[str, ...] = ()
    schedules: tuple[str, ...] = ()


class RequeueRequest(Struct, frozen=True, tag_field="do", tag="requeue"):
    """Put set-aside events back (R10).

    Attributes:
        events: numbers; () means the only one.
        every: all of them.
        fresh: as new events, from the start.
        args: JSON list to take in the recorded arguments' place, as text; needs `fresh`.
        dry_run: only tell.
    """

    agent: str
    id: str = ""
    events: tuple[int, ...] = ()
    every: bool = False
    fresh: bool = False
    args: str | None = None
    dry_run: bool = False


class Requeued(Struct, frozen=True):
    """What a requeue did, or would do, to one event.

    Attributes:
        event: the address of the event that is queued now.
        was: that of the set-aside event whose place a fresh one takes, or None.
        may_happen_twice: of a fresh one: the calls that were finished before.
    """

    event: str
    was: str | None
    may_happen_twice: tuple[str, ...]


class RequeuedAll(Struct, frozen=True):
    """What a requeue did."""

    events: tuple[Requeued, ...]


class DropRequest(Struct, frozen=True, tag_field="do", tag="drop"):
    """Remove a set-aside event for good."""

    agent: str
    id: str
    event: int
    reason: str


class Dropped(Struct, frozen=True):
    """What was removed."""

    event: str


Change: TypeAlias = (
    CancelRequest
    | RetryRequest
    | DeleteRequest
    | RequeueRequest
    | DropRequest
    | UnscheduleRequest
    | PauseRequest
    | FireRequest
    | ResumeRequest
)
Answer: TypeAlias = (
    Cancelled
    | Retried
    | Deleted
    | RequeuedAll
    | Dropped
    | Unscheduled
    | Paused
    | Accepted
    | Resumed
)

ANSWERS: dict[type, type] = {
    CancelRequest: Cancelled,
    RetryRequest: Retried,
    DeleteRequest: Deleted,
    RequeueRequest: RequeuedAll,
    DropRequest: Dropped,
    UnscheduleRequest: Unscheduled,
    PauseRequest: Paused,
    FireRequest: Accepted,
    ResumeRequest: Resumed,
}
