"""A second reader of what steps, waits and answers left on record; shares no line with the first.

Owns: what each step's records say, and what they may never say. Keeps: what it says comes from
records alone, as they stand in the journal. Never: imports agentctl.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

OUTCOMES = ("ok", "error", "dropped", "fired")
IN_A_CALL = ("tried", "attempt", "waiting", "answer", *OUTCOMES)


@dataclass
class Trail:
    """One call's records.

    Attributes:
        call: `1-2`; `place` is that of its record in the journal.
        attempts: those that began, in order.
        tried: which of them failed, and were followed by another.
        until_us: when the backoff ends that it is in.
        waits: it waits for an input.
        answers: the inputs that it had.
        ends: its outcomes, of which there is one at most; `ended` is the place of the last.
    """

    call: str
    place: int
    fn: str
    name: str = ""
    undoes: str | None = None
    attempts: list[int] = field(default_factory=lambda: [1])
    tried: list[int] = field(default_factory=list)
    until_us: int = 0
    waits: bool = False
    answers: list[Any] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    ended: int = -1
    errors: list[str] = field(default_factory=list)

    def take(self, place: int, kind: str, record: Mapping[str, Any]) -> None:
        """Take what happens to it next."""
        if self.ends:
            self.errors.append(f"{kind} of {self.call}, which had ended: {self.ends}")
        elif kind == "tried":
            self._expect(record["attempt"] == self.attempts[-1], "tried what doesn't run", record)
            self._expect(record["attempt"] not in self.tried, "tried twice", record)
            self.tried.append(record["attempt"])
            self.until_us = record.get("next", 0)
        elif kind == "attempt":
            right = self.tried[-1:] == [record["n"] - 1]
            self._expect(right, "an attempt that doesn't follow its failure", record)
            self._expect(record["at"] >= self.until_us, "an attempt before its backoff", record)
            self.attempts.append(record["n"])
        elif kind == "waiting":
            self._expect(not self.waits, "waits twice at once", record)
            self.waits = True
        elif kind == "answer":
            asks = self.waits or (self.fn == "question" and not self.answers)
            self._expect(asks, "answered without waiting", record)
            self.answers.append(record["value"])
            self.waits = False
        else:
            self.ends.append(kind)
            self.ended = place

    def _expect(self, right: bool, what: str, record: Mapping[str, Any]) -> None:
        if not right:
            self.errors.append(f"{self.call}: {what}: {record}")


@dataclass
class Event:
    """One event's calls, and what was done to it.

    Attributes:
        cancelled: the place of its cancellation.
        too_late: steps that the handler had only begun to ask for when that reached it.
        torn: steps that couldn't be undone, before a retry.
    """

    trails: dict[str, Trail] = field(default_factory=dict)
    cancelled: int | None = None
    retried: bool = False
    too_late: list[str] = field(default_factory=list)
    torn: set[str] = field(default_factory=set)
    errors: list[str] = field(default_factory=list)

    @property
    def steps(self) -> list[Trail]:
        return [one for one in self.trails.values() if one.fn == "step"]

    @property
    def undone(self) -> list[str]:
        """The steps that were undone, in that order, by call."""
        return [one.undoes for one in self.steps if one.undoes is not None]

    def take(self, place: int, kind: str, record: Mapping[str, Any]) -> None:
        """Take the event's next record."""
        if kind == "cancel":
            self.cancelled = place
        elif kind == "retry":
            self._retry(record)
        elif kind == "call":
            self._begin(place, record)
        elif kind in IN_A_CALL:
            trail = self.trails.get(record[kind])
            if trail is None:
                self.errors.append(f"{kind} of {record[kind]}, which wasn't called")
                return
            if kind == "attempt" and self.cancelled is not None and trail.undoes is None:
                self.errors.append(f"another attempt of {trail.call} after a cancellation")
            trail.take(place, kind, record)

    def _begin(self, place: int, record: Mapping[str, Any]) -> None:
        call, undoes = record["call"], record.get("undoes")
        trail = Trail(call, place, record["fn"], record.get("step", ""), undoes)
        if trail.fn == "step":
            if undoes is not None:
                self._begin_undoing(undoes)
            elif self.cancelled is not None:
                self.too_late.append(call)
            elif self.undone:
                self.errors.append(f"the step {call} began after {self.undone} were undone")
        self.trails[call] = trail

    def _begin_undoing(self, call: str) -> None:
        done = self.trails.get(call)
        if done is None or done.ends != ["ok"]:
            self.errors.append(f"{call} is undone, and wasn't done")
        elif call in self.undone:
            self.errors.append(f"{call} is undone twice")
        elif any(self.trails[one].ended < done.ended for one in self._undone_before(call)):
            self.errors.append(f"{call} is undone after {self.undone}: not in reverse")

    def _undone_before(self, call: str) -> list[str]:
        """What should have been done before it; what a retry undoes anew comes behind the rest."""
        return [one for one in self.undone if call not in self.torn or one in self.torn]

    def _retry(self, record: Mapping[str, Any]) -> None:
        self.retried = True
        for call in record.get("forget", ()):
            undoes = self.trails.pop(call).undoes
            if undoes is not None:
                self.torn.add(undoes)
        for call in record.get("undo", ()):
            before = self.trails[call]
            self.trails[call] = Trail(call, before.place, before.fn, before.name, before.undoes)

    def broken(self) -> list[str]:
        """What may never have happened."""
        errors = [error for one in self.trails.values() for error in one.errors]
        made = [one for one in self.too_late if self.trails[one].ends != ["dropped"]]
        return [*self.errors, *errors, *(f"{one} began after a cancellation" for one in made)]


def events_of(records: Sequence[Mapping[str, Any]], events: Iterable[int]) -> dict[int, Event]:
    """What became of the calls of each of these events; of one that was set aside, since then."""
    found = {event: Event() for event in events}
    for place, record in enumerate(records):
        kind = next(iter(record))
        if kind not in ("event", "cancel", "retry", "call", *IN_A_CALL):
            continue
        event = int(str(record[kind]).partition("-")[0])
        if kind == "event" and event in found:
            found[event] = Event()  # put back: its lines stand here again
        elif event in found:
            found[event].take(place, kind, record)
    return found
