"""Why a schedule fires or doesn't, what happens next, and when; also of one that is gone.

Invariant: takes no lock and changes nothing. Never computes a due time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from agentctl.engines.schedules import ScheduleView
from agentctl.names import Address, shell_words
from agentctl.ops.instants import moment
from agentctl.ops.journal import JournalQuery, read_journal
from agentctl.ops.journal_documents import SeenRecord
from agentctl.ops.reasons import NOTHING, Ground, Reason
from agentctl.ops.step_documents import WhyDocument

_KINDS: Final = frozenset(["schedule", "skipped", "unschedule", "paused", "resumed"])
_SKIPPED: Final = {
    "missed": "no program ran then",
    "late": "it would have begun too late",
    "overlap": "the occurrence before it hadn't ended",
    "stuck": "too many of its occurrences are stuck",
    "key": "its key had been used",
}


def why_schedule(ground: Ground, instance: Address, name: str) -> WhyDocument | None:
    """Say why a schedule is where it is; None if nothing is on record of it.

    Raises:
        JournalDamaged, FormatTooNew: what the journal says can't be trusted.
    """
    there = ground.desk.schedules(instance.agent)
    live = next((one for one in there if (one.instance, one.name) == (instance, name)), None)
    records = _records(ground, instance, name)
    last = records[-1] if records else None
    if live is not None:
        status, reason = _live(ground, live, last)
    elif last is not None:
        status, reason = "gone", _gone(ground, last)
    else:
        return None
    return WhyDocument(
        None,
        str(instance),
        name,
        status,
        f"the schedule {name} of {instance} {reason.why}",
        reason.next,
        moment(reason.at_us),
        reason.behind,
        last,
    )


def _records(ground: Ground, instance: Address, name: str) -> Sequence[SeenRecord]:
    """What is on record of a schedule, the events that it made included."""
    named = re.compile(re.escape(msgspec.json.encode(name).decode()))
    journal, _ = read_journal(ground.desk, instance.agent, JournalQuery(grep=named))
    return [one for one in journal.records if _is_of(one, instance, name)]


def _is_of(record: SeenRecord, instance: Address, name: str) -> bool:
    fields = _fields(record)
    if tuple(fields.get("of", ())) != instance.identity:
        return False
    if record.kind == "event":
        return bool(fields.get("schedule") == name)
    return record.kind in _KINDS and bool(fields[record.kind] == name)


def _fields(record: SeenRecord) -> Mapping[str, Any]:
    fields = msgspec.json.decode(record.record)
    return fields if isinstance(fields, dict) else {}


def _live(ground: Ground, view: ScheduleView, last: SeenRecord | None) -> tuple[str, Reason]:
    agent, due_us = view.instance.agent, view.begins_us
    if view.paused:
        words = shell_words(str(view.instance), view.name)
        unpause = f"it fires no more until: agentctl schedule unpause {words}"
        return "paused", Reason("is paused", unpause, ())
    lately, behind = _lately(ground, view, last)
    fires = ground.by_itself("it fires", agent, due_us)
    if due_us > ground.now_us:
        why = f"waits for its time{lately}"
        return "scheduled", Reason(why, fires, (), at_us=due_us, behind=behind)
    nobody = "" if ground.start(agent) is None else f", and no program runs {agent}"
    why = f"was due {ground.at(due_us)}{nobody}{lately}"
    return "due", Reason(why, fires, (), at_us=due_us, behind=behind)


def _lately(ground: Ground, view: ScheduleView, last: SeenRecord | None) -> tuple[str, str | None]:
    """What it did last, where that says something; and the occurrence that hasn't ended."""
    under_way = [
        str(one.event)
        for one in ground.desk.look(view.instance.agent).events
        if one.schedule == view.name and one.event.identity == view.instance.identity
    ]
    behind = under_way[0] if under_way else None
    still = "" if behind is None else f"; its occurrence {behind} hasn't ended"
    if last is not None and last.kind == "skipped":
        return f"; its last due time was skipped: {_skipped(last)}{still}", behind
    return still, behind


def _skipped(record: SeenRecord) -> str:
    why = _fields(record).get("why", "missed")
    return _SKIPPED.get(why, str(why))


def _gone(ground: Ground, last: SeenRecord) -> Reason:
    fields = _fields(last)
    at = ground.at(fields["at"]) if fields.get("at") else ""
    match last.kind:
        case "event":
            why = f"fired for the last time {at}: {last.event}"
            return Reason(why.strip(), NOTHING, (), behind=last.event)
        case "skipped":
            return Reason(f"was skipped at its last due time: {_skipped(last)}", NOTHING, ())
        case "unschedule":
            by = f" by {fields['by']}" if fields.get("by") else ""
            return Reason(f"was cancelled {at}{by}", NOTHING, ())
        case _:
            return Reason("went with its instance, which was deleted", NOTHING, ())
