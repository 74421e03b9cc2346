"""The lanes in which an agent's events queue (R22): their names, and which comes first.

An event of the lane `medium` bears no lane on record. Never queues anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, get_args

from agentctl.errors import UsageError

Priority: TypeAlias = Literal["high", "medium", "low"]
"""The lane that an event is asked into."""

LANES: Final[tuple[Priority, ...]] = get_args(Priority)
"""The lanes, the one that comes first in front; a lane's *rank* is its place here."""

MEDIUM: Final = 1
"""The rank of the lane of whatever names none."""

_RANKS: Final[Mapping[str | None, int]] = {lane: rank for rank, lane in enumerate(LANES)}


def rank_of(lane: str | None) -> int:
    """The rank of a lane as it is on record; of one that isn't known here, that of `medium`."""
    return _RANKS.get(lane, MEDIUM)


def recorded(priority: Priority) -> str | None:
    """A lane as a record has it."""
    return None if priority == "medium" else priority


def priority_of(lane: str | None) -> Priority:
    """The lane that a record names."""
    return LANES[rank_of(lane)]


def check_priority(priority: object) -> Priority:
    """Refuse what is no lane.

    Raises:
        UsageError: it says which there are.
    """
    if priority not in LANES:
        shown = f"{priority!r:.80}"
        raise UsageError(f"the priority can't be {shown}", hint="it is high, medium or low")
    return priority
