"""LogListener: what an engine does, as lines of the logger `agentctl`.

Where a program sets up no logging, Python prints warnings and errors to stderr: a failure that
nobody waited for, and a stuck event, are seen in any case.
"""

from __future__ import annotations

import logging
from pathlib import Path

from agentctl.engines.port import Ended, Recovered
from agentctl.names import Address

log = logging.getLogger("agentctl")


class LogListener:
    """Implements `Listener` by the standard library's logging."""

    def recovered(self, found: Recovered) -> None:
        """A start has read an agent's journal."""
        if found.cut:
            log.warning("%s: cut off the journal's end: %s", found.agent, found.cut)
        if found.unfinished:
            log.info("%s: %d events run again", found.agent, len(found.unfinished))
        for event in found.set_aside:
            log.error(
                "%s is set aside: it was started too often without a new result; "
                "put it back with: agentctl --root %s requeue set-aside %s %s",
                event,
                Path(found.folder).parents[1],
                event.agent,
                event.event,
            )

    def started(self, event: Address, handler: str, *, again: bool) -> None:
        """An event begins to execute."""
        log.info("%s %s: event of %s", event, "runs again" if again else "started", handler)

    def ended(self, end: Ended, *, heard: bool) -> None:
        """An event came to rest, durably."""
        if end.status == "completed":
            log.info("%s completed", end.event)
        elif end.status == "failed":
            level = logging.INFO if heard else logging.ERROR
            log.log(level, "%s failed: %s: %s", end.event, end.type, end.text)
        else:
            where = f" ({end.line})" if end.line else ""
            log.error(
                "%s is stuck: %s%s; it runs again at the next start", end.event, end.text, where
            )

    def called(self, key: str, fn: str) -> None:
        """A call is made for real."""
        log.debug("%s: %s", key, fn)

    def warned(self, text: str) -> None:
        """Something that a person should know."""
        log.warning("%s", text)
