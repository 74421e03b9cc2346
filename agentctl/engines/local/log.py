"""LogListener: what an engine does, as lines of the logger `agentctl`.

Where a program sets up no logging, Python prints warnings and errors to stderr: a failure that
nobody waited for, and a stuck event, are seen in any case.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

from agentctl.engines.port import Ended, Recovered
from agentctl.names import Address
from agentctl.times import format_duration

log = logging.getLogger("agentctl")

_SHOWN: Final = 5


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
        elif end.status == "cancelled":
            log.info("%s cancelled", end.event)
        elif end.status == "missed":
            log.warning("%s was missed: %s", end.event, end.text)
        else:
            where = f" ({end.line})" if end.line else ""
            log.error(
                "%s is stuck: %s%s; it runs again at the next start", end.event, end.text, where
            )

    def called(self, key: str, fn: str) -> None:
        """A call is made for real."""
        log.debug("%s: %s", key, fn)

    def asked(self, key: str, text: str, type_: str) -> None:
        """An event asks a person for an input."""
        log.info("%s asks: %s (%s)", key, text, type_)

    def warned(self, text: str) -> None:
        """Something that a person should know."""
        log.warning("%s", text)

    def waiting(self, calls: Sequence[tuple[str, str]], at_most: timedelta | None) -> None:
        """A stop waits for calls."""
        log.info("%s", waiting_for(calls, at_most))


def waiting_for(calls: Sequence[tuple[str, str]], at_most: timedelta | None) -> str:
    """Say what a stop waits for: `waiting for Payments.refund (Bot-1-2), at most 5s`."""
    shown = ", ".join(f"{fn} ({key})" for key, fn in calls[:_SHOWN])
    more = f" and {len(calls) - _SHOWN} more" if len(calls) > _SHOWN else ""
    limit = "" if at_most is None else f", at most {format_duration(at_most)}"
    return f"waiting for {shown}{more}{limit}"
