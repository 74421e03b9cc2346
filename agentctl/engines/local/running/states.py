"""The committed states of one agent's instances, field by field."""

from __future__ import annotations

from msgspec import Raw

from agentctl.core.history import JournalHistory
from agentctl.engines.local.events.made import members_of
from agentctl.names import Identity
from agentctl.sdk.fields import AgentSpec


class States:
    """What each instance committed last."""

    def __init__(self, history: JournalHistory, spec: AgentSpec) -> None:
        self._states = {of: members_of(one.state) for of, one in history.states.items()}
        self._fresh = {name: one.default for name, one in spec.state.items()}

    def of(self, identity: Identity) -> dict[str, bytes]:
        """An instance's state; fields that it doesn't have yet are at their default."""
        kept = self._states.get(identity)
        if kept is None:
            return dict(self._fresh)
        return {name: kept.get(name, default) for name, default in self._fresh.items()}

    def commit(self, identity: Identity, state: Raw) -> None:
        """Take what an event left."""
        self._states[identity] = members_of(state)

    def forget(self, identity: Identity) -> None:
        """Drop the state of an instance that was deleted."""
        self._states.pop(identity, None)
