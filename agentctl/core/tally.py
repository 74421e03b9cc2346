"""Counting where a journal's events stand, without reading what they did.

`Tally.fold` takes the lines in order, as `JournalHistory.fold` takes the records, and keeps of
each open event only what `word_of` asks for: it answers the same, in a third of the time. It
reads a record as a whole only where a time stands in it that counts; whether a line still has
its frame makes no difference.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from agentctl.core.keys import path_of
from agentctl.core.lifecycle import ALLOWED, Phase
from agentctl.core.schedules import FOLDS, Schedules, is_made_by_call
from agentctl.core.states import (
    WAITS,
    OpenCall,
    OpenWord,
    Pending,
    pending_of,
    waits_for,
    word_of,
)
from agentctl.names import Identity
from agentctl.record_moves import DeletedRecord, ToldRecord
from agentctl.record_steps import StepRecord
from agentctl.records import CallRecord, EventRecord, Header, Record, decode

_BEGIN: Final = re.compile(rb'\{"([a-z]+)":"?([0-9]{1,18})(?:-([0-9.]+)")?').match
_FN: Final = re.compile(rb'\{"call":"[0-9.-]+","fn":"([^"\\]*)"')
_OF_NO_EVENT: Final = frozenset(
    [b"stopping", b"stop", b"state", b"outcome", b"answered", b"synced"]
)
_OF_SCHEDULES: Final = frozenset([b"schedule", b"skipped", b"unschedule", b"paused", b"resumed"])
_ENDS: Final = frozenset([b"done", b"failed", b"cancelled", b"missed"])
_LEADS_TO: Final[Mapping[str, Phase]] = {
    **dict.fromkeys(("start", "again", "call", "ok", "error", "fired"), Phase.EXECUTING),
    **dict.fromkeys(("tried", "attempt", "waiting"), Phase.EXECUTING),
    "parked": Phase.PARKED,
    "bug": Phase.STUCK,
}
_HAPPENS: Final = frozenset([*_LEADS_TO, "dropped", "cancel", "answer"])
_NEXT: Final[Mapping[Phase, Mapping[bytes, Phase]]] = {
    phase: {kind.encode(): _LEADS_TO.get(kind, phase) for kind in kinds & _HAPPENS}
    for phase, kinds in ALLOWED.items()
}
"""What may happen to an event in each phase without ending or moving it, and where it leads."""

_STAND: Final = frozenset([b"tried", b"attempt", b"waiting", b"answer"])
"""What happens to a call before its outcome."""


class _Open:
    """One open event.

    Attributes:
        calls: the records of its calls, by path.
        cancelling: a cancel of it is on record.
        over: the paths of those that have an outcome.
        stands: the last record of each that was tried again, waits for an input, or has it.
        waits: what it waits for, once asked, until its next record.
    """

    __slots__ = (
        "calls",
        "cancelling",
        "due_us",
        "of",
        "over",
        "phase",
        "records",
        "stands",
        "waits",
    )

    def __init__(self, due_us: int | None, of: Identity) -> None:
        self.phase = Phase.QUEUED
        self.due_us = due_us
        self.of = of
        self.records = 1
        self.cancelling = False
        self.calls: dict[bytes, bytes] = {}
        self.over: set[bytes] = set()
        self.stands: dict[bytes, bytes] | None = None
        self.waits: Pending | None = None

    def pending(self) -> Pending:
        """What it waits for, if it is parked."""
        if self.phase is not Phase.PARKED:
            return _NOTHING
        if self.waits is None:
            stands = self.stands or {}
            self.waits = pending_of(
                _call(body, stands.get(path))
                for path, body in self.calls.items()
                if path not in self.over
            )
        return self.waits

    def waits_at(self, since_us: int) -> str:
        """The path of the call that has waited for somebody since then."""
        stands = self.stands or {}
        for path, body in self.calls.items():
            fn, _, at_us = _call(body, stands.get(path))
            if path not in self.over and fn in WAITS and at_us == since_us:
                return path.decode()
        raise AssertionError("it was asked since when one waits")


_NOTHING: Final = Pending()
_READ_FOR: Final = (b'"due":', b'"of":', b'"was":', b'"schedule":')


def _call(body: bytes, stands: bytes | None) -> OpenCall:
    found = _FN.match(body)
    if found is not None and stands is None and b'"until":' not in body:
        fn = found[1].decode()
        if fn not in WAITS:  # since when it is made isn't asked
            return fn, None, 0
    record = decode(body)
    assert isinstance(record, CallRecord)
    return waits_for(record, None if stands is None else _stands(decode(stands)))


def _stands(record: Record) -> StepRecord:
    assert isinstance(record, StepRecord)
    return record


class Tally:
    """What a whole journal says of how many events stand where.

    Attributes:
        agent: whose it is, by its header.
        kept: how many records the last rewrite carried over.
        asides: the numbers of events that lie in `set-aside`.
    """

    def __init__(self) -> None:
        self.agent: str | None = None
        self.kept = 0
        self.records = 0
        self.asides: set[int] = set()
        # By the number as it is written: making it an integer takes longer than looking it up.
        self._live: dict[bytes, _Open] = {}
        self._requeuing: set[bytes] = set()
        self._failed: dict[bytes, _Open] = {}
        self._held: bytes | None = None
        self._schedules: Schedules | None = None

    def fold(self, body: bytes) -> None:
        """Take the journal's next line; what a call makes counts with the call's result.

        Raises:
            ValueError: it can't follow what stands before it, or is no record.
            FormatTooNew: it is of a kind that this version doesn't know.
        """
        if self._held is not None:
            held, self._held = self._held, None
            self._fold(held)
        if b'"from":' in body and self.records > self.kept and is_made_by_call(decode(body)):
            self._held = body
        else:
            self._fold(body)

    def _fold(self, body: bytes) -> None:
        begin = _BEGIN(body)
        if begin is None or self.agent is None:
            self._read(body)
            return
        kind, number, path = begin.groups()
        event = self._live.get(number)
        following = None if event is None else _NEXT[event.phase].get(kind)
        if event is None or following is None:
            if kind in _OF_SCHEDULES:
                self._read(body)
                return
            self.records += kind != b"synced"
            if kind not in _OF_NO_EVENT:
                self._move(kind, number, event, body)
            return
        self.records += 1
        event.records += 1
        event.phase = following
        event.waits = None
        if path is not None:
            if kind == b"call":
                event.calls[path] = body
            elif kind in _STAND:
                if event.stands is None:
                    event.stands = {}
                event.stands[path] = body
            else:
                event.over.add(path)
        elif kind == b"cancel":
            event.cancelling = True

    def _read(self, body: bytes) -> None:
        self.records += 1
        record = decode(body)
        if isinstance(record, Header) is not (self.agent is None):
            raise ValueError("the first record, and only it, is the header")
        if isinstance(record, Header):
            self.agent, self.kept = record.agent, record.kept
        elif type(record) in FOLDS:
            self.schedules.fold(record, carried_over=self._is_carried_over)
        elif isinstance(record, DeletedRecord):
            self.schedules.forget(record.deleted)
        elif isinstance(record, ToldRecord):
            number = b"%d" % record.event
            event = self._live.get(number) or self._failed.get(number)
            if event is not None and number not in self._requeuing:
                event.records += 1

    @property
    def schedules(self) -> Schedules:
        """The schedules."""
        if self._schedules is None:
            self._schedules = Schedules()
        return self._schedules

    @property
    def _is_carried_over(self) -> bool:
        return self.records <= 1 + self.kept

    def _move(self, kind: bytes, number: bytes, event: _Open | None, body: bytes) -> None:
        """Take a record by which an event comes, goes, or comes back."""
        if kind == b"event":
            self._accept(number, body)
        elif kind in _ENDS and event is not None and kind.decode() in ALLOWED[event.phase]:
            del self._live[number]
            if kind == b"failed":
                self._failed[number] = event
        elif kind == b"retry":
            self._retry(number, event, body)
        elif kind == b"aside":
            self._live.pop(number, None)
            self.asides.add(int(number))
        elif kind == b"requeued" and self._begins_anew(body):
            self.asides.discard(int(number))  # the new event's own record may have said so
        elif kind in (b"requeued", b"drop") and int(number) in self.asides:
            self.asides.discard(int(number))
            if kind == b"requeued" and event is not None and b'"fresh":' not in body:
                event.phase = Phase.QUEUED
                self._requeuing.discard(number)
        else:
            decode(body)  # of a kind that isn't known says so
            stands = "isn't open" if event is None else f"is {event.phase}"
            raise ValueError(f"{kind.decode()!r} of event {number.decode()}, which {stands}")

    def _begins_anew(self, body: bytes) -> bool:
        record = decode(body)
        fresh = b"%d" % (getattr(record, "fresh", None) or 0)
        return fresh in self._live and fresh not in self._requeuing

    def _accept(self, number: bytes, body: bytes) -> None:
        due_us: int | None = None
        of: Identity = ()
        was = 0
        if any(member in body for member in _READ_FOR):
            record = decode(body)
            assert isinstance(record, EventRecord)
            due_us, of, was = record.due, record.of, record.was or 0
            back = int(number) in self.asides  # a requeue moves nothing
            if record.moves and not back and not self._is_carried_over:
                self.schedules.moved(record)
        if int(number) in self.asides:
            self._requeuing.add(number)
        else:
            self.asides.discard(was)
        self._live[number] = _Open(due_us, of)

    def _retry(self, number: bytes, event: _Open | None, body: bytes) -> None:
        """One that failed goes on too; some of its calls no longer count, or aren't over."""
        record = decode(body)
        event = event or self._failed.pop(number, None)
        if event is None:
            raise ValueError(f"'retry' of event {number.decode()}, which isn't open")
        stands = event.stands or {}
        for call in getattr(record, "undo", ()):
            path = path_of(call).encode()
            event.over.discard(path)
            stands.pop(path, None)
        for call in getattr(record, "forget", ()):
            path = path_of(call).encode()
            event.over.discard(path)
            stands.pop(path, None)
            event.calls.pop(path, None)
        event.records += 1
        event.phase = Phase.QUEUED
        self._live[number] = event

    # -- what comes of it

    def _open(self) -> Iterator[tuple[bytes, _Open]]:
        """The open events; those of a requeue that wasn't written to its end don't count."""
        for number, event in self._live.items():
            if number not in self._requeuing:
                yield number, event

    def words(self, *, held: bool, now_us: int, unable: Collection[int] = ()) -> Counter[OpenWord]:
        """How many open events stand where; the unable ones are stuck, whatever is on record."""
        stuck = {b"%d" % number for number in unable}
        return Counter(
            "stuck"
            if number in stuck
            else word_of(event.phase, event.due_us, event.pending(), held=held, now_us=now_us)
            for number, event in self._open()
        )

    def times(self) -> Iterator[int]:
        """When each event that waits for time, and each schedule, goes on; also what is past."""
        for _, event in self._open():
            if event.phase is Phase.QUEUED and event.due_us is not None:
                yield event.due_us
            elif (until_us := event.pending().until_us) is not None:
                yield until_us
        yield from self.schedule_times()

    def schedule_times(self) -> Iterator[int]:
        """When each schedule that fires is due; also what is past."""
        for schedule in self.schedules.live.values():
            if not schedule.paused:
                yield schedule.due

    def waits_longest(
        self, *, unable: Collection[int] = ()
    ) -> tuple[int, Identity, int, str] | None:
        """The event that has waited for somebody longest: since when, whose, its number, its call.

        None if none waits.
        """
        since = [
            (at_us, int(number), event)
            for number, event in self._open()
            if int(number) not in unable and (at_us := event.pending().since_us) is not None
        ]
        if not since:
            return None
        at_us, number, event = min(since, key=lambda one: one[:2])
        return at_us, event.of, number, event.waits_at(at_us)

    def longer_than(self, records: int) -> Iterator[tuple[Identity, int]]:
        """The open events with more records than that, as instance and number."""
        for number, event in self._open():
            if event.records > records:
                yield event.of, int(number)

    def cancelling(self) -> Iterator[tuple[Identity, int]]:
        """The events that are cancelled and haven't ended, as instance and number."""
        for number, event in self._open():
            if event.cancelling:
                yield event.of, int(number)
