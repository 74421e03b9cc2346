"""Folding a journal into what each event has done.

`JournalHistory.fold` takes the records in order. A record that can't follow what stands before it
raises `ValueError`; the reader turns that into damage with file and line. The bodies of open
events are kept as they are, so that a rewrite copies them unread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from msgspec import UNSET, Raw

from agentctl.core.audit import AUDITED, audit_lines
from agentctl.core.audit_trail import AuditTrail
from agentctl.core.keys import Delivery, call_of, number_of, path_of
from agentctl.core.lifecycle import ALLOWED, Phase
from agentctl.names import Identity
from agentctl.records import (
    AgainRecord,
    AsideRecord,
    BugRecord,
    CallRecord,
    DoneRecord,
    DroppedRecord,
    DropRecord,
    ErrorRecord,
    EventRecord,
    FailedRecord,
    FiredRecord,
    Header,
    OkRecord,
    OutcomeRecord,
    ParkedRecord,
    Record,
    RequeuedRecord,
    StartRecord,
    StateRecord,
    StoppingRecord,
    StopRecord,
)
from agentctl.times import LAST_INSTANT_US

EventRecordLike: TypeAlias = (
    StartRecord | CallRecord | Delivery | DroppedRecord | ParkedRecord | AgainRecord | BugRecord
)


class EventHistory:
    """What one open event has done.

    Attributes:
        calls: what it asked for, by path.
        deliveries: what was delivered to it, as (path, record), in order.
        dropped: paths that nobody waited for any more.
        ended: paths that were delivered or dropped.
        starts: starts without a new result (R10).
        alone: whether it had the turn when it started last.
        bodies: its records as they stand in the journal.
    """

    __slots__ = (
        "accepted",
        "alone",
        "begun",
        "bodies",
        "bug",
        "calls",
        "deliveries",
        "dropped",
        "ended",
        "phase",
        "started_us",
        "starts",
    )

    def __init__(self, accepted: EventRecord, body: bytes) -> None:
        self.accepted = accepted
        self.bodies = [body]
        self.calls: dict[str, CallRecord] = {}
        self.deliveries: list[tuple[str, Delivery]] = []
        self.dropped: set[str] = set()
        self.ended: set[str] = set()
        self.phase = Phase.QUEUED
        self.started_us: int | None = None
        self.starts = 0
        self.begun = False
        self.alone = False
        self.bug: BugRecord | None = None

    @property
    def number(self) -> int:
        """The event's number."""
        return self.accepted.event

    def fold(self, kind: str, record: EventRecordLike, body: bytes) -> None:
        """Take the event's next record.

        Raises:
            ValueError: it can't follow what stands before it.
        """
        _check_follows(kind, self)
        _EVENT_FOLDS[type(record)](self, record)
        self.bodies.append(body)

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
        if (call.fn == "timer") is not isinstance(record, FiredRecord):
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
        self.dropped.add(path)

    def _ends(self, path: str, call: str) -> None:
        if path in self.ended:
            raise ValueError(f"{call} was over before")
        self.ended.add(path)

    def _parked(self, _record: ParkedRecord) -> None:
        self.phase = Phase.PARKED

    def _bug(self, record: BugRecord) -> None:
        self.bug = record
        self.phase = Phase.STUCK


_EVENT_FOLDS: Final[dict[type, Callable[[EventHistory, Any], None]]] = {
    StartRecord: EventHistory._start,
    AgainRecord: EventHistory._again,
    CallRecord: EventHistory._call,
    OkRecord: EventHistory._delivered,
    ErrorRecord: EventHistory._delivered,
    FiredRecord: EventHistory._delivered,
    DroppedRecord: EventHistory._dropped,
    ParkedRecord: EventHistory._parked,
    BugRecord: EventHistory._bug,
}


def _check_follows(kind: str, event: EventHistory) -> None:
    if kind not in ALLOWED[event.phase]:
        raise ValueError(f"{kind!r} can't follow: event {event.number} is {event.phase}")


