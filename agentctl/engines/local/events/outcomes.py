"""Ends as the journal tells them, for whoever asks after the event is over."""

from __future__ import annotations

from msgspec import UNSET, Raw

from agentctl.core.event_history import EndRecord
from agentctl.engines.local.events.endings import End, by_being_late, by_cancellation
from agentctl.engines.port import Ended
from agentctl.errors import Stuck
from agentctl.names import Address
from agentctl.record_kept import OutcomeRecord
from agentctl.record_moves import CancelledRecord, MissedRecord
from agentctl.records import BugRecord, DoneRecord, FailedRecord
from agentctl.values import RecordedError, decode_error


def of_record(event: Address, handler: str, record: EndRecord | BugRecord) -> End:
    """How an event came to rest, from the record that says so."""
    match record:
        case DoneRecord():
            ended = Ended(event, handler, "completed", bytes(record.value))
            return End(record, ended, None)
        case FailedRecord():
            args = bytes(record.args) if isinstance(record.args, Raw) else None
            error = decode_error(RecordedError(record.type, args, record.text))
            ended = Ended(event, handler, "failed", type=record.type, text=record.text)
            return End(record, ended, error)
        case CancelledRecord():
            return by_cancellation(event, handler, record)
        case MissedRecord():
            return by_being_late(event, handler, record)
        case BugRecord():
            ended = Ended(
                event,
                handler,
                "stuck",
                text=record.text,
                line=record.line,
                divergence=record.divergence,
            )
            return End(record, ended, Stuck(f"{event} is stuck: {record.text}"))


def of_outcome(event: Address, outcome: OutcomeRecord) -> End:
    """How a keyed event ended, from what is kept of it (R17)."""
    number, at_us = outcome.outcome, outcome.at
    record: EndRecord
    match outcome.status:
        case "completed":
            value = outcome.value if isinstance(outcome.value, Raw) else Raw(b"null")
            record = DoneRecord(number, value, at=at_us)
        case "failed":
            kind, args = outcome.type or "", outcome.args
            record = FailedRecord(number, kind, args or UNSET, outcome.text or "", at=at_us)
        case "missed":
            record = MissedRecord(number, at=at_us)
        case _:
            record = CancelledRecord(number, at=at_us)
    return of_record(event, outcome.handler, record)
