"""EventHistory: what one event has done, folded from its records.

A record that can't follow what stands before it raises `ValueError`; the reader turns that into
damage with file and line. The bodies are kept as they are, so that a rewrite copies them unread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from msgspec import Struct

from agentctl.core.keys import Delivery, call_of, path_of
from agentctl.core.lifecycle import ALLOWED, Phase
from agentctl.record_moves import CancelledRecord, CancelRecord, MissedRecord, RetryRecord
from agentctl.record_steps import (
    AnswerRecord,
    AttemptRecord,
    StepRecord,
    TriedRecord,
    WaitingRecord,
)
from agentctl.records import (
    AgainRecord,
    BugRecord,
    CallRecord,
    DoneRecord,
    DroppedRecord,
    ErrorRecord,
    EventRecord,
    FailedRecord,
    FiredRecord,
    OkRecord,
    ParkedRecord,
    StartRecord,
)

CANCEL: Final = ""
"""The path under which a cancellation stands among an event's deliveries."""

QUESTION: Final = "question"
WAITED_FOR: Final = frozenset(["timer", QUESTION])
"""Calls that nobody makes: their outcome is that a wait ended."""

_NONE: Final[frozenset[str]] = frozenset()
"""Very many events wait with nothing ended or dropped yet: they share this."""


class Stands(Struct, frozen=True, gc=False):
    """Where a call stands that was tried again, waits for an input, or has it.

    Attributes:
        last: its last such record.
        attempt: which one it is at, from 1.
        answer: the input that it has.
    """

    last: StepRecord
    attempt: int = 1
    answer: AnswerRecord | None = None


_NOWHERE: Final[Mapping[str, Stands]] = MappingProxyType({})

EndRecord: TypeAlias = DoneRecord | FailedRecord | CancelledRecord | MissedRecord

EventRecordLike: TypeAlias = (
    StartRecord
    | CallRecord
    | Delivery
    | DroppedRecord
    | StepRecord
    | ParkedRecord
    | AgainRecord
    | BugRecord
    | CancelRecord
    | RetryRecord
    | EndRecord
)


