"""Which records are still needed, in the order of a rewritten journal.

Header, states, outcomes of keyed events, answers, schedules, `aside` records, the ended events
that are still kept, then the open events, their records as they are. The next number stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from agentctl.core.event_history import EventHistory
from agentctl.core.history import ANSWERS_KEPT_US, JournalHistory
from agentctl.core.lifecycle import Phase
from agentctl.records import Header, ParkedRecord, encode

COMPACTS_AT: Final = 1 << 20
"""A journal that isn't longer than this, in bytes, is left alone while its program runs."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """How long what is over is kept (R17); None: as long as it is there.

    Attributes:
        retention_us: the outcome of a keyed event.
        keep_failed_us: a failed event with its calls.
    """

    retention_us: int | None = None
    keep_failed_us: int | None = None


KEEP_ALL: Final = Keeping()


def compacted(history: JournalHistory, header: Header, keeping: Keeping) -> list[bytes]:
    """The bodies of a rewritten journal; `header.kept` is filled in here."""
    kept = list(carried_over(history, header.at, keeping))
    return [encode(msgspec.structs.replace(header, kept=len(kept))), *kept]


def carried_over(history: JournalHistory, now_us: int, keeping: Keeping) -> Iterator[bytes]:
    """Yield what follows the header of a rewritten journal: all that is still needed."""
    for state in history.states.values():
        yield encode(state)
    retention_us = keeping.retention_us
    for outcome in history.outcomes.values():
        if outcome.once or retention_us is None or outcome.at + retention_us > now_us:
            yield encode(outcome)
    for answered in history.answered.values():
        if answered.at + ANSWERS_KEPT_US > now_us:
            yield encode(answered)
    for owed in history.owed.values():
        yield encode(owed)
    for schedule in history.schedules.live.values():
        yield encode(schedule)
    for gone in history.schedules.gone.values():
        if retention_us is None or gone.at + retention_us > now_us:
            yield encode(gone)
    for aside in history.asides.values():
        yield encode(aside)
    for ended in history.kept.worth(now_us=now_us, keep_failed_us=keeping.keep_failed_us):
        yield from ended.bodies
    for number in sorted(history.open):
        yield from _event(history.open[number], stopped=history.stopping)


def _event(event: EventHistory, *, stopped: bool) -> Iterator[bytes]:
    yield from event.bodies
    if stopped and event.phase is Phase.EXECUTING:
        # The record of the stop goes; that it was no crash must stay.
        yield encode(ParkedRecord(event.number))
