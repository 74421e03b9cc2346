"""Which start counts, whose turn it is, and who is set aside (R10).

Events that executed when the program died are under suspicion. After a first death they start
together; from the second death in a row on they take turns, one at a time across all agents of
the program. Only an event that had the turn at the last death, or that a bug stopped, is set
aside: so a bad one takes no neighbour with it. Where nothing else executed, it had the turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from agentctl.core.event_history import EventHistory
from agentctl.core.history import JournalHistory
from agentctl.core.lifecycle import Phase

EventId: TypeAlias = tuple[str, int]
"""An agent's name and an event's number."""


@dataclass(frozen=True, slots=True)
class StartPlan:
    """What a start does with the open events of all agents of the program.

    Attributes:
        set_aside: moved to `set-aside`.
        counted: started with an `again` record.
        turns: those of `counted` that start one at a time, in this order; () if all together.
    """

    set_aside: tuple[EventId, ...] = ()
    counted: frozenset[EventId] = frozenset()
    turns: tuple[EventId, ...] = ()


def plan_start(journals: Mapping[str, JournalHistory], max_starts: Mapping[str, int]) -> StartPlan:
    """Decide how the open events of all agents of the program start."""
    set_aside: list[EventId] = []
    counted: list[EventId] = []
    suspects: list[EventId] = []
    repeated = False
    executed = {
        (agent, event.number)
        for agent, event in _open_events(journals)
        if event.phase is Phase.EXECUTING and not journals[agent].stopping
    }
    for agent, event in _open_events(journals):
        stuck = event.phase is Phase.STUCK
        if not (stuck or event.phase is Phase.EXECUTING):
            continue
        this = (agent, event.number)
        executing = this in executed
        if not (executing or stuck):
            continue
        alone = event.alone or executed == {this}
        if event.starts >= max_starts[agent] and (stuck or alone):
            set_aside.append(this)
            continue
        counted.append(this)
        if executing:
            suspects.append(this)
            repeated = repeated or event.starts >= 2
    turns = tuple(suspects) if repeated else ()
    return StartPlan(tuple(set_aside), frozenset(counted), turns)


def _open_events(journals: Mapping[str, JournalHistory]) -> Iterable[tuple[str, EventHistory]]:
    for agent in sorted(journals):
        for number in sorted(journals[agent].open):
            yield agent, journals[agent].open[number]
