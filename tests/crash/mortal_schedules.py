"""Scenarios of what is to come: sent, cancelled, recurring, missed, set aside, from the file (R18).

Held in the end, wherever the program died: each due time is answered for once, nothing ran twice
or is lost, the grid is where it was, and what is scheduled is as if nobody had died.
"""

from __future__ import annotations

from collections.abc import Sequence

from matrix import Scenario
from mortal_rota import (
    HOUR_S,
    Act,
    Away,
    Rota,
    away,
    check_hourly,
    check_marks,
    check_schedules,
    program,
)
from mortal_world import World, check_rest
from agentctl.storage.memory import MemoryDisk

BOTH = (Rota, Away)


def rota(
    *steps: Act,
    done: Sequence[str] = (),
    hours: Sequence[int] = (),
    missed: str = "coalesce",
    scheduled: dict[str, int] | None = None,
) -> Scenario:
    """A scenario of `Rota` alone: what was done, which hours were answered for, what is to come."""

    def check(world: World, disk: MemoryDisk) -> None:
        check_rest(world, disk, "Rota")
        check_marks(world, *done)
        check_hourly(world, disk, hours, missed=missed)
        check_schedules(world, disk, scheduled or {})

    return Scenario("Rota", steps, check)


def with_away(
    *steps: Act, done: Sequence[str], there: Sequence[str], scheduled: dict[str, int] | None = None
) -> Scenario:
    """A scenario in which `Rota` sends to `Away`; nothing of that is remembered in the end."""

    def check(world: World, disk: MemoryDisk) -> None:
        check_rest(world, disk, "Rota")
        check_marks(world, *done)
        check_rest(world.beside["Away"], disk, "Away")
        check_marks(world.beside["Away"], *there)
        check_schedules(world, disk, scheduled or {}, "Away")

    return Scenario("Rota", steps, check, beside=("Away",))


POLLER = rota(program(("a", "poll", 0, 3)), done=[f"tick {n}" for n in range(4)])
SENT = ("sent", "now", "soon", "once")
SENDING = {
    "to itself": rota(program(("a", "send", "a")), done=SENT),
    "to another instance": rota(program(("a", "send", "b")), done=SENT),
    "to another agent": with_away(
        program(("a", "send_away"), agents=BOTH),
        program(agents=BOTH),
        done=("sent",),
        there=SENT[1:],
    ),
}
