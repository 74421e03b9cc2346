"""Counting where a journal's events stand, without reading what they did.

`Tally.fold` takes the lines in order, as `JournalHistory.fold` takes the records, and keeps of
each open event only what `word_of` asks for: it answers the same, in a third of the time. It
reads a record as a whole only where a time stands in it that counts; whether a line still has
its frame makes no difference.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from agentctl.core.keys import path_of
from agentctl.core.lifecycle import ALLOWED, Phase
from agentctl.core.states import TIMER, OpenWord, Pending, pending_of, word_of
from agentctl.names import Identity
from agentctl.records import KINDS, CallRecord, EventRecord, Header, decode

_BEGIN: Final = re.compile(rb'\{"([a-z]+)":"?([0-9]{1,18})(?:-([0-9.]+)")?')
_FN: Final = re.compile(rb',"fn":"([^"\\]*)"')
_KNOWN: Final = frozenset(kind.encode() for kind in KINDS)
_OF_NO_EVENT: Final = frozenset(
    [b"stopping", b"stop", b"state", b"outcome", b"answered", b"synced"]
)
_OUTCOMES: Final = frozenset([b"ok", b"error", b"fired", b"dropped"])
_ENDS: Final = frozenset([b"done", b"failed", b"cancelled", b"missed"])
_LEADS_TO: Final[Mapping[bytes, Phase]] = {
    **dict.fromkeys((b"start", b"again", b"call", b"ok", b"error", b"fired"), Phase.EXECUTING),
    b"parked": Phase.PARKED,
    b"bug": Phase.STUCK,
    b"retry": Phase.QUEUED,
}
_ALLOWED: Final = {phase: {kind.encode() for kind in kinds} for phase, kinds in ALLOWED.items()}


class _Open:
    """One open event.

    Attributes:
        calls: all its calls, each as what was called and until when.
        over: those that have an outcome.
    """

    __slots__ = ("calls", "due_us", "of", "over", "phase", "records")

    def __init__(self, due_us: int | None, of: Identity) -> None:
        self.phase = Phase.QUEUED
        self.due_us = due_us
        self.of = of
        self.records = 1
        self.calls: dict[bytes, tuple[str, int | None]] = {}
        self.over: set[bytes] = set()


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
        self._open: dict[int, _Open] = {}
        self._requeuing: dict[int, _Open] = {}
        self._failed: dict[int, _Open] = {}

    def fold(self, body: bytes) -> None:
        """Take the journal's next line.

        Raises:
            ValueError: it can't follow what stands before it, or is no record.
            FormatTooNew: it is of a kind that this version doesn't know.
        """
        begin = _BEGIN.match(body)
        self.records += begin is None or begin[1] != b"synced"
        if begin is None or self.agent is None:
            self._read(body)
            return
        kind, number = begin[1], int(begin[2])
        if kind == b"event":
            self._accept(number, body)
        elif kind not in _OF_NO_EVENT:
            event = self._requeuing.get(number) or self._open.get(number)
            if kind == b"retry":
                self._retry(number, event, body)
            elif event is None or kind in (b"requeued", b"aside", b"drop"):
                self._move(kind, number, event, body)
            else:
                self._follow(event, kind, begin, body)

    def _read(self, body: bytes) -> None:
        record = decode(body)
        if isinstance(record, Header) is not (self.agent is None):
            raise ValueError("the first record, and only it, is the header")
        if isinstance(record, Header):
            self.agent, self.kept = record.agent, record.kept

    def _accept(self, number: int, body: bytes) -> None:
        due_us: int | None = None
        of: Identity = ()
        if b'"due":' in body or b'"of":' in body:
            record = decode(body)
            assert isinstance(record, EventRecord)
            due_us, of = record.due, record.of
        place = self._requeuing if number in self.asides else self._open
        place[number] = _Open(due_us, of)

    def _follow(self, event: _Open, kind: bytes, begin: re.Match[bytes], body: bytes) -> None:
        number, path = int(begin[2]), begin[3]
        if kind not in _ALLOWED[event.phase]:
            if kind not in _KNOWN:
                decode(body)  # says so
            raise ValueError(f"{kind.decode()!r} can't follow: event {number} is {event.phase}")
        event.records += 1
        if kind == b"call":
            event.calls[path] = _call(body, begin.end())
        elif kind in _OUTCOMES:
            event.over.add(path)
        elif kind in _ENDS:
            del self._open[number]
            if kind == b"failed":
                self._failed[number] = event
        event.phase = _LEADS_TO.get(kind, event.phase)

    def _move(self, kind: bytes, number: int, event: _Open | None, body: bytes) -> None:
        if kind == b"aside":
            self._open.pop(number, None)
            self.asides.add(number)
        elif kind == b"drop" and number in self.asides:
            self.asides.discard(number)
        elif kind == b"requeued" and number in self.asides:
            self.asides.discard(number)
            if event is not None and b'"fresh":' not in body:
                event.phase = Phase.QUEUED
                self._open[number] = self._requeuing.pop(number)
        else:
            decode(body)  # of a kind that isn't known says so
            raise ValueError(f"{kind.decode()!r} of event {number}, which isn't open")

    def _retry(self, number: int, event: _Open | None, body: bytes) -> None:
        """One that failed goes on too; some of its calls no longer count, or aren't over."""
        event = event or self._failed.pop(number, None)
        record = decode(body)
        if event is None:
            raise ValueError(f"'retry' of event {number}, which isn't open")
        for call in getattr(record, "undo", ()):
            event.over.discard(_path(call))
        for call in getattr(record, "forget", ()):
            event.over.discard(_path(call))
            event.calls.pop(_path(call), None)
        event.records += 1
        event.phase = Phase.QUEUED
        self._open[number] = event

    # -- what comes of it

    def words(self, *, held: bool, now_us: int) -> Counter[OpenWord]:
        """How many open events stand where."""
        return Counter(
            word_of(event.phase, event.due_us, _pending(event), held=held, now_us=now_us)
            for event in self._open.values()
        )

    def times(self) -> Iterator[int]:
        """When each event that waits for time goes on by itself; also what is past."""
        for event in self._open.values():
            if event.phase is Phase.QUEUED and event.due_us is not None:
                yield event.due_us
            elif event.phase is Phase.PARKED and (until := _pending(event).until_us) is not None:
                yield until

    def longer_than(self, records: int) -> Iterator[tuple[Identity, int]]:
        """The open events with more records than that, as instance and number."""
        for number, event in self._open.items():
            if event.records > records:
                yield event.of, number


_NOTHING: Final = Pending()


def _pending(event: _Open) -> Pending:
    if event.phase is not Phase.PARKED:
        return _NOTHING
    return pending_of(call for path, call in event.calls.items() if path not in event.over)


def _path(call: str) -> bytes:
    return path_of(call).encode()


def _call(body: bytes, end: int) -> tuple[str, int | None]:
    found = _FN.match(body, end)
    if found is None or found[1] == TIMER.encode():
        record = decode(body)
        assert isinstance(record, CallRecord)
        return record.fn, record.until
    return found[1].decode(), None
