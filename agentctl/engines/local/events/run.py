"""EventRun: one event being run, first over its record, then for real.

It is the engine's side of the handler's loop. What the handler submits in a turn is put on record
in one write when the turn is over; a call's code starts once that is durable (R2). Outcomes go on
record first and are delivered then, one at a time, in that order (R5). Nothing that the handler
does makes it write while user code is on the stack.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from agentctl.core.event_history import EventHistory
from agentctl.core.lifecycle import Phase
from agentctl.core.replay import LOOK, Difference, Replay, describe
from agentctl.core.timing import Sent
from agentctl.core.waits import Wait
from agentctl.engines.local.events import endings
from agentctl.engines.local.events.attempts import Attempts
from agentctl.engines.local.events.beginning import Prepared, prepare
from agentctl.engines.local.events.calls import Made, answered, failed, outcome_of
from agentctl.engines.local.events.effects import Effect
from agentctl.engines.local.events.ledger import Ledger
from agentctl.engines.local.events.making import Making
from agentctl.engines.local.events.open_op import OpenOp, holds_permit
from agentctl.engines.local.events.resting import Resting
from agentctl.engines.local.events.site import Site
from agentctl.engines.local.events.stepping import put_in_place
from agentctl.engines.local.events.turns import SLOW_TURN_S
from agentctl.errors import AgentctlError
from agentctl.record_moves import CancelRecord
from agentctl.record_steps import (
    AnswerRecord,
    AttemptRecord,
    StepRecord,
    TriedRecord,
    WaitingRecord,
)
from agentctl.records import AgainRecord, BugRecord, FiredRecord, ParkedRecord, StartRecord, encode
from agentctl.sdk.execution import (
    CancelOp,
    Failure,
    Fired,
    Op,
    Outcome,
    QuestionOp,
    Result,
    SendOp,
    TimerOp,
)
from agentctl.sdk.loop import HandlerLoop
from agentctl.times import SECOND_US


class EventRun:
    """One event being run; implements the port `Execution`.

    Attributes:
        counted: this start gets an `again` record (R10).
        is_over: it came to rest, or its program let go of it.
    """

    def __init__(self, site: Site, history: EventHistory) -> None:
        self.site = site
        self.history = history
        self.accepted = history.accepted
        self.number = history.number
        self.counted = False
        self.is_over = False
        self._is_parked = history.phase is Phase.PARKED
        self._ledger = Ledger(site.name, history, site.options, site.program.clock.uptime)
        self._loop: HandlerLoop
        self._prepared: Prepared
        self._cancelled_rest = False
        self._making = Making(
            site, history.accepted, self._ledger, loop=lambda: self._loop, ended=self._ended
        )
        self._rest = Resting(site, history, self._ledger)
        self._attempts = Attempts(site, history, self._ledger)

    # -- what the handler's loop asks (the port)

    @property
    def nonce(self) -> str:
        """The event's random part."""
        return self.accepted.nonce

    @property
    def replaying(self) -> bool:
        """Whether recorded outcomes are still being delivered."""
        return self._ledger.replay is not None

    @property
    def title(self) -> str:
        """The event's address."""
        return str(self.site.address(self.accepted))

    @property
    def handler_name(self) -> str:
        """The name of the handler that runs."""
        return self.accepted.handler

    @property
    def coro(self) -> Coroutine[Any, Any, Any]:
        """The handler's own coroutine."""
        return self._prepared.coro

    @property
    def identity(self) -> tuple[str, ...]:
        """The identity of the instance that the event belongs to."""
        return self.accepted.of

    @property
    def occurrence(self) -> tuple[int, int] | None:
        """Of a scheduled event: its due time, and how many missed ones it stands for."""
        due_us = self.accepted.occurrence or self.accepted.due
        return None if due_us is None else (due_us, self.accepted.missed)

    def key(self, path: str) -> str:
        """A call's key."""
        return self._making.key_begins + path

    def schedules(self, path: str) -> Sequence[Sent]:
        """Read the instance's named schedules, at once; what is read is on record as a call."""
        seen = self._ledger.read(
            path,
            lambda: msgspec.json.encode(self.site.schedules_of(self.accepted.of)),
            self._loop.now_us,
        )
        self._rest.note_difference()
        return msgspec.json.decode(seen, type=list[Sent])

    def submit(self, op: Op) -> None:
        """Take what the handler asks for."""
        self._ledger.submit(op, self._loop.now_us)
        self._rest.note_difference()

    def drop(self, path: str) -> None:
        """Close what nobody waits for any more; its code is cancelled (R9)."""
        opened = self._ledger.drop(path)
        if opened is not None:
            self._stop(opened)
            self._making.tell(opened.op)

    def _stop(self, opened: OpenOp) -> None:
        self._making.no_longer(opened)
        if opened.timer is not None:
            self.site.program.timers.cancel(opened.timer)
        if opened.running is not None:
            opened.running.cancel()

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

    # -- a turn, and what follows it

    def _deliver(
        self, path: str, outcome: Outcome, at_us: int, *, raised: BaseException | None = None
    ) -> None:
        if isinstance(outcome, Failure):
            endings.mark_delivered(outcome.error, self._ledger.call_id(path), raised)
        elif isinstance(outcome, Result) and outcome.state is not None:
            put_in_place(self._loop, outcome.state)
        self._loop.deliver(path, outcome, at_us)
        self._turn()

    def _turn(self) -> None:
        loop, turns = self._loop, self.site.program.turns
        turns.begin(self)
        try:
            loop.turn()
            if self._root_done and loop.unfinished and not self._cancelled_rest:
                self._cancelled_rest = True
                self._cancel_rest()
                loop.turn()
        finally:
            took_s = turns.end()
        if took_s > SLOW_TURN_S:
            self.site.program.listener.warned(
                f"{self.title} blocked its turn for {took_s:.1f} s: "
                "what blocks belongs into a capability's method marked @blocking"
            )

    def _cancel_rest(self) -> None:
        rest = self._loop.unfinished
        if not self.replaying:
            names = ", ".join(task.get_name() for task in rest)
            self.site.program.listener.warned(
                f"{self.title} returned while branches were running, which are cancelled: {names}"
            )
        self._loop.cancel_unfinished()

    @property
    def _root_done(self) -> bool:
        root = self._loop.root
        return root is not None and root.done()

    @property
    def _finished(self) -> bool:
        return self._root_done and not self._loop.unfinished

    def _settle(self) -> None:
        """Put the turn's batch on record, and do what it asks for."""
        ledger, site = self._ledger, self.site
        if ledger.difference is not None:
            self._come_to_rest(self._rest.diverged(ledger.difference, self._loop.now_us))
            return
        if self._finished:
            self._drop_all()
            self._come_to_rest(self._rest.end(self._prepared))
            return
        if not ledger.open:
            self._come_to_rest(self._rest.end(self._prepared, waits_for_nothing=True))
            return
        self._write_batch(parks=not ledger.calls)
        for opened in ledger.take_unarmed():
            self._arm(opened)
        for opened in ledger.take_effects():
            site.program.soon(partial(self.go_on, opened.op.path))
        for opened in ledger.take_answered():
            site.program.soon(partial(site.goes_on, self.number, opened.op.path))
        launch = ledger.take_launch()
        self._making.expect(launch)
        if launch:
            site.when_durable(lambda: self._making.launch(launch), now=True)
        if not ledger.calls:
            site.parked(self.number)
        elif not launch:
            site.durable_soon()

    def _drop_all(self) -> None:
        for path in list(self._ledger.open):
            self.drop(path)

    def _write_batch(self, *, parks: bool) -> None:
        """Put the batch on record, with what tells a crash from a wait (R10)."""
        still_parked = self._is_parked and parks
        if self._is_parked and not parks:
            self.site.append(StartRecord(self.number, at=self._loop.now_us))
        self._is_parked = still_parked
        if parks and not still_parked:
            self._ledger.note(ParkedRecord(self.number))
        batch = self._ledger.take_batch()
        if batch.bodies:
            self.site.append_bodies(batch.bodies, batch.audit)
        for path, text, type_ in batch.asked:
            self.site.program.listener.asked(self.key(path), text, type_)

    # -- timers

    def _arm(self, opened: OpenOp) -> None:
        op, program = opened.op, self.site.program
        rest_us = opened.rest_us(program.now_us(), program.clock.uptime(), self.site.latest_us)
        opened.timer = program.timers.arm(
            rest_us / SECOND_US, lambda: self.site.goes_on(self.number, op.path)
        )

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
        if opened.timer is not None:
            self.site.program.timers.cancel(opened.timer)
        opened.stand(record)
        self.site.goes_on(self.number, path)

    # -- what comes of calls

    def _ended(self, opened: OpenOp, made: Made) -> None:
        if not self._making.waits_for(opened):
            return  # dropped meanwhile: nobody waits for it
        opened.running = None
        follows = self._attempts.after(opened, made, self.site.program.now_us(self._loop.now_us))
        if not isinstance(follows, Made):
            self._go_through(opened, follows)
            return
        opened.made = made = follows
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

    # -- coming to rest

    def _come_to_rest(self, end: endings.End) -> None:
        batch = self._ledger.take_batch()
        self.let_go()
        self.site.over(self.number, end, batch)

    def let_go(self) -> None:
        """Drop the handler where it stands."""
        self.is_over = self._making.given_up = True
        for opened in self._ledger.open.values():
            self._stop(opened)
        self._ledger.open.clear()
        self._loop.let_go()

    def die(self) -> None:
        """Let none of the handler's code run any more, not even its clean-up."""
        self.is_over = self._making.given_up = self._loop.closed = True

    def break_off(self, took_s: float, line: str | None) -> None:
        """Put on record that the program ends under a turn that doesn't: a bug, which counts."""
        text = f"it blocked its turn for {took_s:.1f} s, and its program was stopped under it"
        at_us = self.site.program.now_us(self._loop.now_us)
        self.site.append(BugRecord(self.number, text, line, at=at_us), event=self.accepted)
