"""What holds in the end of what the rota of the crash matrix did by the clock (R18).

Read from the marks in the world, the journal and the audit log: what ran for which due time, what
is on record as skipped, what is scheduled.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from mortal_rota import HOUR_S, START
from mortal_world import World, read
from reading_raw import Seen

from agentctl.storage.memory import MemoryDisk
from agentctl.testing.clock import START_US

MARK = re.compile(r"(.*?)(?: @(\d+)\+(\d+))?")
SKIP = re.compile(r"(?:missed|skipped): (\d+) due times? of schedule (\S+) from (\S+) on \(")


def marks(world: World) -> list[tuple[str, int | None, int]]:
    """What was left in the world: what, for which due time, and for how many missed ones."""
    found = []
    for times in world.made.values():
        fn, given = ast.literal_eval(times[0])
        if fn in ("mark", "do"):
            matched = MARK.fullmatch(given[0])
            assert matched is not None
            due = None if matched[2] is None else int(matched[2])
            found.append((matched[1], due, int(matched[3] or 0)))
    return found


def schedules(disk: MemoryDisk, agent: str = "Rota") -> dict[str, int]:
    """When each schedule that is set is due next, in seconds; negative while it is paused."""
    live = Seen.of(read(disk, agent, "journal")).schedules
    return {
        "/".join(of): round((one["due"] - START_US) / 1e6) * (-1 if one.get("paused") else 1)
        for of, one in live.items()
    }


def skipped(disk: MemoryDisk, name: str, agent: str = "Rota") -> list[int]:
    """The hourly due times that are on record as skipped, in seconds."""
    found = []
    for line in read(disk, agent, "audit.log").decode().splitlines():
        matched = SKIP.search(line)
        if matched is not None and matched[2] == name:
            first = (datetime.fromisoformat(matched[3]) - START).total_seconds()
            found += [round(first) + HOUR_S * n for n in range(int(matched[1]))]
    return found


def check_marks(world: World, *expected: str) -> None:
    """Apart from what recurs, just this was done, each once."""
    found = Counter(what for what, _, _ in marks(world) if what != "hourly")
    if found != Counter(expected):
        world.breaks(f"done was {found}, and not {Counter(expected)}")


def check_hourly(
    world: World,
    disk: MemoryDisk,
    hours: Sequence[int],
    *,
    missed: str = "coalesce",
    beside: int = 0,
) -> None:
    """Each of these hours was answered for once: by a run, or on record as skipped.

    Args:
        beside: so many more ran beside the grid.
    """
    answered = skipped(disk, "hourly")
    if answered and missed == "coalesce":
        world.breaks(f"skipped were {answered}")
    for what, due, stands_for in marks(world):
        if what == "hourly":
            assert due is not None
            if due % HOUR_S:
                beside -= 1
                continue
            answered += [due - HOUR_S * n for n in range(max(1, stands_for))]
            if stands_for and missed != "coalesce":
                world.breaks(f"the run of {due} stands for {stands_for}")
    if beside:
        world.breaks(f"{beside} runs beside the grid are missing")
    if sorted(answered) != [HOUR_S * hour for hour in hours]:
        world.breaks(f"answered for were {sorted(answered)}, and due the hours {hours}")


def check_schedules(
    world: World, disk: MemoryDisk, expected: dict[str, int], agent: str = "Rota"
) -> None:
    """Just this is scheduled, with these next due times."""
    if schedules(disk, agent) != expected:
        world.breaks(f"scheduled is {schedules(disk, agent)}, and not {expected}")


def check_queue(world: World) -> None:
    """Of what queues one ended before the next began, and in the order of the due times."""
    seen = [(what, due) for what, due, _ in marks(world) if what in ("begin", "end")]
    dues = sorted(due for what, due in seen if what == "begin" and due is not None)
    if seen != [(what, due) for due in dues for what in ("begin", "end")]:
        world.breaks(f"in the queue {seen} was done")
