"""Records of schedules, and of calls that concern another event, in one line for people.

As in `records_text`, which shows a record as its JSON where this doesn't understand it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import msgspec

from agentctl.times import LAST_INSTANT_US, format_duration, to_rfc3339

_OF_WHAT_WAS_MADE: Final = frozenset(["cancel", "result"])


def asked(fields: Mapping[str, Any]) -> str:
    """The arguments of a handler or a method: `[7] note="x"`."""
    parts = [_json(fields["args"])] if "args" in fields else []
    parts += [f"{name}={_json(value)}" for name, value in fields.get("kwargs", {}).items()]
    return " ".join(parts)


def instant(instant_us: object) -> str:
    """A recorded instant as a date."""
    if isinstance(instant_us, int) and 0 <= instant_us <= LAST_INSTANT_US:
        return to_rfc3339(instant_us)
    return str(instant_us)


def call_of_another(fields: Mapping[str, Any]) -> str:
    """A question, a timing, or what is done with what one made."""
    fn, to = fields["fn"], fields["to"]
    if fn in _OF_WHAT_WAS_MADE:
        named, _, due = to.rpartition(" ")
        return f"{fn} {named}, due {instant(int(due))}" if named else f"{fn} {to}"
    timing = fields.get("timing", {})
    name = [f"as {timing['name']}"] if "name" in timing else []
    due = [f"due {instant(timing['due_us'])}"] if "due_us" in timing else []
    said = [*name, *due, *_recurs(timing.get("period_us"), timing), *_key(timing)]
    return ", ".join([f"{fn} {to}.{fields['handler']} {asked(fields)}".rstrip(), *said])


def why_then(fields: Mapping[str, Any]) -> str:
    """What lets an event begin when it does, behind its handler and arguments; or nothing."""
    said = [f"due {instant(fields['due'])}"] if "due" in fields else []
    if "schedule" in fields:
        beside = "beside" if fields.get("beside") else "by"
        said.append(f"{beside} the schedule {fields['schedule']}")
        said.append(f"due {instant(fields['occurrence'])}")
    if fields.get("missed"):
        said.append(f"counts for {_times(fields['missed'])}")
    if fields.get("note"):
        said.append(str(fields["note"]))
    return "".join(f", {part}" for part in said)


def schedule(fields: Mapping[str, Any]) -> str:
    """What was set: its name and instance, what it runs, when, and by whom."""
    said = [f"{fields['handler']} {asked(fields)}".rstrip(), f"due {instant(fields['due'])}"]
    said += [*_recurs(fields.get("period"), fields), *_key(fields)]
    said += ["paused"] if fields.get("paused") else []
    who = fields.get("by") or fields.get("from") or fields.get("source")
    said += [f"by {who}"] if who else []
    return f"{_named(fields)}: {', '.join(said)}"


def skipped(fields: Mapping[str, Any]) -> str:
    """Due times that were let pass."""
    times, why = _times(fields.get("count", 1)), fields.get("why", "missed")
    return f"{_named(fields)}: {times}, from {instant(fields['due'])} on ({why})"


def named(fields: Mapping[str, Any]) -> str:
    """Which schedule was paused or cancelled, and by whom."""
    return f"{_named(fields)}{_by(fields)}"


def resumed(fields: Mapping[str, Any]) -> str:
    """A schedule that fires again, and when."""
    passed = f", {_times(fields['count'])} passed" if fields.get("count") else ""
    return f"{_named(fields)}: due {instant(fields['due'])}{passed}{_by(fields)}"


def missed(fields: Mapping[str, Any]) -> str:
    """How late an event was that began no more."""
    return f"{_duration(fields['late_us'])} late"


def _recurs(period_us: int | None, fields: Mapping[str, Any]) -> list[str]:
    if fields.get("cron") is not None:
        return [f"cron {fields['cron']} {fields.get('tz', '')}".rstrip()]
    return [] if period_us is None else [f"every {_duration(period_us)}"]


def _key(fields: Mapping[str, Any]) -> list[str]:
    return [f"key {fields['key']}"] if "key" in fields else []


def _named(fields: Mapping[str, Any]) -> str:
    """A schedule's name, behind its instance if that has an identity."""
    return "/".join((*fields.get("of", ()), str(next(iter(fields.values())))))


def _times(count: int) -> str:
    return "1 due time" if count == 1 else f"{count} due times"


def _duration(duration_us: int) -> str:
    return format_duration(timedelta(microseconds=duration_us))


def _by(fields: Mapping[str, Any]) -> str:
    return f" by {fields['by']}" if fields.get("by") else ""


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
