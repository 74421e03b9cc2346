"""JournalHistory: what a whole journal says, folded record by record.

`fold` takes the records in order. A record that can't follow what stands before it raises
`ValueError`; the reader turns that into damage with file and line. It decides nothing about what
may go: that is `Kept`'s, and a rewrite's.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any, Final

from msgspec import Raw

from agentctl.core.audit import audit_lines, is_audited
from agentctl.core.audit_trail import AuditTrail
from agentctl.core.event_history import EndRecord, EventHistory
from agentctl.core.kept import KEEP, Asking, Kept, answers_had, asking_of, outcome_of, request_of
from agentctl.core.key_outcomes import KeyOutcomes
from agentctl.core.keys import number_of
from agentctl.core.lifecycle import Phase
from agentctl.core.schedules import FOLDS, ScheduleId, Schedules, is_made_by_call
from agentctl.names import Identity
from agentctl.record_kept import OutcomeRecord, StateRecord
from agentctl.record_moves import (
    AnsweredRecord,
    AsideRecord,
    DeletedRecord,
    DropRecord,
    RequeuedRecord,
    RetryRecord,
    StoppingRecord,
    StopRecord,
    ToldRecord,
)
from agentctl.records import DoneRecord, EventRecord, Header, Record
from agentctl.times import LAST_INSTANT_US

ANSWERS_KEPT_US: Final = 60_000_000
"""Who asks for a change asks for 5 seconds, and longer only while somebody answers."""

_PROMISES: Final = frozenset(["invoke", "cancel", "schedule", "unschedule", "pause", "resume"])
"""What an answer stands in front of: the one record that it tells of."""

LATELY: Final = 1000
"""So many of the last answers are told of again at a start."""


class JournalHistory:
    """What a whole journal says.

    Attributes:
        next_event: the number that the next event gets.
        open: the events that haven't ended, by number.
        kept: those that have, as far as they are still of use.
        keys: the open event of each idempotency key, by instance and key.
        asked: the open event of each asking call.
        fired: the open events that each schedule made.
        answered: changes that were carried out and answered, by the id they were asked under.
        states: each instance's committed state.
        outcomes: how keyed events ended, by instance and key.
        to_tell: what the last events that ended had asked other agents: a crash may have kept
            these from hearing that they may forget it.
        asides: the events whose lines lie in `set-aside`, by number.
        schedules: the schedules of its instances.
        owed: of `answered`, what other agents' calls were answered and may not have heard yet.
        stopping: the last program said that it stops; what it cut off is no crash.
        stopped: the last program ended gracefully.
    """

    def __init__(self, trail: AuditTrail | None = None, *, keep: int | None = None) -> None:
        self._trail = trail
        self._keep = keep
        self.kept = Kept(KEEP if keep is None else keep)
        self.keys: dict[tuple[Identity, str], int] = {}
        self.asked: dict[Asking, int] = {}
        self.fired: dict[ScheduleId, set[int]] = {}
        self.answered: OrderedDict[str, AnsweredRecord] = OrderedDict()
        self.header: Header | None = None
        self.next_event = 1
        self.open: dict[int, EventHistory] = {}
        self.states: dict[Identity, StateRecord] = {}
        self.outcomes = KeyOutcomes()
        self.to_tell: deque[tuple[str, Asking]] = deque(maxlen=LATELY)
        self.asides: dict[int, AsideRecord] = {}
        self.requeuing: dict[int, EventHistory] = {}
        self.schedules = Schedules()
        self.owed: dict[str, AnsweredRecord] = {}
        self.stopping = False
        self.latest_us = 0
        self.records = 0
        self._carried_to = 0
        self._promised: str | None = None
        self._held: tuple[str, Record, bytes] | None = None

    def fold(self, kind: str, record: Record, body: bytes) -> None:
        """Take the journal's next record.

        What a call of the agent's own makes counts with the call's result, which follows it in
        one write: a crash that cuts the write short leaves neither.

        Raises:
            ValueError: it can't follow what stands before it.
        """
        if self._held is not None:
            held, self._held = self._held, None
            self._fold(*held)
        if is_made_by_call(record) and not self._is_carried_over(self.records + 1):
            self._held = (kind, record, body)
            return
        self._fold(kind, record, body)

    def _fold(self, kind: str, record: Record, body: bytes) -> None:
        self.records += 1
        self._promised = None
        if (self.header is None) is not (type(record) is Header):
            raise ValueError(f"the first record, and only it, is the header; this is {kind!r}")
        at_us = getattr(record, "at", 0)
        if not 0 <= at_us <= LAST_INSTANT_US:
            raise ValueError(f"the time {at_us} of {kind!r} is none that a date can show")
        self.latest_us = max(self.latest_us, at_us)
        of, carried_over = type(record), self._is_carried_over()
        trail = None if carried_over or not is_audited(record) else self._trail
        if of in FOLDS:
            if trail is not None:
                self._audit(trail, record, None)
            self.schedules.fold(record, carried_over=carried_over)
            return
        number = number_of(record)
        event = self.requeuing.get(number) if self.requeuing else None
        event = event or self.open.get(number)
        if trail is not None:
            self._audit(trail, record, event or self.kept.events.get(number))
        whole = _JOURNAL_FOLDS.get(of)
        if whole is not None:
            whole(self, record, body)
            return
        if event is None:
            event = self._reopened(number) if of is RetryRecord else None
        if event is None:
            raise ValueError(f"{kind!r} of event {number}, which isn't open")
        event.fold(kind, record, body)  # type: ignore[arg-type]
        if event.end is not None:
            self._end(event, event.end)

    def _audit(self, trail: AuditTrail, record: Record, event: EventHistory | None) -> None:
        header = self.header or record
        assert isinstance(header, Header)
        if number_of(record) in self.asides and not isinstance(record, RequeuedRecord | DropRecord):
            return  # a requeue puts back what was audited when it first happened
        trail.add(audit_lines(header.agent, record, event.accepted if event else None))

    def _is_carried_over(self, line: int | None = None) -> bool:
        """Whether the record being folded, or that of a line, is one that a rewrite took along."""
        return 1 < (self.records if line is None else line) <= self._carried_to

    def _header(self, record: Header, _body: bytes) -> None:
        self.header = record
        self._carried_to = 1 + record.kept
        self.next_event = record.next
        if self._keep is None:
            self.kept = Kept(record.keep)

    def _event(self, record: EventRecord, body: bytes) -> None:
        if record.event in self.asides:
            # A requeue begins; `requeued` commits it, and without that it was not written.
            self.requeuing[record.event] = EventHistory(record, body)
            return
        used = record.event < self.next_event and not self._is_carried_over()
        if used or record.event in self.open:
            raise ValueError(f"event {record.event} is there twice")
        if record.moves and not self._is_carried_over():
            self.schedules.moved(record)
        self.begin(EventHistory(record, body))
        if record.was is not None:
            self.asides.pop(record.was, None)

    def begin(self, event: EventHistory) -> None:
        """Take an event that was accepted."""
        self._opened(event)
        self.next_event = max(self.next_event, event.number + 1)

    def _opened(self, event: EventHistory) -> None:
        accepted = event.accepted
        self.open[event.number] = event
        if accepted.key is not None:
            self.keys[accepted.of, accepted.key] = event.number
        if not event.told and (asking := asking_of(event)) is not None:
            self.asked[asking] = event.number
        if accepted.schedule is not None:
            self.fired.setdefault((accepted.of, accepted.schedule), set()).add(event.number)

    def _closed(self, event: EventHistory) -> None:
        accepted, number = event.accepted, event.number
        del self.open[number]
        if accepted.key is not None and self.keys.get((accepted.of, accepted.key)) == number:
            del self.keys[accepted.of, accepted.key]
        if (asking := asking_of(event)) is not None:
            self.asked.pop(asking, None)
        if accepted.schedule is not None:
            at = accepted.of, accepted.schedule
            self.fired[at].discard(number)
            if not self.fired[at]:
                del self.fired[at]

    def _reopened(self, number: int) -> EventHistory | None:
        """A failed event that a retry queues again."""
        event = self.kept.events.get(number)
        if event is not None and self._is_carried_over():
            self.kept.take(number)  # how it ended since then stands in a record of its own
            self._opened(event)
        elif event is not None:
            self.reopen(event)
        return event

    def _end(self, event: EventHistory, end: EndRecord) -> None:
        if self.open.get(event.number) is not event:
            raise ValueError(f"event {event.number} ends, which is only being requeued")
        if self.header is not None:
            self.to_tell += answers_had(self.header.agent, event)
        if self._is_carried_over():
            # What became of it since then stands in records of its own.
            self._closed(event)
            self.kept.add(event)
        else:
            self.finish(event, end)

    def finish(self, event: EventHistory, end: EndRecord) -> None:
        """Take an open event's end."""
        self._closed(event)
        self.kept.add(event)
        accepted = event.accepted
        if isinstance(end, DoneRecord) and isinstance(end.state, Raw):
            self.states[accepted.of] = StateRecord(end.state, accepted.of)
        if accepted.key is not None:
            self.outcomes.put(outcome_of(accepted, end))

    def _state(self, record: StateRecord, _body: bytes) -> None:
        self.states[record.of] = record

    def _outcome(self, record: OutcomeRecord, _body: bytes) -> None:
        self.outcomes.put(record)

    def _aside(self, record: AsideRecord, _body: bytes) -> None:
        event = self.open.get(record.aside)
        if event is not None:
            event.check_may_follow("aside")
            self.set_aside(event, record)
            return
        if not self._is_carried_over():
            raise ValueError(f"event {record.aside} is set aside, and isn't open")
        self.asides[record.aside] = record
        self.next_event = max(self.next_event, record.aside + 1)

    def set_aside(self, event: EventHistory, record: AsideRecord) -> None:
        """Take note that an open event's lines lie in `set-aside`."""
        self._closed(event)
        self.asides[event.number] = record

    def _requeued(self, record: RequeuedRecord, _body: bytes) -> None:
        if record.fresh is not None and record.fresh in self.open:
            self.asides.pop(record.requeued, None)  # the new event's own record may have said so
            return
        if record.requeued not in self.asides:
            raise ValueError(f"event {record.requeued} isn't set aside")
        if record.fresh is None:
            event = self.requeuing.pop(record.requeued, None)
            if event is None:
                raise ValueError(f"event {record.requeued} was requeued without its lines")
            event.starts = 0
            event.begun = False
            event.phase = Phase.QUEUED
            self._opened(event)
        del self.asides[record.requeued]

    def _drop(self, record: DropRecord, _body: bytes) -> None:
        if self.asides.pop(record.drop, None) is None:
            raise ValueError(f"event {record.drop} isn't set aside")

    def reopen(self, event: EventHistory) -> None:
        """Take an event that goes on, as it is read anew; what was known of it goes."""
        accepted, number = event.accepted, event.number
        self.kept.take(number)
        if number in self.open:
            self._closed(self.open[number])
        if accepted.key is not None:
            outcome = self.outcomes.get((accepted.of, accepted.key))
            if outcome is not None and outcome.outcome == number:
                self.outcomes.drop((accepted.of, accepted.key))
        self.begin(event)

    def _deleted(self, record: DeletedRecord, _body: bytes) -> None:
        self.forget(record.deleted)

    def forget(self, of: Identity) -> None:
        """Drop what is known of an instance that was deleted."""
        self.states.pop(of, None)
        self.outcomes.forget(of)
        self.kept.forget(of)
        self.schedules.forget(of)

    def _told(self, record: ToldRecord, body: bytes) -> None:
        event = self.open.get(record.event) or self.kept.events.get(record.event)
        if event is not None:
            event.bodies.append(body)  # kept or reopened, it is known after a rewrite, too
        self.take_told(record)

    def told(self, event: EventHistory) -> None:
        """Take note that nobody waits any more for the answer of an event, open or over."""
        event.told = True
        asking = asking_of(event)
        if asking is not None:
            self.asked.pop(asking, None)
            self.kept.told(asking)

    def told_record(self, asking: Asking, at_us: int) -> ToldRecord | None:
        """What says that an asking call has its answer; None: nothing is remembered for it."""
        number = self.event_for(asking)
        if number is not None:
            return ToldRecord(asking[0], number, at=at_us)
        request = request_of(asking)
        return ToldRecord(request, 0, at=at_us) if request in self.owed else None

    def take_told(self, record: ToldRecord) -> None:
        """Take note of that."""
        self.owed.pop(record.told, None)
        event = self.open.get(record.event) or self.kept.events.get(record.event)
        if event is not None:
            self.told(event)

    def event_for(self, asking: Asking) -> int | None:
        """The event that an asking call asked for, open or over, while it may hear the answer."""
        number = self.asked.get(asking)
        return self.kept.untold.get(asking) if number is None else number

    def lies_aside(self, asking: Asking) -> bool:
        """Whether the event that an asking call asked for is set aside."""
        return any((one.from_, one.asker) == asking for one in self.asides.values())

    def _answered(self, record: AnsweredRecord, _body: bytes) -> None:
        self.remember(record)
        if record.do in _PROMISES and not self._is_carried_over():
            self._promised = record.answered

    def remember(self, record: AnsweredRecord) -> None:
        """Note an answer, and forget those that nobody can be asking for any more."""
        if record.owed:
            self.owed[record.answered] = record
            return
        self.answered[record.answered] = record
        while next(iter(self.answered.values())).at < record.at - ANSWERS_KEPT_US:
            self.answered.popitem(last=False)

    def answer_to(self, request: str) -> AnsweredRecord | None:
        """What was answered to a request, as far as that is remembered; "" is none."""
        return self.answered.get(request) or self.owed.get(request)

    def end(self) -> None:
        """Take note that the journal ends here.

        An answer that promises a record stands in front of it, in one write: where a crash cut
        that short, nobody heard the answer, and there is no such record.
        """
        if self._promised is not None:
            self.answered.pop(self._promised, None)
            self.owed.pop(self._promised, None)
            self._promised = None
        self._held = None

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
    DeletedRecord: JournalHistory._deleted,
    ToldRecord: JournalHistory._told,
    AnsweredRecord: JournalHistory._answered,
}
