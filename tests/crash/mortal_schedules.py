"""Scenarios of what is to come: sent, cancelled, recurring, missed, set aside, from the file (R18).

Held in the end, wherever the program died: each due time is answered for once, nothing ran twice
or is lost, the grid is where it was, and what is scheduled is as if nobody had died.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from matrix import Scenario
from mortal import Life
from mortal_changes import Ground, cold, live, requeue
from mortal_dues import check_hourly, check_marks, check_queue, check_schedules
from mortal_rota import (
    HOUR_S,
    QUICKLY_ASIDE,
    START_US,
    Act,
    Away,
    Rota,
    at,
    away,
    only_once,
    program,
)
from mortal_world import World, check_rest, read

from agentctl.core.timing import Timing
from agentctl.engines.changes import DeleteRequest, RequeueRequest
from agentctl.engines.schedules import FireRequest, PauseRequest, SetRequest, UnscheduleRequest
from agentctl.errors import NotFound
from agentctl.storage.memory import MemoryDisk

BOTH = (Rota, Away)
HOUR_US = 3_600_000_000


def rota(
    *steps: Act,
    done: Sequence[str] = (),
    hours: Sequence[int] = (),
    missed: str = "coalesce",
    beside: int = 0,
    scheduled: dict[str, int] | None = None,
    said: Sequence[str] = (),
    check: Callable[[World], None] | None = None,
) -> Scenario:
    """A scenario of `Rota` alone: what was done, which hours were answered for, what is to come.

    Args:
        said: what else the audit log says, each once.
    """

    def in_the_end(world: World, disk: MemoryDisk) -> None:
        check_rest(world, disk, "Rota")
        check_marks(world, *done)
        check_hourly(world, disk, hours, missed=missed, beside=beside)
        check_schedules(world, disk, scheduled or {})
        audit = read(disk, "Rota", "audit.log").decode()
        for line in said:
            if audit.count(line) != 1:
                world.breaks(f"{line!r} isn't said once: {audit}")
        if check is not None:
            check(world)

    return Scenario("Rota", steps, in_the_end)


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
MINDS = {
    "its own": rota(
        program(("a", "change_mind"), cancelling={"Rota": 2}),
        done=("cancelled already_cancelled cancelled already_cancelled",),
    ),
    "another agent's": with_away(
        program(("a", "change_mind_away"), agents=BOTH, cancelling={"Away": 1}),
        program(agents=BOTH),
        done=("cancelled already_cancelled cancelled already_cancelled",),
        there=(),
    ),
}
LOOK = rota(
    program(("a", "look"), to_s=1.5 * HOUR_S),
    program(),
    done=("first1", "second2", "second"),
)
DOWNTIME = {
    missed: rota(
        program(("a", "every", missed), to_s=1.5 * HOUR_S, killed=missed == "all"),
        away(4.25 * HOUR_S),
        program(to_s=5.5 * HOUR_S),
        done=("set",),
        hours=(1, 2, 3, 4, 5),
        missed=missed,
        scheduled={"a/hourly": 6 * HOUR_S},
    )
    for missed in ("coalesce", "skip", "all")
}
CRON = rota(
    program(("a", "cron"), to_s=1.5 * HOUR_S),
    away(3.25 * HOUR_S),
    program(to_s=4.5 * HOUR_S),
    done=("set",),
    hours=(1, 2, 3, 4),
    scheduled={"a/hourly": 5 * HOUR_S},
)
# -- from outside


def ask(ground: Ground, request: Any) -> Act:
    """Ask for one change until the answer is heard; asked again it is the same."""

    async def once(life: Life) -> None:
        if isinstance(request, SetRequest):
            if ground is live:
                answer = await life.host.engine.answering.schedule(request)
            else:
                life.world.found(life.seen("Rota"))
                answer = life.desk().schedule(Rota, request)
        else:
            try:
                answer = await ground(life, request)
            except NotFound:
                assert isinstance(request, DeleteRequest)  # it is gone, and nobody heard it
                return
        life.world.answered(request.id, str(answer))

    async def act(life: Life) -> None:
        if request.id not in life.world.answers:
            await once(life)
            await once(life)

    return act


def hourly(what: str, first: int, *, by_file: bool = False, every: int = 1) -> SetRequest:
    """Set `hourly` of the instance `a`."""
    timing = Timing("hourly", first * HOUR_US + START_US, every * HOUR_US, anchored=True)
    source = "file" if by_file else "shell"
    asked = "" if by_file else f"set {what}"
    return SetRequest("Rota", asked, "mark", timing, ("a",), (what,), source=source)


A = ("a",)
SET, REPLACE = hourly("never", 1), hourly("hourly", 1)
PAUSE = PauseRequest("Rota", "pause", "hourly", A)
RESUME = PauseRequest("Rota", "resume", "hourly", A, pause=False)
FIRE = FireRequest("Rota", "fire", "hourly", A)
CANCEL = UnscheduleRequest("Rota", "cancel", "hourly", A)
QUEUE = rota(
    program(("a", "queue"), to_s=2.25 * HOUR_S, killed=True),
    program(acts=[at(3.25 * HOUR_S, ask(live, CANCEL))]),
    done=("set", *["begin", "end"] * 3),
    check=check_queue,
)
CHANGED: dict[str, Any] = {
    "hours": (1, 2, 5, 6),
    "beside": 1,
    "said": ("schedule paused: hourly", "2 due times passed", "schedule cancelled: hourly"),
}
CHANGES = {
    "live": rota(
        program(
            acts=[
                ask(live, SET),
                ask(live, REPLACE),
                at(2.5 * HOUR_S, ask(live, PAUSE)),
                at(4.5 * HOUR_S, ask(live, RESUME)),
                at(4.6 * HOUR_S, ask(live, FIRE)),
                at(6.5 * HOUR_S, ask(live, CANCEL)),
            ],
        ),
        **CHANGED,
    ),
    "without a program": rota(
        ask(cold, SET),
        ask(cold, REPLACE),
        program(to_s=2.5 * HOUR_S),
        ask(cold, PAUSE),
        program(to_s=4.5 * HOUR_S),
        ask(cold, RESUME),
        away(4.6 * HOUR_S),
        ask(cold, FIRE),
        program(to_s=6.5 * HOUR_S),
        ask(cold, CANCEL),
        program(),
        **CHANGED,
    ),
}
FILE = rota(
    program(filed=[hourly("hourly", 1, by_file=True)], to_s=1.5 * HOUR_S),
    program(filed=[hourly("hourly", 1, by_file=True)], to_s=2.5 * HOUR_S),
    program(filed=[hourly("hourly", 3, by_file=True, every=2)], to_s=4.5 * HOUR_S),
    program(filed=[], to_s=6.5 * HOUR_S),
    program(filed=[]),
    hours=(1, 2, 3),
    said=("schedule cancelled: hourly",),
)


def forgetting(ground: Ground) -> Act:
    """Delete the instance `a`, whose only event so far is the first."""

    async def act(life: Life) -> None:
        life.world.deleted.add(1)
        await ask(ground, DeleteRequest("Rota", "delete", A))(life)

    return act


TWO = (("a", "every", "coalesce", "never"), ("b", "every", "coalesce"))
DELETED: dict[str, Any] = {
    "done": ("set", "set", "again"),
    "hours": (1, 2, 3),
    "scheduled": {"b/hourly": 4 * HOUR_S},
}
DELETIONS = {
    "live": rota(
        program(*TWO, acts=[forgetting(live)], to_s=2.5 * HOUR_S),
        program(("a", "mark", "again"), to_s=3.5 * HOUR_S),
        **DELETED,
    ),
    "without a program": rota(
        program(*TWO, to_s=0.5 * HOUR_S),
        forgetting(cold),
        program(("a", "mark", "again"), to_s=3.5 * HOUR_S),
        **DELETED,
    ),
}


async def may_miss(life: Life) -> None:
    """What is too late ends without having begun."""
    life.world.may_miss = True


LATE = rota(
    program(("a", "strictly"), acts=[may_miss], to_s=0.5 * HOUR_S),
    away(3 * HOUR_S),
    program(),
    done=("set",),
    said=("missed: event #2 of mark (due 2h", "missed: 1 due time of schedule once"),
)


def put_back(ground: Ground, name: str, **checked: Any) -> Scenario:
    """An occurrence kills its program until it is set aside; mended, it is put back."""
    acts = [requeue(ground)]
    return rota(
        program(("a", name), settings=QUICKLY_ASIDE, to_s=1.5 * HOUR_S),
        *(acts if ground is cold else ()),
        program(acts=acts if ground is live else (), to_s=1.75 * HOUR_S),
        done=("set", "before", "after"),
        **checked,
    )


AGAIN = {
    f"{name}, {where}": put_back(ground, name, scheduled=scheduled)
    for name, scheduled in (("risk", {"a/hourly": 2 * HOUR_S}), ("risk_once", {}))
    for where, ground in (("live", live), ("without a program", cold))
}


async def away_requeued(life: Life) -> None:
    """A person mends what kills the program, and puts back what of `Away` was set aside."""
    life.world.poisonous = False
    if life.seen("Away").asides:
        await life.host.carry_out(RequeueRequest("Away", "requeue away", every=True))


def left_there(*requests: Any, there: Sequence[str], **checked: Any) -> Scenario:
    """`Rota` sends to `Away`, which nobody runs until later."""
    return with_away(
        program(*requests, cancelling=checked.pop("cancelling", None)),
        program(agents=(Away,)),
        program(agents=BOTH),
        there=there,
        **checked,
    )


SENDING["to an agent that runs nowhere"] = left_there(
    ("a", "send_away"), done=("sent",), there=SENT[1:]
)
SENDING["to an agent that goes on alone"] = with_away(
    only_once(program(("a", "send_away"))),
    away(2 * HOUR_S),
    program(agents=(Away,)),
    program(("a", "send_away")),
    program(agents=BOTH),
    done=("sent",),
    there=SENT[1:],
)
MINDS["of an agent that runs nowhere"] = left_there(
    ("a", "change_mind_away"),
    done=("cancelled already_cancelled cancelled already_cancelled",),
    there=(),
    cancelling={"Away": 1},
)
RESULTS = {
    how: with_away(
        program(("a", "wait", name, "there"), agents=BOTH),
        program(agents=BOTH),
        done=("waited",),
        there=("there",),
    )
    for how, name in (("of an event", None), ("of a schedule", "once"))
}
RESULTS |= {
    f"{how} that was set aside": with_away(
        program(
            ("a", "wait", name, "deadly"), agents=BOTH, settings=QUICKLY_ASIDE, to_s=HOUR_S + 9
        ),
        program(agents=BOTH, acts=[away_requeued]),
        program(agents=BOTH),
        done=("waited",),
        there=("before", "after"),
    )
    for how, name in (("of an event", None), ("of a schedule", "once"))
}
