"""HeldGround: a change that an event of the agent's own asks for.

It is decided at once and held back, to go on record with the asking call's result, in one write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from agentctl.core.event_history import EventHistory
from agentctl.engines.local.changing.ground import note_answers
from agentctl.engines.local.changing.live import LiveGround
from agentctl.engines.local.running.agent import AgentRuntime
from agentctl.engines.local.starting import moving
from agentctl.record_moves import CancelledRecord, CancelRecord
from agentctl.records import Record, encode


class HeldGround(LiveGround):
    """One agent of a running program, for one cancellation.

    Attributes:
        bodies, audit: what goes on record, and its audit lines.
    """

    def __init__(self, runtime: AgentRuntime) -> None:
        super().__init__(runtime)
        self.bodies: list[bytes] = []
        self.audit: list[str] = []
        self._then: list[Callable[[], None]] = []

    def commit(self, records: Sequence[Record]) -> None:
        """Hold records back."""
        self.bodies += [encode(record) for record in records]
        self.audit += moving.audit_of(self.agent, records, self.history)
        self._then.append(partial(note_answers, self.history, records))

    def withdraw(self, event: EventHistory, record: CancelledRecord) -> None:
        """An event ends, once that is on record."""
        self._then.append(partial(super().withdraw, event, record))

    def deliver(self, event: EventHistory, record: CancelRecord) -> None:
        """A cancelled event cleans up, once that is on record."""
        self._then.append(partial(super().deliver, event, record))

    def take(self, record: Record) -> None:
        """A schedule is as this record says, once it is on record."""
        self._then.append(partial(super().take, record))

    def take_effect(self) -> None:
        """Let happen what is on record now."""
        for each in self._then:
            each()
