"""ColdGround: changing a folder that no program runs, under its lock.

The lock is held from before the journal is read until the last write. Nothing of the user's code
is loaded: what a change asks of a handler happens at the next start.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeAlias

from msgspec import Raw, UnsetType

from agentctl.core.event_history import EventHistory
from agentctl.core.history import JournalHistory
from agentctl.core.waits import Wait, waits_of
from agentctl.engines.changes import Accepted
from agentctl.engines.local.changing.ground import Standing, note_answers, standing_on_record
from agentctl.engines.local.options import random_part
from agentctl.engines.local.running.accepting import Wanted, find_same, number_of
from agentctl.engines.local.starting import moving, recovery
from agentctl.errors import NotFound
from agentctl.names import Address, Identity, is_agent_name
from agentctl.record_moves import CancelledRecord, CancelRecord
from agentctl.record_steps import AnswerRecord
from agentctl.records import Record
from agentctl.storage.files.disk import Disk
from agentctl.storage.files.holding import this_program
from agentctl.storage.files.places import agent_folder
from agentctl.storage.port import Store
from agentctl.times import Clock


class ColdGround:
    """One folder under its lock; implements `Ground`."""

    def __init__(self, agent: str, opened: recovery.Opened, clock: Clock) -> None:
        self.agent = agent
        self.history: JournalHistory = opened.history
        self.store: Store = opened.store
        self._opened = opened
        self._clock = clock
        self._rewritten = False

    def now_us(self) -> int:
        """The wall clock, never before what is on record already."""
        return max(self._clock.now_us(), self.history.latest_us)

    def wall_us(self) -> int:
        """The wall clock."""
        return self._clock.now_us()

    def standing(self, event: EventHistory) -> Standing:
        """What an open event's code is doing."""
        return standing_on_record(event)

    def why_unable(self, number: int) -> str | None:
        """None: no code is loaded."""
        return None

    def check_arguments(self, handler: str, args: Raw, kwargs: Raw | UnsetType) -> None:
        """Nothing: no code is loaded; what doesn't fit is stuck at the next start."""

    def whole(self, number: int) -> EventHistory:
        """An event with all its records."""
        event = self.history.open.get(number) or self.history.kept.events.get(number)
        assert event is not None, "who asks has found it"
        return event

    def waits(self, event: EventHistory) -> Mapping[str, Wait]:
        """The inputs that an open event waits for, by the path of the call."""
        return waits_of(event)

    def give(self, event: EventHistory, path: str, record: AnswerRecord) -> None:
        """Nothing: the next start does it."""

    def commit(self, records: Sequence[Record]) -> None:
        """Put records on record, durably, then audit them."""
        header = self.history.header
        audit = header is None or header.audit
        if not self._rewritten:
            # What a killed program left may not be durable; nothing is built on that (R14).
            if audit:
                recovery.complete_audit(self._opened)
            new_id = random_part() + random_part()
            by = recovery.Rewriting(self.agent, new_id, self.now_us(), start=False, audit=audit)
            recovery.rewrite(self._opened, by)
            self._rewritten = True
        moving.commit(self.store, self.agent, records, self.history, audit=audit)
        note_answers(self.history, records)

    def settle(self) -> None:
        """Nothing: a commit is durable."""

    def withdraw(self, event: EventHistory, record: CancelledRecord) -> None:
        """Nothing: the journal says it."""

    def deliver(self, event: EventHistory, record: CancelRecord) -> None:
        """Nothing: the next start does it."""

    def queue_again(self, numbers: Sequence[int]) -> None:
        """Nothing: the next start does it."""

    def take(self, record: Record) -> None:
        """Know of a schedule; the next start attends to it."""
        self.history.schedules.fold(record, carried_over=False)

    def accept(self, wanted: Wanted) -> Accepted:
        """Accept an event, or find the one that its key stands for.

        Raises:
            KeyReused, SetAside: the key stands for something else, or for what is set aside.
        """
        same = find_same(self.agent, self.history, wanted)
        if same is not None:
            number = number_of(same)
            return Accepted(str(Address(self.agent, wanted.identity, number)), joined=True)
        number, now_us = self.history.next_event, self.now_us()
        done = Accepted(str(Address(self.agent, wanted.identity, number)))
        record = wanted.record(number, random_part(), now_us)
        records: list[Record] = [record]
        if wanted.request:
            # In front: a write that a crash cuts short must not leave the event without it.
            records.insert(0, wanted.answer(done, now_us))
        self.commit(records)
        # Crash here: accepted; the next start runs it.
        self.history.begin(EventHistory(record, b""))
        return done

    def forget(self, identity: Identity) -> None:
        """Nothing: the journal says it."""


Opening: TypeAlias = AbstractContextManager[ColdGround]


@contextmanager
def opened(store: Store, agent: str, *, clock: Clock, wait_s: float) -> Iterator[ColdGround]:
    """Take a folder's lock and read its journal.

    Raises:
        Locked: a program holds it, still after `wait_s` seconds.
    """
    store.lock(this_program("agentctl", clock), wait_s)
    try:
        yield ColdGround(agent, recovery.read(agent, store), clock)
    finally:
        store.close()


def check_there(root: Path, agent: str, disk: Disk) -> None:
    """Refuse an agent that has no folder.

    Raises:
        NotFound: it has none.
    """
    if not is_agent_name(agent) or disk.kind(agent_folder(root, agent)) != "folder":
        raise NotFound(f"{agent} has no folder: it never ran here", hint="look at: agentctl run")
