"""Records of what is done to events and instances from outside, by starts, people and agents.

They stand beside the kinds in `records`, which knows them all.
"""

from __future__ import annotations

from msgspec import Raw, field

from agentctl.record_base import RecordBase


class AsideRecord(RecordBase, frozen=True, rename={"from_": "from"}):
    """The event's lines lie in `set-aside`; what they don't show stays here (R10).

    Attributes:
        line: SHA-256 of the event's line in `set-aside`; an edit of it shows.
        accepted, started: when; `started` is 0 where nothing was delivered.
        times: the time of each delivery, by the call's key.
        extra: records that `set-aside` doesn't show: calls without an outcome, dropped ones.
    """

    aside: int
    handler: str
    starts: int
    nonce: str
    line: str = ""
    of: tuple[str, ...] = ()
    key: str | None = None
    lane: str | None = None
    digest: str | None = None
    from_: str | None = None
    asker: str | None = None
    behind: tuple[str, ...] = ()
    accepted: int = 0
    started: int = 0
    times: dict[str, int] = field(default_factory=dict)
    extra: tuple[Raw, ...] = ()
    at: int = 0


class RequeuedRecord(RecordBase, frozen=True):
    """The last line of a requeue: without it the lines before it don't count (R10).

    `fresh` names the new event that took the place, where there is one.
    """

    requeued: int
    of: tuple[str, ...] = ()
    lines: int = 0
    fresh: int | None = None
    at: int = 0


class DropRecord(RecordBase, frozen=True):
    """A set-aside event was removed for good."""

    drop: int
    reason: str
    of: tuple[str, ...] = ()
    at: int = 0


class CancelRecord(RecordBase, frozen=True):
    """A cancellation is delivered to the event's handler (R20), which then can only end cancelled.

    `by` and `reason` are whoever asked for it.
    """

    cancel: int
    by: str = ""
    reason: str = ""
    at: int = 0


class CancelledRecord(RecordBase, frozen=True):
    """The event ended by being cancelled; its state changes are dropped.

    `ran`: a `cancel` came before, and its handler has cleaned up. Else none of its code ran for
    that, or its clean-up was broken off, and `by` and `reason` stand here.
    """

    cancelled: int
    ran: bool = False
    by: str = ""
    reason: str = ""
    at: int = 0


class RetryRecord(RecordBase, frozen=True):
    """A stuck or failed event is queued again, under its number.

    Attributes:
        undo: calls whose outcomes no longer count; they are made again.
        forget: calls that no longer count at all; their outcomes neither.
    """

    retry: int
    by: str = ""
    undo: tuple[str, ...] = ()
    forget: tuple[str, ...] = ()
    at: int = 0


class DeletedRecord(RecordBase, frozen=True):
    """An instance was deleted: its state and its idempotency keys are gone."""

    deleted: tuple[str, ...]
    by: str = ""
    at: int = 0


class ToldRecord(RecordBase, frozen=True):
    """The asking agent has the answer on record: the event's outcome may be forgotten (R16)."""

    told: str
    event: int
    at: int = 0


class AnsweredRecord(RecordBase, frozen=True):
    """A change that was asked for under this id was carried out, and answered like this.

    Whoever asks again, not having heard the answer, hears it and changes nothing.
    """

    answered: str
    do: str
    value: Raw
    at: int = 0