class JournalHistory:
    """What a whole journal says.

    Attributes:
        next_event: the number that the next event gets.
        open: the events that haven't ended, by number.
        states: each instance's committed state.
        outcomes: how keyed events ended, by instance and key.
        asides: the events whose lines lie in `set-aside`, by number.
        stopping: the last program said that it stops; what it cut off is no crash.
        stopped: the last program ended gracefully.
    """

    def __init__(self, trail: AuditTrail | None = None) -> None:
        self._trail = trail
        self.header: Header | None = None
        self.next_event = 1
        self.open: dict[int, EventHistory] = {}
        self.states: dict[Identity, StateRecord] = {}
        self.outcomes: dict[tuple[Identity, str], OutcomeRecord] = {}
        self.asides: dict[int, AsideRecord] = {}
        self.requeuing: dict[int, EventHistory] = {}
        self.stopping = False
        self.latest_us = 0
        self.records = 0

    def fold(self, kind: str, record: Record, body: bytes) -> None:
        """Take the journal's next record.

        Raises:
            ValueError: it can't follow what stands before it.
        """
        self.records += 1
        if (self.header is None) is not (type(record) is Header):
            raise ValueError(f"the first record, and only it, is the header; this is {kind!r}")
        at_us = getattr(record, "at", 0)
        if not 0 <= at_us <= LAST_INSTANT_US:
            raise ValueError(f"the time {at_us} of {kind!r} is none that a date can show")
        self.latest_us = max(self.latest_us, at_us)
        number = number_of(record)
        event = self.requeuing.get(number) if self.requeuing else None
        event = event or self.open.get(number)
        of = type(record)
        if of in AUDITED and self._trail is not None:
            self._audit(self._trail, record, event)
        whole = _JOURNAL_FOLDS.get(of)
        if whole is not None:
            whole(self, record, body)
            return
        if event is None:
            raise ValueError(f"{kind!r} of event {number}, which isn't open")
        if of is DoneRecord or of is FailedRecord:
            self._end(event, kind, record)  # type: ignore[arg-type]
        else:
            event.fold(kind, record, body)  # type: ignore[arg-type]

    def _audit(self, trail: AuditTrail, record: Record, event: EventHistory | None) -> None:
        header = self.header or record
        assert isinstance(header, Header)
        if self._is_carried_over:
            return
        if number_of(record) in self.asides and not isinstance(record, RequeuedRecord | DropRecord):
            return  # a requeue puts back what was audited when it first happened
        trail.add(audit_lines(header.agent, record, event.accepted if event else None))

    @property
    def _is_carried_over(self) -> bool:
        """Whether the record being folded is one that the last rewrite took along."""
        return self.header is not None and 1 < self.records <= 1 + self.header.kept

    def _header(self, record: Header, _body: bytes) -> None:
        self.header = record
        self.next_event = record.next

    def _event(self, record: EventRecord, body: bytes) -> None:
        if record.event in self.asides:
            # A requeue begins; `requeued` commits it, and without that it was not written.
            self.requeuing[record.event] = EventHistory(record, body)
            return
        used = record.event < self.next_event and not self._is_carried_over
        if used or record.event in self.open:
            raise ValueError(f"event {record.event} is there twice")
        self.open[record.event] = EventHistory(record, body)
        self.next_event = max(self.next_event, record.event + 1)

    def _end(self, event: EventHistory, kind: str, record: DoneRecord | FailedRecord) -> None:
        _check_follows(kind, event)
        if self.open.pop(event.number, None) is not event:
            raise ValueError(f"{kind!r} of event {event.number}, which is only being requeued")
        accepted = event.accepted
        if isinstance(record, DoneRecord) and isinstance(record.state, Raw):
            self.states[accepted.of] = StateRecord(record.state, accepted.of)
        if accepted.key is not None:
            self.outcomes[accepted.of, accepted.key] = outcome_of(accepted, record)

    def _state(self, record: StateRecord, _body: bytes) -> None:
        self.states[record.of] = record

    def _outcome(self, record: OutcomeRecord, _body: bytes) -> None:
        self.outcomes[record.of, record.key] = record

    def _aside(self, record: AsideRecord, _body: bytes) -> None:
        event = self.open.pop(record.aside, None)
        if event is not None:
            _check_follows("aside", event)
        elif not self._is_carried_over:
            raise ValueError(f"event {record.aside} is set aside, and isn't open")
        self.asides[record.aside] = record
        self.next_event = max(self.next_event, record.aside + 1)

    def _requeued(self, record: RequeuedRecord, _body: bytes) -> None:
        if record.requeued not in self.asides:
            raise ValueError(f"event {record.requeued} isn't set aside")
        if record.fresh is None:
            event = self.requeuing.pop(record.requeued, None)
            if event is None:
                raise ValueError(f"event {record.requeued} was requeued without its lines")
            event.starts = 0
            event.begun = False
            event.phase = Phase.QUEUED
            self.open[record.requeued] = event
        del self.asides[record.requeued]

    def _drop(self, record: DropRecord, _body: bytes) -> None:
        if self.asides.pop(record.drop, None) is None:
            raise ValueError(f"event {record.drop} isn't set aside")

    def _stopping(self, _record: StoppingRecord, _body: bytes) -> None:
        self.stopping = True

    def _stop(self, _record: StopRecord, _body: bytes) -> None:
        self.stopping = True


_JOURNAL_FOLDS: Final[dict[type, Callable[[JournalHistory, Any, bytes], None]]] = {
    Header: JournalHistory._header,
    EventRecord: JournalHistory._event,
    StateRecord: JournalHistory._state,
    OutcomeRecord: JournalHistory._outcome,
    AsideRecord: JournalHistory._aside,
    RequeuedRecord: JournalHistory._requeued,
    DropRecord: JournalHistory._drop,
    StoppingRecord: JournalHistory._stopping,
    StopRecord: JournalHistory._stop,
}


def outcome_of(accepted: EventRecord, end: DoneRecord | FailedRecord) -> OutcomeRecord:
    """What compaction keeps of a keyed event that ended (R17)."""
    assert accepted.key is not None
    if isinstance(end, DoneRecord):
        number, status, failed = end.done, "completed", None
    else:
        number, status, failed = end.failed, "failed", end
    return OutcomeRecord(
        number,
        accepted.handler,
        accepted.key,
        status,
        of=accepted.of,
        digest=accepted.digest,
        value=end.value if isinstance(end, DoneRecord) else UNSET,
        type=failed.type if failed else None,
        args=failed.args if failed else UNSET,
        text=failed.text if failed else None,
        at=end.at,
    )
