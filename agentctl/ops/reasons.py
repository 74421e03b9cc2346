"""What reasons are made of: why something is where it is, what happens next, and when.

Never decides where something is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from agentctl.engines.desk import Desk
from agentctl.names import Address
from agentctl.ops.journal_documents import SeenRecord
from agentctl.ops.places import Place

NOTHING: Final = "nothing follows"
_LONGEST: Final = 300
_OWN: Final = "builtins."


@dataclass(frozen=True)
class Reason:
    """Why something is where it is, in clauses of one sentence.

    Attributes:
        why: behind its name: `is sleeping, …`.
        next: what happens next.
        kinds: of the record that says so; `key`: of the call that it is about.
        at_us: when it happens, where that is known.
        behind: the event that it waits for.
    """

    why: str
    next: str
    kinds: Sequence[str]
    key: str | None = None
    at_us: int | None = None
    behind: str | None = None


@dataclass(frozen=True)
class Ground:
    """What reasons are told from.

    Attributes:
        at: writes a moment within a sentence: `at 2026-11-30T09:14:02Z`.
    """

    desk: Desk
    place: Place
    now_us: int
    at: Callable[[int], str]

    def start(self, agent: str) -> str | None:
        """How to start a program that runs an agent, where none does."""
        return None if self.desk.holder(agent) else self.place.start_of(agent)

    def needs(self, agent: str) -> str:
        """Say that a program is needed, where none runs the agent."""
        start = self.start(agent)
        return "" if start is None else f", and a program runs ({start})"

    def by_itself(self, what: str, agent: str, at_us: int | None) -> str:
        """Say when something happens that takes nothing but time, and a program."""
        start = self.start(agent)
        past = at_us is not None and at_us <= self.now_us
        if start is None:
            if past:
                return f"{what} soon: it was due {self.at(at_us or 0)}"
            return what if at_us is None else f"{what} {self.at(at_us)}"
        if at_us is None or past:
            return f"{what} with the next start: {start}"
        return f"{what} {self.at(at_us)}, if a program runs then: {start}"


def telling(records: Sequence[SeenRecord], reason: Reason) -> SeenRecord | None:
    """The last record that says what the reason says; else the last one that there is."""
    for one in reversed(records):
        if one.kind in reason.kinds and reason.key in (None, one.key):
            return one
    return records[-1] if records else None


def instance_of(event: Address) -> str:
    """The instance that an event is of."""
    return str(Address(event.agent, event.identity))


def error(type_: str | None, text: str = "") -> str:
    """Write an error as a traceback ends: Python's own types go without their module."""
    return shortened(": ".join(one for one in ((type_ or "").removeprefix(_OWN), text) if one))


def shortened(text: str) -> str:
    """Write no more of a text than a sentence bears."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
