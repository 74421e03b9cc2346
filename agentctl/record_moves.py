"""Records of what is done to events and instances from outside, by programs, people and agents.

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
        occurrence, missed: of a scheduled one: its due time, and the missed ones it stands for.
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
    schedule: str | None = None
    occurrence: int | None = None
    missed: int = 0
    once: bool = False
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

    `by` and `reason` are whoever asked for it. `gently`: of a workflow whose attempt runs: that
    one ends, and then the handler is told.
    """

    cancel: int
    by: str = ""
    reason: str = ""
    gently: bool = False
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


class MissedRecord(RecordBase, frozen=True):
    """The event ended without having begun: it was due longer ago than it may be late (R18)."""

    missed: int
    late_us: int = 0
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
    """The asking agent has the answer on record: it may be forgotten here (R16).

    Attributes:
        event: the event that was asked for; 0: what it did was no event, `told` is the id of that.
    """

    told: str
    event: int
    at: int = 0


class AnsweredRecord(RecordBase, frozen=True):
    """A change that was asked for under this id was carried out, and answered like this.

    Whoever asks again, not having heard the answer, hears it and changes nothing.

    Attributes:
        owed: to another agent's call: kept until a `told` says that the answer is there (R16).
    """

    answered: str
    do: str
    value: Raw
    owed: bool = False
    at: int = 0


class StoppingRecord(RecordBase, frozen=True):
    """A signal came while so many events were open; what stops now is no crash (R12)."""

    stopping: int
    at: int = 0


class StopRecord(RecordBase, frozen=True):
    """The program ended gracefully with so many events open."""

    stop: int
    at: int = 0
