"""AgentRuntime: one agent of a program: its events, instances, permits, and its one writer."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw

from agentctl.core.audit import AUDITED, audit_lines
from agentctl.core.history import EventHistory, JournalHistory
from agentctl.core.lifecycle import Phase
from agentctl.engines.local.binding import Binding
from agentctl.engines.local.calls import BoundMethod
from agentctl.engines.local.committer import Committer
from agentctl.engines.local.endings import End
from agentctl.engines.local.instances import Instances
from agentctl.engines.local.program import ProgramCore
from agentctl.engines.local.run import EventRun
from agentctl.errors import AgentctlError, Interrupted, NotFound, Stuck
from agentctl.names import Address, Identity, format_call_key, format_instance
from agentctl.records import DoneRecord, EventRecord, Record, StoppingRecord, StopRecord, encode
from agentctl.sdk.capability import CallOptions
from agentctl.sdk.execution import CallOp
from agentctl.storage.port import Store

_BEGUN_AT_ONCE: Final = 64
"""Events begun in one go; then the program's loop gets its breath."""

Waiter = asyncio.Future[End]


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
        self.store = store
        self.latest_us = history.latest_us
        self.open: dict[int, EventHistory] = history.open
        self.stuck: dict[int, str] = {}
        self.runs: dict[int, EventRun] = {}
        self.executing: set[int] = set()
        self.waiters: dict[int, list[Waiter]] = {}
        self._methods = binding.methods()
        self._deny = binding.deny
        self._next = history.next_event
        self._states = {of: _members(one.state) for of, one in history.states.items()}
        self._fresh_state = {name: one.default for name, one in self.spec.state.items()}
        self._instances = Instances()
        self._ready: deque[int] = deque()
        self._resume: deque[tuple[int, str]] = deque()
        self._pumping = False
        self._committer = Committer(
            store,
            program.guard,
            alone=lambda: program.at_work() <= 1,
            audit=self.settings.audit,
        )

    # -- names

    def address(self, accepted: EventRecord) -> Address:
        """The event's address."""
        return Address(self.name, accepted.of, accepted.event)

    def key(self, accepted: EventRecord, path: str) -> str:
        """A call's key; without a journal the random part stands for the event's number."""
        label = accepted.event if self.settings.journal else accepted.nonce
        return format_call_key(format_instance(self.name, accepted.of), label, path)

    # -- accepting

    def accept(self, identity: Identity, handler: str, args: bytes, kwargs: bytes | None) -> int:
        """Put an event on record and queue it; it is accepted once that is durable (R1)."""
        number = self._next
        self._next += 1
        record = EventRecord(
            number,
            handler,
            Raw(args),
            kwargs=UNSET if kwargs is None else Raw(kwargs),
            of=identity,
            nonce=self.program.entropy(),
            at=self.program.now_us(),
        )
        self.append(record, event=record)
        # Crash here: on record, not acknowledged; the next start runs it, or a power cut loses it.
        history = self.open[number] = EventHistory(record, b"")
        self._queue(history)
        return number

    def _queue(self, history: EventHistory) -> None:
        if self._takes_instance(history):
            self._ready.append(history.number)
            self.pump_soon()

    def _takes_instance(self, history: EventHistory) -> bool:
        """Whether the event may begin as far as its instance goes; else it waits for it."""
        handler = self.spec.handlers.get(history.accepted.handler)
        exclusive = handler is not None and handler.exclusive
        return not exclusive or self._instances.take(history.accepted.of, history.number)

    def recover(self, suspects: frozenset[int]) -> frozenset[int]:
        """Queue what is on record: those that held their instance first, then by number.

        Returns:
            The suspects that can take turns: who waits for an instance begins with it.
        """
        ready: set[int] = set()
        events = sorted(self.open.values(), key=lambda one: (not _held(one), one.number))
        for history in events:
            history.bodies.clear()  # they were for the rewrite
            if history.number not in suspects:
                self._queue(history)
            elif self._takes_instance(history):
                ready.add(history.number)
        return frozenset(ready)

    def unable(self) -> list[tuple[Address, str]]:
        """The open events that can't run any more, each with the reason (R3)."""
        found = ((one.accepted, self._why_not(one.accepted)) for one in self.open.values())
        return [(self.address(accepted), why) for accepted, why in found if why is not None]

    def _why_not(self, accepted: EventRecord) -> str | None:
        handler = self.spec.handlers.get(accepted.handler)
        if handler is None:
            return f"there is no handler {accepted.handler!r} any more"
        try:
            self.spec.check_identity(accepted.of)
            handler.read(accepted.args, accepted.kwargs)
        except AgentctlError as error:
            return error.message
        return None

    # -- beginning events

    def pump_soon(self) -> None:
        """Begin what may begin, next on the program's loop."""
        if not self._pumping:
            self._pumping = True
            self.program.soon(self._pump)

    @property
    def can_begin(self) -> bool:
        """Whether something waits that may begin now."""
        waits = bool(self._ready or self._resume)
        return waits and self.program.gate_open and self._has_permit

    @property
    def _has_permit(self) -> bool:
        return len(self.executing) < self.settings.concurrency

    def _pump(self) -> None:
        self._pumping = False
        for _ in range(_BEGUN_AT_ONCE):
            if not self.can_begin or self.program.stopping:
                break
            if self._resume:
                number, path = self._resume.popleft()
                self._go_on(number, path)
            else:
                self.begin(self._ready.popleft())
        if self.can_begin:
            self.pump_soon()
        self.program.settle_soon()

    def begin(self, number: int) -> None:
        """Begin one event; what can't run is stuck, and holds nobody up (R3)."""
        assert number not in self.runs, "an event begins once"
        history = self.open[number]
        run = EventRun(self, history)
        run.counted = (self.name, number) in self.program.counted
        self.runs[number] = run
        self.executing.add(number)
        self.program.begun(self.name, number)
        try:
            run.prepare()
        except Exception as error:  # noqa: BLE001 - the event's own trouble, nobody else's
            self._cannot_run(number, run.title, error)
            return
        run.begin()

    def _cannot_run(self, number: int, title: str, error: Exception) -> None:
        what = error.message if isinstance(error, AgentctlError) else repr(error)
        text = f"{title}: {what}"
        self.stuck[number] = text
        self.program.listener.warned(f"{text}; the event is stuck")
        self._release(number)
        stuck = Stuck(text, hint=getattr(error, "hint", None))
        for waiter in self.waiters.pop(number, ()):
            if not waiter.done():
                waiter.set_exception(stuck)

    def _go_on(self, number: int, path: str) -> None:
        run = self.runs.get(number)
        if run is not None and run.waits_for(path):
            self.executing.add(number)
            run.fire(path)

    # -- what a running event needs (Site)

    def state_of(self, identity: Identity) -> dict[str, bytes]:
        """The instance's committed state; fields that it doesn't have yet are at their default."""
        kept = self._states.get(identity)
        if kept is None:
            return dict(self._fresh_state)
        return {name: kept.get(name, default) for name, default in self._fresh_state.items()}

    def options(self, op: CallOp) -> CallOptions:
        """The options of a call's method."""
        return self.method(op).options

    def method(self, op: CallOp) -> BoundMethod:
        """The implementation of a call's method."""
        return self._methods[op.field, op.method.name]

    def denied(self, op: CallOp) -> str | None:
        """Why policy forbids a call, or None."""
        return self._deny.get(f"{op.field}.{op.method.name}") if self._deny else None

    def heard(self, number: int) -> bool:
        """Whether somebody in this program waits for the outcome."""
        return any(not waiter.done() for waiter in self.waiters.get(number, ()))

    def append(self, record: Record, *, event: EventRecord | None = None) -> None:
        """Put one record on record, with its audit lines."""
        lines = audit_lines(self.name, record, event) if type(record) in AUDITED else ()
        self._committer.append([encode(record)], lines)

    def append_bodies(self, bodies: Sequence[bytes]) -> None:
        """Put a turn's batch on record."""
        self._committer.append(bodies)

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
        self.executing.discard(number)
        self.program.passed(self.name, number)
        self.program.settled(self.name, number)
        self.pump_soon()

    def timer_due(self, number: int, path: str) -> None:
        """A wait of the event is over; it goes on as soon as it has a permit."""
        if self.program.stopping:
            return
        if number in self.executing:
            self.runs[number].fire(path)
            return
        self._resume.append((number, path))
        self.pump_soon()

    def over(self, number: int, end: End, batch: Sequence[bytes]) -> None:
        """Put an event's end on record, in one write with its last batch, and tell of it."""
        accepted = self.open[number].accepted
        record = end.record
        self._committer.append([*batch, encode(record)], audit_lines(self.name, record, accepted))
        # Crash here: the end is on record; nobody was told, and the next start knows it.
        if end.ended.status == "stuck":
            self.stuck[number] = end.ended.text
        else:
            del self.open[number]
        if isinstance(record, DoneRecord) and isinstance(record.state, Raw):
            self._states[accepted.of] = _members(record.state)
        self._release(number)
        self._committer.when_durable(lambda: self._tell(number, end), now=True)

    def _release(self, number: int) -> None:
        self.runs.pop(number, None)
        self.executing.discard(number)
        history = self.open.get(number)
        waiting = self._instances.free(number)
        if waiting is not None:
            self._ready.append(waiting)
        assert history is None or number in self.stuck
        self.program.passed(self.name, number)
        self.program.settled(self.name, number)
        self.pump_soon()

    def _tell(self, number: int, end: End) -> None:
        heard = self.heard(number)
        for waiter in self.waiters.pop(number, ()):
            if not waiter.done():
                waiter.set_result(end)
        self.program.listener.ended(end.ended, heard=heard)

    # -- waiting for ends

    def wait_for(self, number: int) -> Waiter:
        """A future of an open event's end."""
        if number in self.stuck:
            raise Stuck(self.stuck[number])
        if number not in self.open:
            raise NotFound(f"event {number} of {self.name} isn't open in this program")
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self.waiters.setdefault(number, []).append(waiter)
        return waiter

    @property
    def at_work(self) -> int:
        """How many events execute or may begin."""
        return len(self.executing) + len(self._ready) + len(self._resume)

    # -- stopping

    def say_stopping(self) -> None:
        """Put on record that what is cut off from here on is no crash (R12)."""
        if self.open:
            self.append(StoppingRecord(len(self.open), at=self.program.now_us()))
            self._committer.soon()

    def stop(self) -> None:
        """Let the handlers go, sync everything, write the stop record, free the lock."""
        for run in list(self.runs.values()):
            run.let_go()
        self.append(StopRecord(len(self.open), at=self.program.now_us()))
        self._committer.finish()
        self.fail_waiters(
            Interrupted(
                f"{self.name}: the program stopped before the outcome was known",
                hint="the event is on record and runs on with the next start",
            )
        )
        self.store.close()

    def abandon(self) -> None:
        """Free the lock without another record: the disk failed, or the program is dying.

        Where it is dying, no code of a handler runs any more, not even its clean-up.
        """
        for run in list(self.runs.values()):
            if isinstance(self.program.dead, Exception):
                run.let_go()
            else:
                run.die()
        self._committer.abandon()
        self.store.close()

    def fail_waiters(self, error: BaseException) -> None:
        """Tell whoever still waits that no outcome will come in this program."""
        for waiters in self.waiters.values():
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_exception(error)
                    waiter.exception()  # it is told where it is awaited; unheard, it is no fault
        self.waiters.clear()


def _held(history: EventHistory) -> bool:
    return history.started_us is not None and history.phase is not Phase.STUCK


def _members(state: Raw) -> dict[str, bytes]:
    return {name: bytes(raw) for name, raw in _split(state).items()}


_split: Final[Callable[[Raw], Mapping[str, Raw]]] = msgspec.json.Decoder(dict[str, Raw]).decode


def _nothing() -> None:
    """Only the durability is wanted."""
