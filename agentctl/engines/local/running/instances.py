"""Instances: which event of one agent holds which instance, and who waits for it (R16).

An exclusive event takes its instance when it is queued, and holds it until it ends. One that
hasn't begun gives way to one of a higher lane.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from agentctl.core.event_history import EventHistory
from agentctl.core.lanes import rank_of
from agentctl.core.lifecycle import Phase
from agentctl.engines.local.running.holders import Holders
from agentctl.names import Identity
from agentctl.records import EventRecord


def goes_first(event: EventHistory) -> bool:
    """Whether an event had begun when its program ended, and so held its instance."""
    return event.started_us is not None and event.phase is not Phase.STUCK


class Instances(Holders[Identity]):
    """The instances of one agent.

    Args:
        open_events: those of the agent, by number; `runs` are those that have begun here.
        withdraw: takes an event, of a lane by its rank, out of the queue of those that may begin.
    """

    def __init__(
        self,
        open_events: Mapping[int, EventHistory],
        runs: Collection[int],
        withdraw: Callable[[int, int], None],
    ) -> None:
        super().__init__()
        self._open = open_events
        self._runs = runs
        self._withdraw = withdraw

    def take_for(self, accepted: EventRecord) -> bool:
        """Give an event its instance, or let it wait for it; True if it has it now."""
        rank, number = rank_of(accepted.lane), self.holder(accepted.of)
        holder = None if number is None else self._open.get(number)
        if holder is None or not self._gives_way(holder, rank):
            return self.take(accepted.of, accepted.event, rank)
        holders_rank = rank_of(holder.accepted.lane)
        self._withdraw(holder.number, holders_rank)
        self.hand_over(accepted.of, accepted.event, holders_rank)
        return True

    def _gives_way(self, holder: EventHistory, rank: int) -> bool:
        if rank_of(holder.accepted.lane) <= rank or holder.number in self._runs:
            return False
        return not goes_first(holder)
