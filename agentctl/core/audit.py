"""Audit lines: each a function of its record (R15), and nothing else.

`<UTC, microseconds> <Agent or instance> <verb>: <about>`. Line breaks and control characters are
escaped, secrets masked.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import msgspec

from agentctl.core.audit_schedules import OF_SCHEDULES, of_schedule, schedule_lines, stands_for
from agentctl.core.event_history import QUESTION
from agentctl.names import format_instance
from agentctl.record_moves import (
    AsideRecord,
    CancelledRecord,
    CancelRecord,
    DeletedRecord,
    DropRecord,
    MissedRecord,
    RequeuedRecord,
    RetryRecord,
    StopRecord,
)
from agentctl.record_steps import AnswerRecord, WaitingRecord
from agentctl.records import (
    BugRecord,
    CallRecord,
    DoneRecord,
    ErrorRecord,
    EventRecord,
    FailedRecord,
    Header,
    Record,
)
from agentctl.secrets import mask
from agentctl.times import format_duration, to_rfc3339

AUDITED: Final = frozenset(
    [
        Header,
        EventRecord,
        DoneRecord,
        FailedRecord,
        BugRecord,
        ErrorRecord,
        AsideRecord,
        RequeuedRecord,
        DropRecord,
        StopRecord,
        CancelRecord,
        CancelledRecord,
        RetryRecord,
        DeletedRecord,
        MissedRecord,
        CallRecord,
        WaitingRecord,
        AnswerRecord,
        *OF_SCHEDULES,
    ]
)
_OF: Final = frozenset([EventRecord, AsideRecord, RequeuedRecord, DropRecord, *OF_SCHEDULES])
_DENIED: Final = "agentctl.errors.Denied"
_LONGEST: Final = 2000


def is_audited(record: Record) -> bool:
    """Whether a record may have audit lines; of calls only questions have."""
    return type(record) in AUDITED and (type(record) is not CallRecord or record.fn == QUESTION)


def audit_lines(agent: str, record: Record, event: EventRecord | None) -> list[str]:
    """The audit lines of a record; `event` is the accepted event that it belongs to."""
    at = to_rfc3339(getattr(record, "at", 0))
    if type(record) in _OF:
        of: tuple[str, ...] = getattr(record, "of", ())
    elif isinstance(record, DeletedRecord):
        of = record.deleted
    else:
        of = event.of if event is not None else ()
    who = format_instance(agent, of)
    handler = event.handler if event is not None else ""
    whats = _inputs(record, who) or _whats(record, handler)
    return [f"{at} {who} {escaped(what)}" for what in whats]


def _inputs(record: Record, who: str) -> list[str]:
    match record:
        case CallRecord(call=call, fn="question") | WaitingRecord(waiting=call):
            until = "" if record.until is None else f", until {to_rfc3339(record.until)}"
            return [f"asked: {who}-{call}: {record.text} ({record.type}{until})"]
        case AnswerRecord():
            by = f" by {record.by}" if record.by else ""
            note = f" ({record.note})" if record.note else ""
            return [f"answered: {who}-{record.answer}{by}: {masked(record.value)}{note}"]
        case _:
            return []


def _whats(record: Record, handler: str) -> list[str]:
    if type(record) in OF_SCHEDULES:
        return schedule_lines(record)
    match record:
        case Header():
            repaired = [f"repaired: cut off {record.cut}"] if record.cut else []
            started = [f"started: {counted(record.open)} unfinished"] if record.start else []
            return [*repaired, *started]
        case EventRecord():
            accepted = f"accepted: event #{record.event} of {record.handler}{of_schedule(record)}"
            if record.missed > 0:
                return [stands_for(record), accepted]
            if record.was is None:
                return [accepted]
            return [f"requeued: event #{record.was} as event #{record.event}", accepted]
        case DoneRecord():
            told = record.unheard and bytes(record.value) != b"null"
            value = f", nobody waited for {masked(record.value)}" if told else ""
            return [f"completed: event #{record.done} of {handler}{value}"]
        case FailedRecord():
            return [f"failed: event #{record.failed} of {handler} ({record.type}: {record.text})"]
        case BugRecord():
            return [f"stuck: event #{record.bug} of {handler} ({record.text})"]
        case ErrorRecord() if record.type == _DENIED:
            return [f"denied: call {record.error} ({record.text})"]
        case _:
            return _changes(record, handler) or _moves(record)


def _changes(record: Record, handler: str) -> list[str]:
    match record:
        case CancelRecord():
            return [f"cancelled: event #{record.cancel} of {handler}{_who(record)}"]
        case CancelledRecord(ran=True):
            return [f"cancelled: event #{record.cancelled} of {handler}, its clean-up is done"]
        case CancelledRecord():
            return [f"cancelled: event #{record.cancelled} of {handler}{_who(record)}"]
        case MissedRecord(late_us=late_us):
            late = format_duration(timedelta(microseconds=late_us))
            return [f"missed: event #{record.missed} of {handler} (due {late} ago)"]
        case RetryRecord():
            return [f"retried: event #{record.retry} of {handler}{_who(record)}"]
        case DeletedRecord():
            return [f"deleted: the instance{_who(record)}"]
        case _:
            return []


def _who(record: CancelRecord | CancelledRecord | RetryRecord | DeletedRecord) -> str:
    """Who asked for it, and why, as far as it is known: ` (by ana: no longer wanted)`."""
    reason = getattr(record, "reason", "")
    said = ": ".join(part for part in (record.by and f"by {record.by}", reason) if part)
    return f" ({said})" if said else ""


def _moves(record: Record) -> list[str]:
    match record:
        case AsideRecord():
            times = "once" if record.starts == 1 else f"{record.starts} times"
            return [
                f"set aside: event #{record.aside} of {record.handler} "
                f"(started {times} without finishing)"
            ]
        case RequeuedRecord(fresh=None):
            return [f"requeued: event #{record.requeued}"]
        case DropRecord():
            return [f"dropped: event #{record.drop} ({record.reason})"]
        case StopRecord():
            return [f"stopped: {counted(record.stop)} unfinished"]
        case _:
            return []


def counted(events: int) -> str:
    """`1 event`, `2 events`."""
    return "1 event" if events == 1 else f"{events} events"


def masked(value: msgspec.Raw) -> str:
    """A recorded value as JSON for people, secrets masked."""
    return msgspec.json.encode(mask(msgspec.json.decode(value))).decode()


def escaped(text: str) -> str:
    """Text on one line, without control characters, of bounded length."""
    if len(text) > _LONGEST:
        text = text[: _LONGEST - 1] + "…"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
