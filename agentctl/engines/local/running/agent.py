"""AgentRuntime: one agent of a program: its events, instances, permits, and its one writer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from msgspec import Raw

from agentctl.core.audit import audit_lines, is_audited
from agentctl.core.event_history import EventHistory
from agentctl.core.history import JournalHistory
from agentctl.core.kept import Asking, asking_of
from agentctl.core.lanes import rank_of
from agentctl.core.setting import sent_of
from agentctl.core.timing import Sent
from agentctl.engines.changes import Accepted
from agentctl.engines.local.events.calls import BoundMethod
from agentctl.engines.local.events.endings import End
from agentctl.engines.local.events.ledger import Batch
from agentctl.engines.local.events.outcomes import of_record
from agentctl.engines.local.events.run import EventRun
from agentctl.engines.local.running.accepting import Wanted
from agentctl.engines.local.running.binding import Binding
from agentctl.engines.local.running.calendar import Agenda, Calendar
from agentctl.engines.local.running.committer import Committer
from agentctl.engines.local.running.compacting import Compacting
from agentctl.engines.local.running.ends import Ends
from agentctl.engines.local.running.instances import Instances, goes_first
from agentctl.engines.local.running.program import ProgramCore
from agentctl.engines.local.running.queue import EventQueue, Permits
from agentctl.engines.local.running.room import Room
from agentctl.engines.local.running.states import States
from agentctl.engines.local.running.waiters import Waiters, stopped
from agentctl.engines.port import Ended
from agentctl.errors import AgentctlError, Stuck
from agentctl.names import Address, Identity, format_call_key, format_instance
from agentctl.record_moves import (
    CancelledRecord,
    MissedRecord,
    StoppingRecord,
    StopRecord,
)
from agentctl.records import BugRecord, DoneRecord, EventRecord, Record, encode
from agentctl.sdk.capability import CallOptions
from agentctl.sdk.ops import CallOp
from agentctl.storage.port import Store
from agentctl.times import to_us

_DUE_SOON_S: Final = 0.005
"""A sync that blocks the loop may take so long; what is due by then shouldn't wait for it."""


