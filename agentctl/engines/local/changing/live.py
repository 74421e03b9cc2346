"""LiveGround: changing an agent that this program runs, in the midst of its events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Raw, UnsetType

from agentctl.core.event_history import EventHistory
from agentctl.core.history import JournalHistory
from agentctl.core.lanes import rank_of
from agentctl.core.waits import Wait, waits_of
from agentctl.engines.changes import Accepted
from agentctl.engines.local.changing.ground import Standing, note_answers, standing_on_record
from agentctl.engines.local.running.accepting import Wanted, find_same, number_of
from agentctl.engines.local.running.agent import AgentRuntime
from agentctl.engines.local.starting import moving, recovery
from agentctl.errors import Conflict, NotFound
from agentctl.names import Address, Identity
from agentctl.nearest import nearest_hint
from agentctl.record_moves import CancelledRecord, CancelRecord
from agentctl.record_steps import AnswerRecord
from agentctl.records import Record, encode, kind_of
from agentctl.storage.port import Store


class LiveGround:
    """One agent of a running program, for one change; implements `Ground`."""

    def __init__(self, runtime: AgentRuntime) -> None:
        self._runtime = runtime
        self.agent = runtime.name
        self.history: JournalHistory = runtime.history
        self.store: Store = runtime.store
        self._whole: JournalHistory | None = None

    def now_us(self) -> int:
        """The time of what goes on record."""
        return self._runtime.program.now_us()

    def wall_us(self) -> int:
        """The wall clock."""
        return self._runtime.program.clock.now_us()

    def standing(self, event: EventHistory) -> Standing:
        """What an open event's code is doing."""
        number, runtime = event.number, self._runtime
        if number in runtime.events.executing:
            return Standing.EXECUTING
        if number in runtime.runs:
            return Standing.RAN
        return Standing.IDLE if number in runtime.stuck else standing_on_record(event)

    def why_unable(self, number: int) -> str | None:
        """Why an open event can't be run with the code that is loaded, if it can't."""
        return self._runtime.ends.unable.get(number)

    def check_arguments(self, handler: str, args: Raw, kwargs: Raw | UnsetType) -> None:
        """Refuse arguments that a handler doesn't take."""
        spec = self._runtime.spec
        found = spec.handlers.get(handler)
        if found is None:
            raise NotFound(
                f"{spec.name} has no handler {handler!r}",
                hint=nearest_hint(handler, spec.handlers, "handlers"),
            )
        found.read(args, kwargs)

    def whole(self, number: int) -> EventHistory:
        """An event with all its records, read from the journal anew."""
        history = self._read()
        event = history.open.get(number) or history.kept.events.get(number)
        if event is None:
            raise Conflict(
                f"event {number} of {self.agent} can't be run again: its calls aren't on record",
                hint="they are no longer kept, or the agent has no journal; invoke it anew",
            )
        return event

    def _read(self) -> JournalHistory:
        """What the journal says with all its records: read once, since the program waits for it."""
        if self._whole is None:
            store, into = self.store, JournalHistory(keep=self._runtime.settings.keep)
            path = f"{store.path}/journal"
            self._whole = recovery.fold_into(into, self.agent, path, store.scan())
        return self._whole

    def waits(self, event: EventHistory) -> Mapping[str, Wait]:
        """The inputs that an open event waits for, by the path of the call."""
        run = self._runtime.runs.get(event.number)
        if run is not None:
            return run.waits()
        return waits_of(self.whole(event.number))

    def give(self, event: EventHistory, path: str, record: AnswerRecord) -> None:
        """Let the event go on with an input, once it has a permit; or when it begins."""
        run = self._runtime.runs.get(event.number)
        if run is not None:
            run.give(path, record)
        elif event.calls:
            event.fold("answer", record, b"")

    def commit(self, records: Sequence[Record]) -> None:
        """Put records on record in one write, with their audit lines."""
        lines = moving.audit_of(self.agent, records, self.history)
        bodies = [encode(record) for record in records]
        self._runtime.append_bodies(bodies, lines)
        if self._whole is not None:
            for record, body in zip(records, bodies, strict=True):
                self._whole.fold(kind_of(body), record, body)
        note_answers(self.history, records)

    def settle(self) -> None:
        """Make what is on record durable before this returns."""
        self._runtime.settle()

    def withdraw(self, event: EventHistory, record: CancelledRecord) -> None:
        """An event ended, and no more of its code runs."""
        self._runtime.withdraw(event, record)

    def deliver(self, event: EventHistory, record: CancelRecord) -> None:
        """Let a cancelled event clean up, now or when it begins."""
        run = self._runtime.runs.get(event.number)
        if run is None:
            event.fold("cancel", record, b"")
            return
        self._runtime.events.take_permit(event.number, rank_of(event.accepted.lane))
        run.cancel(record)

    def queue_again(self, numbers: Sequence[int]) -> None:
        """Take events from the journal, and run them."""
        runtime, read = self._runtime, self._read()
        for number in numbers:
            event = read.open[number]
            event.bodies.clear()
            runtime.stuck.pop(number, None)
            runtime.program.counted -= {(runtime.name, number)}  # a person's retry doesn't count
            self.history.reopen(event)
            runtime.queue(event)

    def warn(self, text: str) -> None:
        """Tell people of something."""
        self._runtime.program.listener.warned(text)

    def take(self, record: Record) -> None:
        """A schedule is as this record says."""
        self._runtime.calendar.take(record)

    def accept(self, wanted: Wanted) -> Accepted:
        """Accept an event."""
        runtime = self._runtime
        same = find_same(runtime.name, runtime.history, wanted)
        number = runtime.accept(wanted) if same is None else number_of(same)
        address = Address(runtime.name, wanted.identity, number)
        return Accepted(str(address), joined=same is not None)

    def forget(self, identity: Identity) -> None:
        """An instance is gone."""
        self._runtime.calendar.forget(identity)
        self.history.forget(identity)
        self._runtime.states.forget(identity)
