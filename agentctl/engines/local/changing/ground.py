"""Ground: where a change is carried out, in a running program or under the lock of nobody's folder.

`operations` decides what is changed; a ground puts it on record and lets it take effect.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Raw, UnsetType

from agentctl.core.event_history import EventHistory
from agentctl.core.history import JournalHistory
from agentctl.core.lifecycle import Phase
from agentctl.core.waits import Wait
from agentctl.engines.changes import Accepted
from agentctl.engines.local.running.accepting import Wanted
from agentctl.names import Identity
from agentctl.record_moves import AnsweredRecord, CancelledRecord, CancelRecord
from agentctl.record_steps import AnswerRecord
from agentctl.records import Record
from agentctl.storage.port import Store


class Standing(enum.Enum):
    """What an open event's code is doing, as far as a cancellation goes."""

    IDLE = "none of it runs, and none of it need clean up"
    RAN = "it ran, and stands somewhere: it is there to clean up"
    CUT_OFF = "it executed when its program died: it is there to clean up"
    EXECUTING = "it runs"


class Ground(Protocol):
    """One agent's journal, about to be changed."""

    @property
    def agent(self) -> str:
        """The agent's name."""
        ...

    @property
    def history(self) -> JournalHistory:
        """What the journal says."""
        ...

    @property
    def store(self) -> Store:
        """The agent's folder."""
        ...

    def now_us(self) -> int:
        """The time of what goes on record."""
        ...

    def wall_us(self) -> int:
        """The wall clock as it is, which due times go by."""
        ...

    def standing(self, event: EventHistory) -> Standing:
        """What an open event's code is doing."""
        ...

    def why_unable(self, number: int) -> str | None:
        """Why an open event can't be run with the code that is loaded, if it can't."""
        ...

    def check_arguments(self, handler: str, args: Raw, kwargs: Raw | UnsetType) -> None:
        """Refuse arguments that a handler doesn't take, where its code is loaded.

        Raises:
            NotFound: there is no such handler.
            BadArguments: they don't fit.
        """
        ...

    def whole(self, number: int) -> EventHistory:
        """An event with all its records, read from the journal anew where need be."""
        ...

    def waits(self, event: EventHistory) -> Mapping[str, Wait]:
        """The inputs that an open event waits for, by the path of the call."""
        ...

    def give(self, event: EventHistory, path: str, record: AnswerRecord) -> None:
        """An input is on record: the event goes on with it."""
        ...

    def commit(self, records: Sequence[Record]) -> None:
        """Put records on record in one write, with their audit lines."""
        ...

    def settle(self) -> None:
        """Make what is on record durable before this returns."""
        ...

    def withdraw(self, event: EventHistory, record: CancelledRecord) -> None:
        """An event ended, and no more of its code runs."""
        ...

    def deliver(self, event: EventHistory, record: CancelRecord) -> None:
        """A cancellation of an event whose code is to clean up is on record."""
        ...

    def queue_again(self, numbers: Sequence[int]) -> None:
        """Events are open again, or new: run them."""
        ...

    def forget(self, identity: Identity) -> None:
        """An instance is gone."""
        ...

    def take(self, record: Record) -> None:
        """A schedule is as this record says."""
        ...

    def accept(self, wanted: Wanted) -> Accepted:
        """Accept an event; it is on record on return, and known under its request."""
        ...


def note_answers(history: JournalHistory, records: Sequence[Record]) -> None:
    """Remember what was answered; not before it is on record with the change itself."""
    for record in records:
        if isinstance(record, AnsweredRecord):
            history.remember(record)


def standing_on_record(event: EventHistory) -> Standing:
    """What an event's code is doing that doesn't run in any program."""
    if event.phase is Phase.EXECUTING:
        return Standing.CUT_OFF
    return Standing.RAN if event.phase is Phase.PARKED else Standing.IDLE