class EventHistory:
    """What one event has done.

    Attributes:
        calls: what it asked for, by path.
        deliveries: what was delivered to it, as (path, record), in order; a cancellation stands
            under the path `CANCEL`.
        dropped: paths that nobody waited for any more.
        ended: paths that were delivered or dropped.
        steps: where each call stands that was tried again, waits for an input, or has it.
        starts: starts without a new result (R10).
        alone: whether it had the turn when it started last.
        bodies: its records as they stand in the journal.
        cancel: the cancellation that was delivered to it, if one was.
        before_cancel: the calls that were open then, as far as they were folded.
        end: how it ended, if it did.
        told: another agent asked for it, and needs the answer no more.
    """

    __slots__ = (
        "accepted",
        "alone",
        "before_cancel",
        "begun",
        "bodies",
        "bug",
        "calls",
        "cancel",
        "deliveries",
        "dropped",
        "end",
        "ended",
        "phase",
        "started_us",
        "starts",
        "steps",
        "told",
    )

    def __init__(self, accepted: EventRecord, body: bytes) -> None:
        self.accepted = accepted
        self.bodies = [body]
        self.calls: dict[str, CallRecord] = {}
        self.deliveries: list[tuple[str, Delivery | CancelRecord]] = []
        self.dropped: set[str] | frozenset[str] = _NONE
        self.ended: set[str] | frozenset[str] = _NONE
        self.steps: dict[str, Stands] | Mapping[str, Stands] = _NOWHERE
        self.phase = Phase.QUEUED
        self.started_us: int | None = None
        self.starts = 0
        self.begun = False
        self.alone = False
        self.bug: BugRecord | None = None
        self.cancel: CancelRecord | None = None
        self.before_cancel = _NONE
        self.end: EndRecord | None = None
        self.told = False

    @property
    def number(self) -> int:
        """The event's number."""
        return self.accepted.event

    def fold(self, kind: str, record: EventRecordLike, body: bytes) -> None:
        """Take the event's next record.

        Raises:
            ValueError: it can't follow what stands before it.
        """
        self.check_may_follow(kind)
        _EVENT_FOLDS[type(record)](self, record)
        self.bodies.append(body)

    def check_may_follow(self, kind: str) -> None:
        """Make sure that a record of this kind can come next.

        Raises:
            ValueError: it can't.
        """
        if self.end is None and kind in ALLOWED[self.phase]:
            return
        if kind == "retry" and isinstance(self.end, FailedRecord):
            return
        stands = self.phase if self.end is None else "over"
        raise ValueError(f"{kind!r} can't follow: event {self.number} is {stands}")

    def _start(self, record: StartRecord) -> None:
        if self.started_us is None:
            self.started_us = record.at
        if not self.begun:
            self.begun = True
            self.starts += 1
        self.phase = Phase.EXECUTING

    def _again(self, record: AgainRecord) -> None:
        self.starts += 1
        self.begun = True
        self.alone = record.alone
        self.phase = Phase.EXECUTING

    def _call(self, record: CallRecord) -> None:
        path = path_of(record.call)
        if path in self.calls:
            raise ValueError(f"the call {record.call} is there twice")
        self.calls[path] = record
        self.phase = Phase.EXECUTING

    def _delivered(self, record: Delivery) -> None:
        path = path_of(call_of(record))
        call = self.calls.get(path)
        if call is None:
            raise ValueError(f"an outcome of {call_of(record)}, which wasn't called")
        if (call.fn in WAITED_FOR) is not isinstance(record, FiredRecord):
            raise ValueError(f"{call_of(record)} is a {call.fn}, and this is no outcome of one")
        self._ends(path, call_of(record))
        self.deliveries.append((path, record))
        self.starts = 0
        self.alone = False
        self.phase = Phase.EXECUTING

    def _dropped(self, record: DroppedRecord) -> None:
        path = path_of(record.dropped)
        if path not in self.calls:
            raise ValueError(f"{record.dropped} was dropped without having been called")
        self._ends(path, record.dropped)
        if isinstance(self.dropped, frozenset):
            self.dropped = set()
        self.dropped.add(path)

    def _stands(self, path: str, call: str, record: StepRecord) -> None:
        if path not in self.calls:
            raise ValueError(f"{call} wasn't called")
        if path in self.ended:
            raise ValueError(f"{call} was over before")
        if not isinstance(self.steps, dict):
            self.steps = {}
        before = self.steps.get(path)
        attempt = 1 if before is None else before.attempt
        answer = None if before is None else before.answer
        match record:
            case AnswerRecord():
                answer = record
            case AttemptRecord():
                attempt = record.n
            case _:
                attempt = record.attempt
        self.steps[path] = Stands(record, attempt, answer)

    def _tried(self, record: TriedRecord | WaitingRecord) -> None:
        call = record.tried if isinstance(record, TriedRecord) else record.waiting
        self._stands(path_of(call), call, record)
        self.starts = 0  # that it came so far is new, as a result is
        self.alone = False
        self.phase = Phase.EXECUTING

    def _attempt(self, record: AttemptRecord) -> None:
        self._stands(path_of(record.attempt), record.attempt, record)
        self.phase = Phase.EXECUTING

    def _answer(self, record: AnswerRecord) -> None:
        path = path_of(record.answer)
        if not self.waits_for_input(path):
            raise ValueError(f"an answer to {record.answer}, which doesn't wait for one")
        self._stands(path, record.answer, record)

    def waits_for_input(self, path: str) -> bool:
        """Whether an answer to this call would be the first."""
        call = self.calls.get(path)
        if call is None or path in self.ended:
            return False
        stands = self.steps.get(path)
        if call.fn == QUESTION:
            return stands is None
        return stands is not None and isinstance(stands.last, WaitingRecord)

    def _ends(self, path: str, call: str) -> None:
        if path in self.ended:
            raise ValueError(f"{call} was over before")
        if isinstance(self.ended, frozenset):
            self.ended = set()
        self.ended.add(path)

    def _parked(self, _record: ParkedRecord) -> None:
        self.phase = Phase.PARKED

    def _bug(self, record: BugRecord) -> None:
        self.bug = record
        self.phase = Phase.STUCK

    def _cancel(self, record: CancelRecord) -> None:
        if self.cancel is not None:
            raise ValueError(f"event {self.number} was cancelled before")
        self.cancel = record
        self.before_cancel = frozenset(self.calls.keys() - self.ended)
        self.deliveries.append((CANCEL, record))

    def _retry(self, record: RetryRecord) -> None:
        again = {path_of(call) for call in record.undo}
        gone = {path_of(call) for call in record.forget}
        if not (again | gone) <= self.calls.keys():
            raise ValueError(f"event {self.number} is retried from a call that it didn't make")
        self.calls = {path: call for path, call in self.calls.items() if path not in gone}
        self.deliveries = [one for one in self.deliveries if one[0] not in again | gone]
        self.ended = self.ended - again - gone
        self.steps = {path: one for path, one in self.steps.items() if path not in again | gone}
        self.dropped = self.dropped - again - gone
        self.end = self.bug = None
        self.starts = 0
        self.begun = self.alone = False
        self.phase = Phase.QUEUED

    def _ended(self, record: EndRecord) -> None:
        self.end = record


_EVENT_FOLDS: Final[dict[type, Callable[[EventHistory, Any], None]]] = {
    StartRecord: EventHistory._start,
    AgainRecord: EventHistory._again,
    CallRecord: EventHistory._call,
    OkRecord: EventHistory._delivered,
    ErrorRecord: EventHistory._delivered,
    FiredRecord: EventHistory._delivered,
    DroppedRecord: EventHistory._dropped,
    TriedRecord: EventHistory._tried,
    WaitingRecord: EventHistory._tried,
    AttemptRecord: EventHistory._attempt,
    AnswerRecord: EventHistory._answer,
    ParkedRecord: EventHistory._parked,
    BugRecord: EventHistory._bug,
    CancelRecord: EventHistory._cancel,
    RetryRecord: EventHistory._retry,
    DoneRecord: EventHistory._ended,
    FailedRecord: EventHistory._ended,
    CancelledRecord: EventHistory._ended,
    MissedRecord: EventHistory._ended,
}
