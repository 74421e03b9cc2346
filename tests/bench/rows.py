"""The rows of the table about programs that run: asked from outside, and by each other."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench import beside, measures

TIMES = 200
CLIENTS = 1_000
OPEN = 10_000
LOOKING = (
    "a third is start-up, a third is following the checksums of 40,000 lines, a third is counting. "
    "What would help: a count that a program leaves beside its journal."
)
NOISE = (
    "with other work on the machine the two processes wait for a processor at each of the three "
    "hand-overs; the quickest of all is the figure that the code can be held to."
)


@dataclass(frozen=True)
class Row:
    """One line of the table: what, the median, what it should reach, and whether it does.

    `why` says what stands in the way, where it doesn't.
    """

    what: str
    figure: str
    reach: str
    holds: bool
    why: str = "not looked into yet"


def beside_rows(where: Path, runs: int) -> list[Row]:
    """What a command costs beside a running program."""
    invoked = [one for _ in range(runs) for one in beside.invoke_ms(where, TIMES)]
    command = beside.command_ms(where, max(runs, 11))
    cancelled = [one for _ in range(runs) for one in beside.cancel_ms(where, TIMES)]
    return [
        Row(
            "`invoke` beside a running program, besides start-up",
            spread(invoked),
            "≤ 3 ms",
            statistics.median(invoked) <= 3,
            NOISE,
        ),
        Row("the whole command `agentctl invoke` beside it", above_bare(command), "", holds=True),
        Row("cancel of a queued event, besides start-up", spread(cancelled), "", holds=True),
        crowd_row(where, runs),
        *status_rows(where, runs),
    ]


def spread(times_ms: Sequence[float]) -> str:
    """Write how long something took: the median, and what one in a hundred exceeds."""
    ordered = sorted(times_ms)
    last = ordered[len(ordered) * 99 // 100]
    middle = statistics.median(ordered)
    return f"{middle:.2f} ms, 99 % within {last:.1f} ms, the quickest {ordered[0]:.2f} ms"


def above_bare(times_ms: Sequence[float]) -> str:
    return f"{statistics.median(times_ms):.0f} ms above the bare interpreter"


def crowd_row(where: Path, runs: int) -> Row:
    """Many clients at once, each with a key of its own."""
    crowds = [beside.crowd(where, CLIENTS) for _ in range(min(runs, 3))]
    lost, twice = sum(one.lost for one in crowds), sum(one.twice for one in crowds)
    took = statistics.median(one.seconds for one in crowds)
    return Row(
        f"{CLIENTS:,} clients at once, each invokes under its key and waits",
        f"{took:.2f} s, {lost} lost, {twice} twice",
        "0 lost, 0 twice",
        lost == twice == 0,
    )


def status_rows(where: Path, runs: int) -> list[Row]:
    """`status` with many open events."""
    without, with_one = beside.status_ms(where, OPEN, max(runs, 11))
    return [
        Row(
            f"`agentctl status` with {OPEN:,} open events, {how}",
            above_bare(times),
            "≤ 300 ms",
            statistics.median(times) <= 300,
            LOOKING,
        )
        for how, times in (("without a program", without), ("beside their program", with_one))
    ]


def asking_rows(where: Path, runs: int) -> list[Row]:
    """An ask of another agent, compared with a call of the same size."""
    ways: dict[str, Callable[[int, int], float]] = {
        "a call": lambda events, n: measures.calls_per_second(where, events, n)[0],
        "in one program": lambda events, n: beside.asks_per_second(where, events, n),
        "of another program": lambda events, n: beside.asks_between_programs(where, events, n),
    }
    rows = []
    for at_once, events in ((1, 40), (64, 320)):
        rates = [{k: way(events, at_once) for k, way in ways.items()} for _ in range(runs)]
        for name in list(ways)[1:]:
            rate = statistics.median(one[name] for one in rates)
            ratio = statistics.median(one["a call"] / one[name] for one in rates)
            what = f"asks {name}, {at_once} event{'s' if at_once > 1 else ''} at a time"
            figure = f"{rate:,.0f} asks/s; a call is {ratio:.1f} × as quick"
            rows.append(Row(what, figure, "", holds=True))
    return rows
