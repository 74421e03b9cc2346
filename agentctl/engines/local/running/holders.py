"""Who holds what: events that exclude each other run one after another (R16, R18).

Those that wait for the same thing get it by their rank, and in order within one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

from agentctl.core.lanes import LANES

K = TypeVar("K", bound=Hashable)

_RANKS: Final = range(len(LANES))


class Holders(Generic[K]):
    """Queues of events, one for each thing that only one of them may hold.

    Such a thing is an instance, for exclusive events; or a schedule, for its occurrences.
    """

    def __init__(self) -> None:
        self._holders: dict[K, int] = {}
        self._waiting: dict[tuple[K, int], deque[int]] = {}
        self._held: dict[int, K] = {}

    def take(self, thing: K, event: int, rank: int = 0) -> bool:
        """Give the thing to the event, or let it wait for it; True if it has it now."""
        if thing in self._holders:
            self._waiting.setdefault((thing, rank), deque()).append(event)
            return False
        self._hold(thing, event)
        return True

    def hand_over(self, thing: K, event: int, holders_rank: int) -> None:
        """Give the thing to the event; its holder waits, the first of its rank."""
        holder = self._holders[thing]
        del self._held[holder]
        self._waiting.setdefault((thing, holders_rank), deque()).appendleft(holder)
        self._hold(thing, event)

    def holder(self, thing: K) -> int | None:
        """The event that holds the thing."""
        return self._holders.get(thing)

    def holding(self) -> set[int]:
        """The events that others wait for."""
        return {self._holders[thing] for thing, _ in self._waiting}

    def leave(self, thing: K, event: int) -> None:
        """Let an event no longer wait for the thing, if it does."""
        for rank in _RANKS:
            waiting = self._waiting.get((thing, rank))
            if waiting is not None and event in waiting:
                waiting.remove(event)
                if not waiting:
                    del self._waiting[thing, rank]

    def free(self, event: int) -> int | None:
        """Take back from an event what it holds; returns the one that holds it next."""
        thing = self._held.pop(event, None)
        if thing is None:
            return None
        del self._holders[thing]
        for rank in _RANKS:
            waiting = self._waiting.get((thing, rank))
            if waiting is not None:
                following = waiting.popleft()
                if not waiting:
                    del self._waiting[thing, rank]
                self._hold(thing, following)
                return following
        return None

    def _hold(self, thing: K, event: int) -> None:
        self._holders[thing] = event
        self._held[event] = thing
