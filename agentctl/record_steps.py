"""Records of what happens to a call before its outcome: attempts, backoffs, waiting for an input.

They stand beside the kinds in `records`, which knows them all. None of them is delivered to the
handler: what comes of a call is its `ok`, `error` or `fired`.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import UNSET, Raw, UnsetType

from agentctl.record_base import RecordBase


class TriedRecord(RecordBase, frozen=True):
    """An attempt failed, and another follows; the last failure is the call's `error`.

    Attributes:
        attempt: which it was, from 1.
        type, text: of its error.
        next: the end of the backoff, jitter included.
        up: the machine's boot and uptime at `at`, which no setting of the clock changes (R19).
    """

    tried: str
    attempt: int
    type: str
    text: str = ""
    next: int = 0
    up: str | None = None
    at: int = 0


class AttemptRecord(RecordBase, frozen=True):
    """An attempt starts; the first one starts with the call's own record."""

    attempt: str
    n: int
    at: int = 0


class WaitingRecord(RecordBase, frozen=True):
    """A step needs an input: it runs again, in the same attempt, once that is on record (R21).

    Attributes:
        text: what is wanted, for people.
        type: the input's type, for people.
        schema: what JSON fits it, where the name doesn't say.
        until: when it no longer waits.
        up: as in `TriedRecord`.
        attempt: which one it is that waits.
    """

    waiting: str
    text: str
    type: str
    schema: Raw | UnsetType = UNSET
    until: int | None = None
    up: str | None = None
    attempt: int = 1
    at: int = 0


class AnswerRecord(RecordBase, frozen=True):
    """An input is there: a question's, or a waiting step's; only the first one counts (R21).

    `by` and `note` are whoever gave it. It is delivered by the record that follows in its time:
    a question's `fired`, or the step's own outcome.
    """

    answer: str
    value: Raw
    by: str = ""
    note: str = ""
    at: int = 0


StepRecord: TypeAlias = TriedRecord | AttemptRecord | WaitingRecord | AnswerRecord
