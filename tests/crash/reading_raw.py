"""A second reader of an agent's folder, for the crash tests; shares no line with the first.

Owns: taking lines off their frame, and saying what they mean for what must never happen again.
Keeps: what it says comes from bytes alone. Never: imports agentctl.
"""

from __future__ import annotations

import json
import zlib
from functools import lru_cache
from typing import Any

VERBS = {
    "event": "accepted",
    "done": "completed",
    "failed": "failed",
    "bug": "stuck",
    "aside": "set aside",
    "requeued": "requeued",
    "drop": "dropped",
    "stop": "stopped",
    "cancel": "cancelled",
    "cancelled": "cancelled",
    "retry": "retried",
    "deleted": "deleted",
    "missed": "missed",
    "schedule": "schedule set",
    "unschedule": "schedule cancelled",
    "paused": "schedule paused",
    "resumed": "schedule resumed",
    "waiting": "asked",
    "answer": "answered",
}
OF_SCHEDULES = ("schedule", "skipped", "unschedule", "paused", "resumed")
NOT_OF_AN_EVENT = ("journal", "stop", "stopping", "answered", "told", *OF_SCHEDULES)
SKIPS = {"missed": "missed", "late": "missed", "overlap": "skipped", "key": "skipped"}


def records_of(content: bytes) -> list[dict[str, Any]]:
    """The records whose chain of checksums holds; a tail that doesn't is what a crash left."""
    records, crc = [], 0
    for line in content.split(b"\n"):
        crc = zlib.crc32(line[:-18], crc)
        if line[-18:] != b',"crc":"%08x"}' % crc:
            break
        if record := record_of(line):
            records.append(record)
    return records


@lru_cache(maxsize=10_000)  # in a matrix the same lines are read over and over; nobody changes them
def record_of(line: bytes) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(line)
    del record["crc"]
    record.pop("synced", None)
    return record


def kind(record: dict[str, Any]) -> str:
    return next(iter(record))


def number(record: dict[str, Any]) -> int:
    """The event that a record belongs to; 0 for the journal's own."""
    if kind(record) in NOT_OF_AN_EVENT:
        return 0
    value = record[kind(record)]
    if isinstance(value, str):
        return int(value.partition("-")[0])
    return value if isinstance(value, int) else 0


def is_end(record: dict[str, Any]) -> bool:
    return kind(record) in ("done", "failed", "cancelled", "missed")


def is_made_by_call(record: dict[str, Any]) -> bool:
    """Whether the record counts only with the one that follows it, the result of that call."""
    made = kind(record) == "schedule" or (kind(record) == "event" and "asker" not in record)
    return made and "from" in record


def is_question(record: dict[str, Any]) -> bool:
    return kind(record) == "call" and record["fn"] == "question"


def moves(record: dict[str, Any]) -> bool:
    """Whether an event's record moves its schedule on."""
    return "schedule" in record and not record.get("beside")


