"""How one event comes to rest: what its handler's end, or a divergence, makes of it.

Decides, and puts nothing on record; `endings` has the words.
"""

from __future__ import annotations

from agentctl.core.event_history import EventHistory
from agentctl.core.replay import Difference
from agentctl.engines.local.events import endings
from agentctl.engines.local.events.beginning import Prepared
from agentctl.engines.local.events.ledger import Ledger
from agentctl.engines.local.events.site import Site
from agentctl.engines.local.events.standing import handler_line


class Resting:
    """The rest that one event comes to.

    Attributes:
        to_accept: of a divergence: the calls that are made anew if it is accepted, and those that
            no longer count.
    """

    __slots__ = (
        "_history",
        "_ledger",
        "_line",
        "_site",
        "to_accept",
    )

    def __init__(self, site: Site, history: EventHistory, ledger: Ledger) -> None:
        self._site = site
        self._history = history
        self._ledger = ledger
        self._line: str | None = None
        self.to_accept: tuple[list[str], list[str]] = ([], [])

    def note_difference(self) -> None:
        """Note where the handler stands that asks for something else than is on record."""
        if self._ledger.difference is not None and self._line is None:
            self._line = handler_line()

    def end(self, prepared: Prepared, *, waits_for_nothing: bool = False) -> endings.End:
        """The end of a handler that returned, raised, was cancelled, or waits for nothing."""
        accepted, loop = self._history.accepted, prepared.loop
        finished = endings.Finished(
            self._site.address(accepted),
            prepared.handler,
            prepared.obj,
            self._site.spec,
            prepared.state,
            self._site.heard(accepted.event),
            self._site.program.now_us(loop.now_us),
        )
        if self._history.cancel is not None:
            return endings.cancelled(finished, loop)
        if waits_for_nothing:
            return endings.nothing_to_wait_for(finished)
        return endings.of_loop(finished, loop)

    def diverged(self, found: Difference, now_us: int) -> endings.End:
        """The rest of an event whose handler asks for something else than is on record."""
        self._ledger.take_batch()
        accepted, call_id = self._history.accepted, self._ledger.call_id
        where = endings.Where(
            self._site.key(accepted, found.path),
            self._line,
            self._site.program.now_us(now_us),
            call_id(found.path),
            *(tuple(map(call_id, paths)) for paths in self.to_accept),
        )
        return endings.diverged(self._site.address(accepted), accepted.handler, found, where)