class AgentRuntime:
    """One agent of a running program; implements `Site` for its events."""

    def __init__(
        self, binding: Binding[Any], store: Store, history: JournalHistory, program: ProgramCore
    ) -> None:
        self.name = binding.spec.name
        self.cls = binding.cls
        self.spec = binding.spec
        self.settings = binding.settings
        self.program = program
        self._retention_us = to_us(self.settings.retention)
        self.store = store
        self.history = history
        self.latest_us = history.latest_us
        self.open: dict[int, EventHistory] = history.open
        self.runs: dict[int, EventRun] = {}
        self.waiters = Waiters()
        self.ends = Ends(self.name, history, self.waiters)
        self.stuck = self.ends.stuck
        self._methods = binding.methods()
        self._deny = binding.deny
        self.states = States(history, self.spec)
        self.calendar = Calendar(
            Agenda(
                self.spec,
                history,
                program,
                write=self.append_bodies,
                soon=self.durable_soon,
                begin=self._come,
                moved=self.waiters.moved,
            )
        )
        permits = Permits(self.settings.concurrency, self.settings.permits)
        self.events = EventQueue(program, permits, self.begin, self._go_on)
        self.instances = Instances(self.open, self.runs, self.events.withdraw)
        self.room = Room(self.settings.capacity)
        self._committer = Committer(
            store, program.guard, alone=self._alone, audit=self.settings.audit
        )
        self._committer.keep_short(Compacting(self.name, store, program, self.settings))
        self.settle = self._committer.settle

    def _alone(self) -> bool:
        """Whether a sync right here keeps nobody waiting: no other event, and no due time."""
        if self.program.at_work() > 1:
            return False
        rest_s = self.calendar.rest_s
        return rest_s is None or rest_s > _DUE_SOON_S

    # -- names

    def address(self, accepted: EventRecord) -> Address:
        """The event's address."""
        return Address(self.name, accepted.of, accepted.event)

    def key(self, accepted: EventRecord, path: str) -> str:
        """A call's key; without a journal the random part stands for the event's number."""
        label = accepted.event if self.settings.journal else accepted.nonce
        return format_call_key(format_instance(self.name, accepted.of), label, path)

    # -- accepting

    def accept(self, wanted: Wanted) -> int:
        """Put an event on record and queue it; it is accepted once that is durable (R1)."""
        history, now_us = self.history, self.program.now_us()
        record = wanted.record(history.next_event, self.program.entropy(), now_us)
        bodies, answer = [encode(record)], None
        if wanted.request:
            # In front: a write that a crash cuts short must not leave the event without it.
            answer = wanted.answer(Accepted(str(self.address(record))), now_us)
            bodies.insert(0, encode(answer))
        self.append_bodies(bodies, audit_lines(self.name, record, record))
        # Crash here: on record, not acknowledged; the next start runs it, or a power cut loses it.
        if answer is not None:
            history.remember(answer)
        event = EventHistory(record, b"")
        history.begin(event)
        self.queue_in_time(event)
        return record.event

    def queue_in_time(self, event: EventHistory) -> None:
        """Queue an event once it is due, now if it has no due time or that has passed (R18)."""
        due_us, now_us = event.accepted.due, self.program.clock.now_us()
        if due_us is None or event.started_us is not None:
            self.queue(event)
        elif due_us > now_us:
            self.calendar.add(event, due_us)
        else:
            self._come(event)

    def _come(self, event: EventHistory) -> None:
        """Queue an event whose moment has come, unless that is too long ago."""
        accepted, now_us = event.accepted, self.program.now_us()
        late_us = 0 if accepted.due is None else now_us - accepted.due
        if accepted.late is None or late_us <= accepted.late:
            self.queue(event)
            return
        record = MissedRecord(event.number, late_us, at=now_us)
        self.append(record, event=accepted)
        # Crash here: missed, on record; nobody waits for what never began.
        self.withdraw(event, record)

    def queue(self, history: EventHistory) -> None:
        """Let an event begin as soon as its schedule, its instance and a permit are free."""
        if self.may_begin(history.accepted):
            self._add(history)

    def _add(self, event: EventHistory) -> None:
        self.events.add(event.number, rank_of(event.accepted.lane), begun=goes_first(event))

    def may_begin(self, accepted: EventRecord) -> bool:
        """Whether the event may begin as far as its schedule and its instance go; else it waits."""
        self.room.add(accepted.event, rank_of(accepted.lane))
        return self.calendar.may_begin(accepted) and self._takes_instance(accepted)

    def _takes_instance(self, accepted: EventRecord) -> bool:
        """Whether the event may begin as far as its instance goes; else it waits for it."""
        return not self.exclusive(accepted) or self.instances.take_for(accepted)

    def exclusive(self, accepted: EventRecord) -> bool:
        """Whether the event holds its instance."""
        handler = self.spec.handlers.get(accepted.handler)
        return handler is not None and handler.exclusive

    # -- beginning events

    def begin(self, number: int) -> None:
        """Begin one event; what can't run is stuck, and holds nobody up (R3)."""
        assert number not in self.runs, "an event begins once"
        history = self.open[number]
        run = EventRun(self, history)
        run.counted = (self.name, number) in self.program.counted
        self.runs[number] = run
        rank = rank_of(history.accepted.lane)
        self.room.leave(number, rank)
        self.events.take_permit(number, rank)
        self.program.begun(self.name, number)
        try:
            run.prepare()
        except Exception as error:  # noqa: BLE001 - the event's own trouble, nobody else's
            self._cannot_run(number, error)
            return
        run.begin()

    def _cannot_run(self, number: int, error: Exception) -> None:
        accepted = self.open[number].accepted
        what = error.message if isinstance(error, AgentctlError) else repr(error)
        address = self.address(accepted)
        self.stuck[number] = Ended(address, accepted.handler, "stuck", text=what)
        self.program.listener.warned(f"{address}: {what}; the event is stuck")
        self._release(accepted)
        stuck = Stuck(f"{address}: {what}", hint=getattr(error, "hint", None))
        self.waiters.tell(number, None, End(BugRecord(number, what), self.stuck[number], stuck))

    def _go_on(self, number: int, path: str) -> None:
        run = self.runs.get(number)
        if run is not None and run.waits_for(path):
            self.events.take_permit(number, rank_of(self.open[number].accepted.lane))
            run.go_on(path)

    # -- what a running event needs (Site)

    def state_of(self, identity: Identity) -> dict[str, bytes]:
        """The instance's committed state, each field as JSON."""
        return self.states.of(identity)

    def schedules_of(self, identity: Identity) -> Sequence[Sent]:
        """The instance's named schedules."""
        return [sent_of(self.name, schedule) for schedule in self.history.schedules.of(identity)]

    def options(self, op: CallOp) -> CallOptions:
        """The options of a call's method."""
        return self._methods[op.field, op.method.name].options

    def method(self, field: str, name: str) -> BoundMethod:
        """The implementation of a capability's method."""
        return self._methods[field, name]

    def denied(self, field: str, name: str) -> str | None:
        """Why policy forbids to call a capability's method, or None."""
        return self._deny.get(f"{field}.{name}") if self._deny else None

    def heard(self, number: int) -> bool:
        """Whether somebody in this program waits for the outcome."""
        return self.waiters.heard(number) or asking_of(self.open[number]) is not None

    def append(self, record: Record, *, event: EventRecord | None = None) -> None:
        """Put one record on record, with its audit lines."""
        lines = audit_lines(self.name, record, event) if is_audited(record) else ()
        self._committer.append([encode(record)], lines)

    def append_bodies(self, bodies: Sequence[bytes], audit: Sequence[str] = ()) -> None:
        """Put a batch on record."""
        self._committer.append(bodies, audit)

    def when_durable(self, callback: Callable[[], None], *, now: bool = False) -> None:
        """Run `callback` once everything appended so far is durable."""
        self._committer.when_durable(callback, now=now)

    def durable_soon(self) -> None:
        """See to it that what was appended is durable within 10 ms."""
        self._committer.soon()

    def has_turn(self, number: int) -> bool:
        """Whether the event executes alone, under suspicion (R10)."""
        return self.program.has_turn(self.name, number)

    def entered(self, number: int) -> None:
        """The event entered the code of a call."""
        self.program.settled(self.name, number)

    def progressed(self, number: int) -> None:
        """The event has a new result."""
        self.program.passed(self.name, number)

    def parked(self, number: int) -> None:
        """The event only waits for time: its records become durable, its permit free."""
        self._committer.when_durable(_nothing)
        self.events.give_back(number)
        self.program.passed(self.name, number)
        self.program.settled(self.name, number)
        self.events.pump_soon()

    def goes_on(self, number: int, path: str) -> None:
        """A wait of the event is over: it goes on as soon as it has a permit."""
        if self.program.stopping:
            return
        if number in self.events.executing:
            self.runs[number].go_on(path)
            return
        self.events.resume(number, path, rank_of(self.open[number].accepted.lane))

    def over(self, number: int, end: End, batch: Batch) -> None:
        """Put an event's end on record, in one write with its last batch, and tell of it."""
        accepted = self.open[number].accepted
        record = end.record
        lines = [*batch.audit, *audit_lines(self.name, record, accepted)]
        self._committer.append([*batch.bodies, encode(record)], lines)
        # Crash here: the end is on record; nobody was told, and the next start knows it.
        asking = asking_of(self.open[number])
        if isinstance(record, BugRecord):
            self.stuck[number] = replace(end.ended, error=None)
            self.open[number].bug = record
        else:
            self.open[number].end = record
            self.history.finish(self.open[number], record)
        if isinstance(record, DoneRecord) and isinstance(record.state, Raw):
            self.states.commit(accepted.of, record.state)
        self.forget_old_outcomes()
        self._release(accepted)
        self._committer.when_durable(lambda: self._tell(number, asking, end), now=True)

    def _release(self, accepted: EventRecord) -> None:
        number = accepted.event
        self.runs.pop(number, None)
        self.events.give_back(number)
        history = self.open.get(number)
        self._free(accepted)
        assert history is None or number in self.stuck
        self.program.passed(self.name, number)
        self.program.settled(self.name, number)
        self.events.pump_soon()

    def _free(self, accepted: EventRecord) -> None:
        """Let those begin that waited for this event: for its instance, for its schedule."""
        following = self.instances.free(accepted.event)
        if following is not None:
            self._add(self.open[following])
        following = self.calendar.ended(accepted, stuck=accepted.event in self.stuck)
        if following is not None and self._takes_instance(self.open[following].accepted):
            self._add(self.open[following])

    def _tell(self, number: int, asking: Asking | None, end: End) -> None:
        heard = self.waiters.heard(number) or asking is not None
        self.waiters.tell(number, asking, end)
        self.program.listener.ended(end.ended, heard=heard)

    def withdraw(self, event: EventHistory, record: CancelledRecord | MissedRecord) -> None:
        """Take out an event that a record on record ends, wherever it stands."""
        number, accepted = event.number, event.accepted
        if (run := self.runs.get(number)) is not None:
            run.let_go()
        self.stuck.pop(number, None)
        rank = rank_of(accepted.lane)
        self.room.leave(number, rank)
        self.events.withdraw(number, rank)
        self.calendar.withdraw(event)
        self.instances.leave(accepted.of, number)
        event.end = record
        self.history.finish(event, record)
        self._release(accepted)
        end, asking = of_record(self.address(accepted), accepted.handler, record), asking_of(event)
        self._committer.when_durable(lambda: self._tell(number, asking, end))

    def forget_old_outcomes(self) -> None:
        """Forget the outcomes of keys, and the schedules that are gone, once they are old (R17)."""
        before_us = self.program.now_us() - self._retention_us
        self.history.outcomes.forget_before(before_us)
        self.history.schedules.forget_gone(before_us)

    # -- stopping

    def say_stopping(self) -> None:
        """Put on record that what is cut off from here on is no crash (R12).

        A signal's handler may call it, in the middle of anything.
        """
        if self.open:
            now_us = self.program.now_us()
            self._committer.interject(encode(StoppingRecord(len(self.open), at=now_us)))

    def stop(self) -> None:
        """Let the handlers go, sync everything, write the stop record, free the lock."""
        self.calendar.close()
        for run in list(self.runs.values()):
            run.let_go()
        self.append(StopRecord(len(self.open), at=self.program.now_us()))
        self._committer.finish()
        self.fail_waiters(stopped(self.name))
        self.store.close()

    def fail_waiters(self, error: BaseException) -> None:
        """Tell whoever waits for an end, or for room, that none comes in this program."""
        self.waiters.fail(error)
        self.room.close()

    def abandon(self) -> None:
        """Free the lock without another record: the disk failed, or the program is dying.

        Where it is dying, no code of a handler runs any more, not even its clean-up.
        """
        for run in list(self.runs.values()):
            if isinstance(self.program.dead, Exception):
                run.let_go()
            else:
                run.die()
        self.calendar.close()
        self._committer.abandon()
        self.store.close()


def _nothing() -> None:
    """Only the durability is wanted."""
