"""Which event holds which instance: exclusive events run one after another (R16)."""

from __future__ import annotations

from collections import deque

from agentctl.names import Identity


class Instances:
    """The queues of exclusive events, one an instance."""

    def __init__(self) -> None:
        self._holders: dict[Identity, int] = {}
        self._waiting: dict[Identity, deque[int]] = {}
        self._held: dict[int, Identity] = {}

    def take(self, identity: Identity, event: int) -> bool:
        """Give the instance to the event, or let it wait for it; True if it has it now."""
        if identity in self._holders:
            self._waiting.setdefault(identity, deque()).append(event)
            return False
        self._hold(identity, event)
        return True

    def holder(self, identity: Identity) -> int | None:
        """The event that holds the instance."""
        return self._holders.get(identity)

    def leave(self, identity: Identity, event: int) -> None:
        """Let an event no longer wait for its instance, if it does."""
        waiting = self._waiting.get(identity)
        if waiting is not None and event in waiting:
            waiting.remove(event)
            if not waiting:
                del self._waiting[identity]

    def free(self, event: int) -> int | None:
        """Take the instance back from an event; returns the one that holds it next."""
        identity = self._held.pop(event, None)
        if identity is None:
            return None
        del self._holders[identity]
        waiting = self._waiting.get(identity)
        if not waiting:
            return None
        following = waiting.popleft()
        if not waiting:
            del self._waiting[identity]
        self._hold(identity, following)
        return following

    def _hold(self, identity: Identity, event: int) -> None:
        self._holders[identity] = event
        self._held[event] = identity