class Seen:
    """What one journal says, read plainly."""

    def __init__(self, content: bytes) -> None:
        self.records = records_of(content)
        self.header = self.records[0] if self.records else None
        kept = self.header.get("kept", 0) if self.header else 0
        if len(self.records) > 1 + kept and is_made_by_call(self.records[-1]):
            self.records.pop()  # cut short
        self.accepted: dict[int, dict[str, Any]] = {}
        self.outcomes: set[str] = set()
        self._tried: set[tuple[str, int]] = set()
        self.ended: list[int] = []
        self.asides: set[int] = set()
        returning: set[int] = set()
        for record in self.records:
            name, event = kind(record), number(record)
            if name == "event":
                self.accepted[event] = record
                self.asides.discard(record.get("was", 0))
                if event in self.asides:
                    returning.add(event)
            elif name in ("ok", "error", "dropped"):
                self.outcomes.add(record[name])
            elif name == "tried":
                self._tried.add((record[name], record["attempt"]))
            elif is_end(record):
                self.ended.append(event)
            elif name == "retry":
                anew = {*record.get("undo", ()), *record.get("forget", ())}
                self.outcomes -= anew
                self._tried = {one for one in self._tried if one[0] not in anew}
                if event in self.ended:
                    self.ended.remove(event)
            elif name == "aside":
                self.asides.add(event)
                self.accepted.pop(event, None)
                returning.discard(event)
            elif name in ("requeued", "drop"):
                self.asides.discard(event)
                returning.discard(event)
        # A requeue without its last line was not written.
        for event in returning:
            self.accepted.pop(event, None)

    def __deepcopy__(self, _memo: object) -> Seen:
        return self  # it never changes

    @staticmethod
    @lru_cache(maxsize=500)
    def of(content: bytes) -> Seen:
        """The same as before, where the content is: it never changes."""
        return Seen(content)

    @property
    def open(self) -> set[int]:
        return set(self.accepted) - set(self.ended)

    @property
    def settled(self) -> set[str]:
        """The keys of calls with an outcome: never to be made again, unless the power goes."""
        return {self.key(call) for call in self.outcomes}

    @property
    def tried(self) -> set[tuple[str, int]]:
        """The attempts that failed, by key and number: never to be made again, as above."""
        return {(self.key(call), attempt) for call, attempt in self._tried}

    def key(self, call: str) -> str:
        event = self.accepted.get(int(call.partition("-")[0]), {})
        agent = self.header["agent"] if self.header else ""
        return "/".join([agent, *event.get("of", [])]) + "-" + call

    @property
    def schedules(self) -> dict[tuple[str, ...], dict[str, Any]]:
        """The schedules that are set, by instance and name; each as its record, moved on."""
        live: dict[tuple[str, ...], dict[str, Any]] = {}
        kept = self.header.get("kept", 0) if self.header else 0
        asides: set[int] = set()
        for place, record in enumerate(self.records):
            name, value = kind(record), record[kind(record)]
            at = (*record.get("of", ()), value if isinstance(value, str) else "")
            if name == "aside":
                asides.add(value)
            elif name == "schedule":
                live[at] = record
            elif place <= kept:
                continue  # it says what was, not what becomes of them
            elif name == "skipped" or (name == "event" and moves(record) and value not in asides):
                at = at if name == "skipped" else (*record.get("of", ()), record["schedule"])
                live[at] = {**live[at], "due": record.get("next")}
                if live[at]["due"] is None:
                    del live[at]
            elif name == "unschedule":
                del live[at]
            elif name in ("paused", "resumed"):
                due = record.get("due", live[at]["due"])
                live[at] = {**live[at], "paused": name == "paused", "due": due}
            elif name == "deleted":
                live = {of: one for of, one in live.items() if list(of[:-1]) != list(value)}
        return live

    def audit(self) -> list[tuple[int, str, int]]:
        """The audit lines that come of this journal: time, verb, event."""
        if self.header is None:
            return []
        lines = [(self.header["at"], "repaired", 0)] if self.header.get("cut") else []
        if self.header.get("start", True):
            lines.append((self.header["at"], "started", 0))
        asides: set[int] = set()
        for place, record in enumerate(self.records[1:]):
            name, event = kind(record), number(record)
            carried_over = place < self.header.get("kept", 0)
            # The lines of a requeue say again what was audited when it was new.
            again = event in asides and name not in ("requeued", "drop", "aside")
            said_before = name == "requeued" and "fresh" in record
            if name in VERBS and not carried_over and not again and not said_before:
                if "was" in record:  # a fresh requeue is told of by the new event's own line
                    lines.append((record["at"], "requeued", record["was"]))
                if record.get("missed", 0) and name == "event":
                    lines.append((record["at"], "missed", 0))
                of = 0 if name in ("waiting", "answer") else event
                lines.append((record["at"], VERBS[name], of))
            if is_question(record) and not carried_over and not again:
                lines.append((record["at"], "asked", 0))
            if name == "skipped" and not carried_over:
                lines.append((record["at"], SKIPS[record.get("why", "missed")], 0))
            if name == "aside":
                asides.add(event)
            elif name == "event":
                asides.discard(record.get("was", 0))
            elif name in ("requeued", "drop"):
                asides.discard(event)
        return lines


def audit_of(content: bytes) -> list[tuple[int, str, int]]:
    """The lines of `audit.log` as `Seen.audit` has them."""
    lines = []
    for line in content.decode().splitlines():
        stamp, _, rest = line.partition(" ")
        who_and_verb, _, about = rest.partition(": ")
        verb = who_and_verb.partition(" ")[2]
        _, hash_mark, tail = about.partition("event #")
        event = int(tail.split()[0]) if hash_mark and verb not in ("started", "stopped") else 0
        lines.append((microseconds(stamp), verb, event))
    return lines


@lru_cache(maxsize=10_000)
def microseconds(stamp: str) -> int:
    from datetime import UTC, datetime, timedelta

    parsed = datetime.strptime(stamp, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    return (parsed - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def set_aside_numbers(content: bytes) -> list[int]:
    return [
        json.loads(line)["event"] for line in content.splitlines() if line.startswith(b'{"event":')
    ]
