"""Who holds what: events that exclude each other run one after another (R16, R18)."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Holders(Generic[K]):
    """Queues of events, one for each thing that only one of them may hold.

    Such a thing is an instance, for exclusive events; or a schedule, for its occurrences.
    """

    def __init__(self) -> None:
        self._holders: dict[K, int] = {}
        self._waiting: dict[K, deque[int]] = {}
        self._held: dict[int, K] = {}

    def take(self, thing: K, event: int) -> bool:
        """Give the thing to the event, or let it wait for it; True if it has it now."""
        if thing in self._holders:
            self._waiting.setdefault(thing, deque()).append(event)
            return False
        self._hold(thing, event)
        return True

    def holder(self, thing: K) -> int | None:
        """The event that holds the thing."""
        return self._holders.get(thing)

    def leave(self, thing: K, event: int) -> None:
        """Let an event no longer wait for the thing, if it does."""
        waiting = self._waiting.get(thing)
        if waiting is not None and event in waiting:
            waiting.remove(event)
            if not waiting:
                del self._waiting[thing]

    def free(self, event: int) -> int | None:
        """Take back from an event what it holds; returns the one that holds it next."""
        thing = self._held.pop(event, None)
        if thing is None:
            return None
        del self._holders[thing]
        waiting = self._waiting.get(thing)
        if not waiting:
            return None
        following = waiting.popleft()
        if not waiting:
            del self._waiting[thing]
        self._hold(thing, following)
        return following

    def _hold(self, thing: K, event: int) -> None:
        self._holders[thing] = event
        self._held[event] = thing
