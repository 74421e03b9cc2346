"""Which records are still needed, in the order of a rewritten journal.

Header, states, outcomes of keyed events, `aside` records, then the open events' own records as
they are. Ended events go; the next number stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from agentctl.core.history import EventHistory, JournalHistory
from agentctl.core.lifecycle import Phase
from agentctl.records import Header, ParkedRecord, encode

RETENTION_US: Final = 7 * 86_400 * 1_000_000
"""How long the outcome of a keyed event is kept (R17)."""


def compacted(history: JournalHistory, header: Header) -> list[bytes]:
    """The bodies of a rewritten journal; `header.kept` is filled in here."""
    kept = list(_kept(history, header.at))
    return [encode(msgspec.structs.replace(header, kept=len(kept))), *kept]


def _kept(history: JournalHistory, now_us: int) -> Iterator[bytes]:
    for state in history.states.values():
        yield encode(state)
    for outcome in history.outcomes.values():
        if outcome.at + RETENTION_US > now_us:
            yield encode(outcome)
    for aside in history.asides.values():
        yield encode(aside)
    for number in sorted(history.open):
        yield from _event(history.open[number], stopped=history.stopping)


def _event(event: EventHistory, *, stopped: bool) -> Iterator[bytes]:
    yield from event.bodies
    if stopped and event.phase is Phase.EXECUTING:
        # The record of the stop goes; that it was no crash must stay.
        yield encode(ParkedRecord(event.number))
