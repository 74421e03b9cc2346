"""Follows journals: the records that a query wants, as they come.

Invariant: each record is shown once, in the order of its journal. Never waits and never prints.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from agentctl.engines.desk import Desk
from agentctl.engines.views import JournalView
from agentctl.names import Identity
from agentctl.ops.journal import JournalQuery, select
from agentctl.ops.journal_documents import SeenRecord


class Followed:
    """One agent's journal from its beginning on; `last` of the query holds for what is there."""

    def __init__(self, desk: Desk, agent: str, query: JournalQuery) -> None:
        self.agent = agent
        self._read = desk.follow(agent)
        self._query = query
        self._identities: dict[int, Identity] = {}

    def records(self) -> Sequence[SeenRecord]:
        """Read the records that are new since the last time."""
        view = JournalView(self.agent, "", self._read(), (), None, unfinished=False)
        last = self._query.last
        self._query = replace(self._query, last=None)
        found = select(view, self._query, self._identities)
        return tuple(found if last is None else deque(found, maxlen=last))
