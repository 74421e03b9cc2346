"""Waiting until an event is in a state, by looking at its journal as it grows.

Invariant: takes no lock and needs no program. Never prints; the pause between two looks comes in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from agentctl.engines.changes import OVER, State
from agentctl.engines.desk import Desk
from agentctl.engines.views import EventView
from agentctl.errors import Conflict
from agentctl.names import Address
from agentctl.ops.views import find_event
from agentctl.times import Clock

REST: Final = OVER | {State.STUCK}
"""Where an event stays until somebody does something."""

_FIRST_PAUSE_S: Final = 0.02
_LONGEST_PAUSE_S: Final = 0.5


def wait_for(
    desk: Desk,
    meant: tuple[Address, str | None],
    wanted: frozenset[State],
    *,
    clock: Clock,
    pause: Callable[[float], None],
    timeout_s: float | None,
) -> EventView:
    """Wait until an event is in one of these states.

    Args:
        meant: the event's address; or the instance, and the event's idempotency key.

    Raises:
        NotFound: there is no such event.
        Conflict: it is over, and in none of them.
        TimeoutError: `timeout_s` passed; its argument is the event as it stands.
    """
    give_up_s = None if timeout_s is None else clock.monotonic_s() + timeout_s
    pause_s = _FIRST_PAUSE_S
    while True:
        event, _ = find_event(desk, *meant)
        if event.state in wanted:
            return event
        if event.state in OVER:
            words = " or ".join(sorted(state.value.replace("_", " ") for state in wanted))
            raise Conflict(
                f"{event.event} is {event.state.value.replace('_', ' ')}, and won't be {words}",
                hint=f"see what happened: agentctl invocation show {event.event}",
            )
        if give_up_s is not None and clock.monotonic_s() >= give_up_s:
            raise TimeoutError(event)
        pause(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
