"""What a record says, in one line for people: `Bot-1-1 Payments.refund [7]`.

Invariant: any JSON object gives a line; what isn't understood is shown as its JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from agentctl.cli import schedule_records
from agentctl.cli.failures import error_text
from agentctl.ops.journal import MARK
from agentctl.ops.journal_documents import SeenRecord


def row(record: SeenRecord) -> tuple[str, str, str, str, str]:
    """Line, time, event, kind and what; `-` for what a record doesn't have."""
    return (
        str(record.line),
        record.at or "-",
        record.event or "-",
        record.kind,
        what(record) or "-",
    )


def what(record: SeenRecord) -> str:
    """What the record says beside its kind, event and time."""
    fields = msgspec.json.decode(record.record)
    if not isinstance(fields, dict):
        return str(fields)
    try:
        told = _WHAT[record.kind](fields)
    except (KeyError, TypeError, ValueError, AttributeError):  # of another version, or edited
        told = bytes(record.record).decode()
    return " ".join(part for part in (record.key, told) if part)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _header(fields: Mapping[str, Any]) -> str:
    cut = f"; cut off: {fields['cut']}" if fields.get("cut") else ""
    return f"format {fields['journal']}, next event {fields['next']}{cut}"


def _call(fields: Mapping[str, Any]) -> str:
    if fields["fn"] == "timer":
        return f"timer until {schedule_records.instant(fields['until'])}"
    if "to" in fields:
        return schedule_records.call_of_another(fields)
    if fields["fn"] == "question":
        return f"question {_input(fields)}"
    once = " (not repeated)" if fields.get("repeat") is False else ""
    fn = fields["fn"]
    if "step" in fields:
        undoes = f" (of {fields['undoes']})" if "undoes" in fields else ""
        fn = f"{'undo' if undoes else fn} {fields['step']}{undoes}"
    return f"{fn} {schedule_records.asked(fields)}".rstrip() + once


def _input(fields: Mapping[str, Any]) -> str:
    """What is asked for, its type, and the end of the wait."""
    until = fields.get("until")
    end = "" if until is None else f", until {schedule_records.instant(until)}"
    return f"{fields['text']} ({fields['type']}{end})"


def _tried(fields: Mapping[str, Any]) -> str:
    said = error_text(str(fields["type"]), fields.get("text") or "")
    return f"attempt {fields['attempt']}: {said}, next {schedule_records.instant(fields['next'])}"


def _answer(fields: Mapping[str, Any]) -> str:
    note = f": {fields['note']}" if fields.get("note") else ""
    by = f" by {fields['by']}" if fields.get("by") else ""
    return f"{_json(fields['value'])}{by}{note}"


def _event(fields: Mapping[str, Any]) -> str:
    asked_by = f", asked by {fields['from']}" if fields.get("from") else ""
    said = f"{fields['handler']} {schedule_records.asked(fields)}"
    return said + schedule_records.why_then(fields) + asked_by


def _error(fields: Mapping[str, Any]) -> str:
    said = fields.get("text") or ", ".join(str(arg) for arg in fields.get("args") or ())
    return error_text(str(fields["type"]), said)


def _bug(fields: Mapping[str, Any]) -> str:
    where = f" ({fields['line']})" if fields.get("line") else ""
    return f"{'diverged: ' if fields.get('divergence') else ''}{fields['text']}{where}"


def _done(fields: Mapping[str, Any]) -> str:
    state = f", state {_json(fields['state'])}" if "state" in fields else ""
    return _json(fields.get("value")) + state


def _requeued(fields: Mapping[str, Any]) -> str:
    return f"as event {fields['fresh']}" if fields.get("fresh") else ""


def _who(fields: Mapping[str, Any]) -> str:
    """Who asked for it, and why."""
    by = f"by {fields['by']}" if fields.get("by") else ""
    return ": ".join(part for part in (by, fields.get("reason")) if part)


def _cancelled(fields: Mapping[str, Any]) -> str:
    return "its clean-up is done" if fields.get("ran") else _who(fields)


def _retry(fields: Mapping[str, Any]) -> str:
    again = f"made again: {', '.join(fields['undo'])}" if fields.get("undo") else ""
    gone = f"forgotten: {', '.join(fields['forget'])}" if fields.get("forget") else ""
    return "; ".join(part for part in (_who(fields), again, gone) if part)


def _nothing(_: Mapping[str, Any]) -> str:
    return ""


_WHAT: Final[dict[str, Callable[[Mapping[str, Any]], str]]] = {
    "journal": _header,
    "event": _event,
    "start": _nothing,
    "call": _call,
    "ok": lambda fields: _json(fields.get("value")),
    "error": _error,
    "fired": _nothing,
    "dropped": _nothing,
    "parked": _nothing,
    "again": lambda fields: "alone" if fields.get("alone") else "",
    "bug": _bug,
    "done": _done,
    "failed": _error,
    "aside": lambda fields: f"{fields['handler']}, after {fields['starts']} starts",
    "requeued": _requeued,
    "drop": lambda fields: str(fields["reason"]),
    "state": lambda fields: _json(fields["state"]),
    "outcome": lambda fields: f"{fields['status']}: {fields['handler']}, key {fields['key']}",
    "stopping": lambda fields: f"{fields['stopping']} open",
    "stop": lambda fields: f"{fields['stop']} open",
    "cancel": _who,
    "cancelled": _cancelled,
    "retry": _retry,
    "deleted": lambda fields: f"{'/'.join(fields['deleted'])} {_who(fields)}".strip(),
    "told": lambda fields: f"{fields['told']} has the answer",
    "answered": lambda fields: f"{fields['do']}: {_json(fields['value'])}",
    "schedule": schedule_records.schedule,
    "skipped": schedule_records.skipped,
    "unschedule": schedule_records.named,
    "paused": schedule_records.named,
    "resumed": schedule_records.resumed,
    "missed": schedule_records.missed,
    "tried": _tried,
    "attempt": lambda fields: f"attempt {fields['n']}",
    "waiting": _input,
    "answer": _answer,
    MARK: lambda fields: f"{fields[MARK]} bytes are durable",
}
