"""Ends: waiting for an event's end, or hearing of one that is over already."""

from __future__ import annotations

import asyncio

from agentctl.core.history import JournalHistory
from agentctl.engines.local.events.endings import End
from agentctl.engines.local.events.outcomes import of_outcome, of_record
from agentctl.engines.local.running.waiters import Waiter, Waiters
from agentctl.engines.port import Ended
from agentctl.errors import NotFound, Stuck
from agentctl.names import Address
from agentctl.records import BugRecord


class Ends:
    """The ends of one agent's events, those to come and those that are kept.

    Attributes:
        stuck: the open events that stopped at a bug, a divergence, or a handler that is gone.
    """

    def __init__(self, agent: str, history: JournalHistory, waiters: Waiters) -> None:
        self._agent = agent
        self._history = history
        self._waiters = waiters
        self.stuck: dict[int, Ended] = {}

    @property
    def unable(self) -> dict[int, str]:
        """The stuck events of which no record says so: they can't be run, and why (R3)."""
        open_events = self._history.open
        return {n: end.text for n, end in self.stuck.items() if open_events[n].bug is None}

    def address_of(self, number: int) -> Address:
        """The address of an event by its number, as far as its instance is still known."""
        event = self._history.open.get(number) or self._history.kept.events.get(number)
        if event is not None:
            return Address(self._agent, event.accepted.of, number)
        outcome = self._history.outcomes.of_event(number)
        return Address(self._agent, () if outcome is None else outcome.of, number)

    def wait_for(self, number: int) -> Waiter:
        """A future of an event's end, or of what is known of it already.

        Raises:
            NotFound: it isn't open, and nothing is kept of it.
        """
        if number in self._history.open and number not in self.stuck:
            return self._waiters.wait_for(number)
        end = self.end_of(number)
        waiter: Waiter = asyncio.get_running_loop().create_future()
        waiter.set_result(end)
        return waiter

    def end_of(self, number: int) -> End:
        """How an event came to rest, as far as that is kept.

        Raises:
            NotFound: nothing is.
        """
        stuck = self.stuck.get(number)
        if stuck is not None:
            error = Stuck(f"{stuck.event} is stuck: {stuck.text}")
            return End(BugRecord(number, stuck.text), stuck, error)
        event = self._history.kept.events.get(number)
        if event is not None and event.end is not None:
            return of_record(self.address_of(number), event.accepted.handler, event.end)
        outcome = self._history.outcomes.of_event(number)
        if outcome is not None:
            return of_outcome(self.address_of(number), outcome)
        raise NotFound(
            f"event {number} of {self._agent} isn't open, and nothing is kept of it",
            hint="the setting keep says how many ended events are kept",
        )
