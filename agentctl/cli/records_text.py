"""What a record says, in one line for people: `Bot-1-1 Payments.refund [7]`.

Invariant: any JSON object gives a line; what isn't understood is shown as its JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final

import msgspec

from agentctl.cli.failures import error_text
from agentctl.ops.journal import MARK
from agentctl.ops.journal_documents import SeenRecord
from agentctl.times import LAST_INSTANT_US, format_duration, to_rfc3339


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


def _asked(fields: Mapping[str, Any]) -> str:
    parts = [_json(fields["args"])] if "args" in fields else []
    parts += [f"{name}={_json(value)}" for name, value in fields.get("kwargs", {}).items()]
    return " ".join(parts)


def _until(instant_us: object) -> str:
    if isinstance(instant_us, int) and 0 <= instant_us <= LAST_INSTANT_US:
        return to_rfc3339(instant_us)
    return str(instant_us)


def _header(fields: Mapping[str, Any]) -> str:
    cut = f"; cut off: {fields['cut']}" if fields.get("cut") else ""
    return f"format {fields['journal']}, next event {fields['next']}{cut}"


def _call(fields: Mapping[str, Any]) -> str:
    if fields["fn"] == "timer":
        return f"timer until {_until(fields['until'])}"
    once = " (not repeated)" if fields.get("repeat") is False else ""
    to = f"{fields['fn']} {fields['to']}.{fields['handler']}" if "to" in fields else fields["fn"]
    return f"{to} {_asked(fields)}".rstrip() + once


def _event(fields: Mapping[str, Any]) -> str:
    asked_by = f", asked by {fields['from']}" if fields.get("from") else ""
    by = f", by the schedule {fields['schedule']}" if fields.get("schedule") else ""
    return f"{fields['handler']} {_asked(fields)}{by}{asked_by}"


def _schedule(fields: Mapping[str, Any]) -> str:
    """What was set: its name and instance, what it runs, and when."""
    cron = f"cron {fields['cron']} {fields.get('tz')}" if fields.get("cron") else ""
    recurs = cron or _every(fields.get("period"))
    when = f"due {_until(fields['due'])}{f', {recurs}' if recurs else ''}"
    return f"{_of(fields, 'schedule')}: {fields['handler']} {_asked(fields)}, {when}"


def _every(period_us: object) -> str:
    if not isinstance(period_us, int):
        return ""
    return f"every {format_duration(timedelta(microseconds=period_us))}"


def _of(fields: Mapping[str, Any], kind: str) -> str:
    """A schedule's name, behind its instance if that has an identity."""
    return "/".join((*fields.get("of", ()), fields[kind]))


def _skipped(fields: Mapping[str, Any]) -> str:
    times = "1 time" if fields.get("count", 1) == 1 else f"{fields['count']} times"
    why = fields.get("why", "missed")
    return f"{_of(fields, 'skipped')}: {times}, from {_until(fields['due'])} on ({why})"


def _resumed(fields: Mapping[str, Any]) -> str:
    passed = f", {fields['count']} passed" if fields.get("count") else ""
    return f"{_of(fields, 'resumed')}: due {_until(fields['due'])}{passed}"


def _missed(fields: Mapping[str, Any]) -> str:
    return f"{format_duration(timedelta(microseconds=fields['late_us']))} late"


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
    "schedule": _schedule,
    "skipped": _skipped,
    "unschedule": lambda fields: f"{_of(fields, 'unschedule')} {_who(fields)}".strip(),
    "paused": lambda fields: f"{_of(fields, 'paused')} {_who(fields)}".strip(),
    "resumed": _resumed,
    "missed": _missed,
    MARK: lambda fields: f"{fields[MARK]} bytes are durable",
}
