"""Turning: one event's turns. What the handler asks for in one goes on record in one write.

It is the engine's side of the handler's loop, as far as the handler itself makes it act: it takes
what is submitted, writes it when the turn is over, and lets a call's code start once that is
durable (R2). Nothing that the handler does makes it write while user code is on the stack.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Any

import msgspec

from agentctl.core.event_history import EventHistory
from agentctl.core.lifecycle import Phase
from agentctl.core.retrying import as_recorded
from agentctl.core.timing import Sent
from agentctl.engines.local.events import endings
from agentctl.engines.local.events.attempts import Attempts
from agentctl.engines.local.events.beginning import Prepared
from agentctl.engines.local.events.ledger import Ledger
from agentctl.engines.local.events.made import Made
from agentctl.engines.local.events.making import Making
from agentctl.engines.local.events.open_op import OpenOp
from agentctl.engines.local.events.resting import Resting
from agentctl.engines.local.events.site import Site
from agentctl.engines.local.events.turns import SLOW_TURN_S
from agentctl.records import BugRecord, ParkedRecord, StartRecord
from agentctl.sdk.execution import Failure, Outcome, Result
from agentctl.sdk.loop import HandlerLoop
from agentctl.sdk.ops import Op, StepOp
from agentctl.sdk.step_state import put_in_place, snapshot
from agentctl.times import SECOND_US


class Turning(ABC):
    """The turns of one event; implements the port `Execution`.

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
    def cancelled(self) -> bool:
        """Whether a cancellation is on record, also if it is still to be delivered."""
        return self.history.cancel is not None

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

    def as_recorded(self, paths: Sequence[str]) -> Sequence[str]:
        """Put calls into the order in which they are on record; new ones come last."""
        return as_recorded(self.history, paths)

    def submit(self, op: Op) -> None:
        """Take what the handler asks for.

        Raises:
            NotRecordable: it is a step, and the state that it is to begin with can't be recorded.
        """
        begins = isinstance(op, StepOp) and op.path not in self.history.ended
        state = snapshot(self._loop.agent) if begins else None
        self._ledger.submit(op, self._loop.now_us)
        if state and (opened := self._ledger.open.get(op.path)) is not None:
            opened.state = state
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

    # -- a turn, and what follows it

    def _deliver(
        self, path: str, outcome: Outcome, at_us: int, *, raised: BaseException | None = None
    ) -> None:
        if isinstance(outcome, Failure):
            endings.mark_delivered(outcome.error, self._ledger.call_id(path), raised)
        elif isinstance(outcome, Result) and outcome.state is not None:
            put_in_place(self._loop.agent, outcome.state)
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
        begun = ledger.take_begun()
        for opened in begun.waits:
            self._arm(opened)
        for opened in begun.effects:
            site.program.soon(partial(self.go_on, opened.op.path))
        for opened in begun.answered:
            site.program.soon(partial(site.goes_on, self.number, opened.op.path))
        launch = begun.calls
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

    # -- waits

    def _arm(self, opened: OpenOp) -> None:
        op, program = opened.op, self.site.program
        rest_us = opened.rest_us(program.now_us(), program.clock.uptime(), self.site.latest_us)
        opened.timer = program.timers.arm(
            rest_us / SECOND_US, lambda: self.site.goes_on(self.number, op.path)
        )

    @abstractmethod
    def go_on(self, path: str) -> None:
        """Deliver what the event waited for."""

    @abstractmethod
    def _ended(self, opened: OpenOp, made: Made) -> None:
        """Take what came of an attempt."""

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
