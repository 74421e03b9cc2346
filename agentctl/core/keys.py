"""Whose record a record is: the event's number, the call's key, its path."""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from agentctl.record_kept import OutcomeRecord
from agentctl.record_moves import (
    AsideRecord,
    CancelledRecord,
    CancelRecord,
    DropRecord,
    MissedRecord,
    RequeuedRecord,
    RetryRecord,
)
from agentctl.record_steps import AnswerRecord, AttemptRecord, TriedRecord, WaitingRecord
from agentctl.records import (
    AgainRecord,
    BugRecord,
    CallRecord,
    DoneRecord,
    DroppedRecord,
    ErrorRecord,
    EventRecord,
    FailedRecord,
    FiredRecord,
    OkRecord,
    ParkedRecord,
    Record,
    StartRecord,
)

Delivery: TypeAlias = OkRecord | ErrorRecord | FiredRecord


def path_of(call: str) -> str:
    """The path in a recorded call's key: `1.3` of `17-1.3`."""
    return call[call.index("-") + 1 :]


def call_of(record: Delivery) -> str:
    """The call that an outcome belongs to."""
    if isinstance(record, OkRecord):
        return record.ok
    return record.error if isinstance(record, ErrorRecord) else record.fired


_CALL_KEY: Final = re.compile(r"([0-9]{1,18})-[0-9]+(?:\.[0-9]+)*")
_CALL_FIELDS: Final = {
    CallRecord: "call",
    OkRecord: "ok",
    ErrorRecord: "error",
    FiredRecord: "fired",
    DroppedRecord: "dropped",
    TriedRecord: "tried",
    AttemptRecord: "attempt",
    WaitingRecord: "waiting",
    AnswerRecord: "answer",
}
_NUMBER_FIELDS: Final = {
    EventRecord: "event",
    StartRecord: "start",
    ParkedRecord: "parked",
    AgainRecord: "again",
    BugRecord: "bug",
    DoneRecord: "done",
    FailedRecord: "failed",
    AsideRecord: "aside",
    RequeuedRecord: "requeued",
    DropRecord: "drop",
    CancelRecord: "cancel",
    CancelledRecord: "cancelled",
    MissedRecord: "missed",
    RetryRecord: "retry",
    OutcomeRecord: "outcome",
}


def number_of(record: Record) -> int:
    """The number of the event that a record belongs to, 0 for the journal's own.

    Raises:
        ValueError: a call's key isn't one.
    """
    field = _CALL_FIELDS.get(type(record))
    if field is not None:
        found = _CALL_KEY.fullmatch(getattr(record, field))
        if found is None:
            raise ValueError(f"{getattr(record, field)!r} is no call's key")
        return int(found[1])
    field = _NUMBER_FIELDS.get(type(record))
    return 0 if field is None else getattr(record, field)
