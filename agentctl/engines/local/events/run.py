"""EventRun: one event being run, first over its record, then for real.

Outcomes go on record first and are delivered then, one at a time, in that order (R5): here is what
brings them, and `Turning` has the turns that they make the handler take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentctl.core.replay import LOOK, Difference, Replay, describe
from agentctl.core.waits import Wait
from agentctl.engines.local.events.beginning import prepare
from agentctl.engines.local.events.effects import Effect
from agentctl.engines.local.events.made import Made, answered, failed, outcome_of
from agentctl.engines.local.events.open_op import OpenOp, holds_permit
from agentctl.engines.local.events.turning import Turning
from agentctl.errors import AgentctlError
from agentctl.record_moves import CancelRecord
from agentctl.record_steps import (
    AnswerRecord,
    AttemptRecord,
    StepRecord,
    TriedRecord,
    WaitingRecord,
)
from agentctl.records import AgainRecord, FiredRecord, StartRecord, encode
from agentctl.sdk.execution import Fired
from agentctl.sdk.ops import CancelOp, QuestionOp, SendOp, TimerOp


class EventRun(Turning):
    """One event being run."""

    # -- beginning

    def prepare(self) -> None:
        """Make ready what the handler needs; nothing is on record yet, and none of it has run.

        Raises:
            AgentctlError: its handler is gone, or its arguments or state don't fit any more.
            Exception: whatever the author's own types raise.
        """
        self._prepared = prepare(self, self.site, self.history)
        self._loop = self._prepared.loop

    def begin(self) -> None:
        """Start the handler: over its record, if there is one, then for real."""
        # A replay's first `now()` is that of the first start, exactly.
        first = self.history.started_us is None
        try:
            self._write_start(self._loop.origin_us if first else self.site.program.now_us())
        except BaseException:
            self._prepared.coro.close()  # it won't run; else Python warns of that in its own time
            raise
        self._loop.start(self._prepared.coro)
        self._turn()
        if self._ledger.replay is not None:
            self._run_record(self._ledger.replay)
        self._settle()

    def _write_start(self, now_us: int) -> None:
        number = self.number
        if self.counted:
            self.site.append(AgainRecord(number, alone=self.site.has_turn(number), at=now_us))
        if self.history.started_us is None or not (self.counted or self._is_parked):
            self.site.append(StartRecord(number, at=now_us))
        self.site.program.listener.started(
            self.site.address(self.accepted),
            self.accepted.handler,
            again=self.history.started_us is not None,
        )

    def _run_record(self, replay: Replay) -> None:
        ledger = self._ledger
        for path, record in self.history.deliveries:
            if isinstance(record, CancelRecord):
                self._deliver_cancel(record)
                continue
            if path in self.history.calls and self.history.calls[path].fn == LOOK:
                continue  # it was answered when it was asked
            opened = ledger.take(path)
            if ledger.difference is None and (opened is None or self._finished):
                ledger.difference = Difference(path, describe(self.history.calls[path]), "nothing")
            if ledger.difference is not None or opened is None:
                break
            try:
                outcome = outcome_of(record, opened.op, opened.answer)
                replay.undelivered -= 1
                self._deliver(path, outcome, record.at)
            except AgentctlError as error:
                called = describe(self.history.calls[path])
                ledger.difference = Difference(path, called, error.message)
                break
        if ledger.difference is None:
            if self._finished:
                self._drop_all()  # they may be on record without the end that followed them
            ledger.difference = replay.left_over(frozenset(ledger.open))
        if ledger.difference is not None:
            self._rest.to_accept = replay.to_accept(ledger.difference)
        ledger.replay = None
        self.history.deliveries.clear()
        self.history.calls.clear()

    def waits_for(self, path: str) -> bool:
        """Whether the event still waits for that."""
        return not self.is_over and path in self._ledger.open

    def go_on(self, path: str) -> None:
        """Deliver what the event waited for."""
        opened = self._ledger.open.get(path)
        if self.is_over or opened is None:
            return
        if opened.rests and not isinstance(opened.op, QuestionOp):
            self._wake(opened)
            return
        self._ledger.take(path)
        if opened.made is not None:
            self._take_in(opened, Effect(opened.made))
        elif isinstance(opened.op, SendOp | CancelOp):
            if not self.site.program.stopping:
                sender = self._making.sender(opened.op)
                self._take_in(opened, self.site.program.timings.effect(opened.op, sender))
        else:
            self._fire(opened)

    def _fire(self, opened: OpenOp) -> None:
        path, op = opened.op.path, opened.op
        assert isinstance(op, TimerOp | QuestionOp)
        until_us = 0 if opened.until_us is None else opened.until_us
        at_us = self.site.program.now_us(max(self._loop.now_us, until_us))
        self._is_parked = False
        self.site.append(FiredRecord(self._ledger.call_id(path), at=at_us))
        self.site.progressed(self.number)
        outcome = Fired() if isinstance(op, TimerOp) else answered(op, opened.answer)
        self._deliver(path, outcome, at_us)
        self._settle()

    # -- attempts, and inputs from outside

    def _wake(self, opened: OpenOp) -> None:
        """Go on with a call that rested: its backoff or its wait is over, or its input is there."""
        path, last = opened.op.path, opened.last
        if isinstance(last, WaitingRecord):
            self._ledger.take(path)
            self._take_in(opened, Effect(failed(TimeoutError("no input came in time"))))
            return
        if isinstance(last, TriedRecord):
            at_us = self.site.program.now_us(last.next)
            record = AttemptRecord(self._ledger.call_id(path), last.attempt + 1, at=at_us)
            self._ledger.note(record)
            opened.stand(record)
        elif not self._ledger.calls:
            self._is_parked = True  # the answer left it so; a start tells that it runs again
        self._ledger.work(opened)
        self._settle()

    def _go_through(self, opened: OpenOp, records: Sequence[StepRecord]) -> None:
        """Put on record what an attempt came to that is no outcome yet, and what follows."""
        first, *rest = records
        self._is_parked = False
        self._ledger.rest(opened, first)
        for record in rest:
            self._ledger.note(record)
            opened.stand(record)
            self._ledger.work(opened)
        # Crash here: the attempt may be made once more; behind this, it is over.
        if self.site.program.stopping:
            batch = self._ledger.take_batch()
            self.site.append_bodies(batch.bodies, batch.audit)
            return
        self.site.progressed(self.number)
        self._settle()

    def waits(self) -> Mapping[str, Wait]:
        """The inputs that the event waits for, by the path of the call."""
        return self._attempts.waits()

    def give(self, path: str, record: AnswerRecord) -> None:
        """Go on with an input that is on record, as soon as there is a permit."""
        opened = self._ledger.open[path]
        timer, timers = opened.timer, self.site.program.timers
        opened.stand(record)
        if timer is None or timers.cancel(timer):
            self.site.goes_on(self.number, path)
        # Else its time is over, but for a permit: what goes on then, once, finds the answer.

    # -- what comes of calls

    def _ended(self, opened: OpenOp, made: Made) -> None:
        if not self._making.waits_for(opened):
            return  # dropped meanwhile: nobody waits for it
        opened.running = None
        if made.is_final:
            opened.made = made
        else:
            at_us = self.site.program.now_us(self._loop.now_us)
            follows = self._attempts.after(opened, made, at_us)
            if not isinstance(follows, Made):
                self._go_through(opened, follows)
                return
            opened.made = follows
        path = opened.op.path
        if holds_permit(opened.op):
            self.go_on(path)
        else:
            self.site.goes_on(self.number, path)

    def _take_in(self, opened: OpenOp, effect: Effect) -> None:
        made = effect.made
        path, at_us = opened.op.path, self.site.program.now_us(self._loop.now_us)
        self._making.no_longer(opened)
        self._is_parked = False
        record = made.record(self._ledger.call_id(path), at_us)
        if effect.bodies:
            self.site.append_bodies([*effect.bodies, encode(record)], effect.audit)
        else:
            self.site.append(record, event=self.accepted)
        # Crash here: the result is on record; replay gives it without the call.
        if effect.take is not None:
            effect.take()
        self._making.tell(opened.op)
        if self.site.program.stopping:
            return
        self.site.progressed(self.number)
        self._deliver(path, made.outcome, at_us, raised=made.raised)
        self._settle()

    def cancel(self, record: CancelRecord) -> None:
        """Raise a cancellation that is on record in the handler where it waits (R20)."""
        self.history.cancel = record
        self.history.before_cancel = frozenset(self._ledger.open)
        if record.gently:
            self._loop.cancelling = True
            return
        if not self._ledger.calls:
            self.site.append(StartRecord(self.number, at=record.at))
            self._is_parked = False
        self._deliver_cancel(record)
        self._settle()

    def _deliver_cancel(self, record: CancelRecord) -> None:
        if record.gently and self._ledger.is_under_way:
            self._loop.cancelling = True
        elif not self._root_done:
            self._loop.cancel(record.at)
            self._turn()
