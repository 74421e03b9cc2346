"""The rows of the table about time: starts with much pending, lateness, idling, ticks."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

from tests.bench import due, measures
from tests.bench.rows import Row

SIZES = (1_000, 10_000, 100_000)
TICKS = (200, 2_000, 20_000)
AT_ONCE = 1_000
IDLE_S = 10.0
MIB = 1 << 20

PENDING = (
    "each record is checked, decoded, folded, written anew and put into the calendar, by code that "
    "the interpreter runs: about 10 µs for a schedule, a third more for an event, whose arguments "
    "are checked, too. What would help: not writing anew what would be as it is."
)
LATE = (
    "an occurrence costs about 300 µs of the interpreter's time, so that 1,000 a second keep a "
    "third of a processor busy, and who comes behind a batch waits for it. With other work on the "
    "machine each wait for a processor counts, too."
)
TICKING = (
    "a tick is an occurrence, a run of the handler, a call that sets the schedule anew, and an "
    "end: one sync, and everything else is the interpreter's time, a few microseconds in each of "
    "many places."
)


def due_rows(where: Path, runs: int) -> list[Row]:
    """All that is measured of time."""
    return [
        *start_rows(where, runs),
        *late_rows(where, runs),
        idle_row(where),
        *tick_rows(where, runs),
        *growth_rows(runs),
    ]


def start_rows(where: Path, runs: int) -> list[Row]:
    """Starts with much that is due later; what takes seconds is measured three times only."""
    rows = []
    for what in due.WRITERS:
        for number in SIZES:
            last = number == SIZES[-1]
            took = due.starts(where, what, number, min(runs, 3) if last else runs)
            one = sorted(took, key=lambda start: start.took)[len(took) // 2]
            rest = one.took - one.reading - one.rewriting - one.arming
            parts = (
                f" (reading {one.reading:.2f}, rewriting {one.rewriting:.2f}, arming "
                f"{one.arming:.2f}, the rest {rest:.2f})"
            )
            figure = f"{one.took:.2f} s{parts if last else ''}"
            reach, holds = ("≤ 1 s", one.took <= 1) if last else ("", True)
            rows.append(Row(f"start with {number:,} {what} pending", figure, reach, holds, PENDING))
    return rows


def late_rows(where: Path, runs: int) -> list[Row]:
    """Lateness where many are due within one second."""
    rows = []
    for what in due.WRITERS:
        each = [sorted(due.late_ms(where, what, AT_ONCE)) for _ in range(runs)]
        most = statistics.median(_share(late, 0.99) for late in each)
        middle = statistics.median(_share(late, 0.5) for late in each)
        figure = f"99 % within {most:.1f} ms, half within {middle:.2f} ms"
        title = f"lateness of {AT_ONCE:,} {what} due within one second"
        rows.append(Row(title, figure, "99 % within 5 ms", most <= 5, LATE))
    return rows


def _share(ordered: Sequence[float], share: float) -> float:
    return ordered[int(len(ordered) * share)]


def idle_row(where: Path) -> Row:
    """One run, which is long."""
    share = due.idle_cpu(where, SIZES[-1], IDLE_S)
    what = f"idle with {SIZES[-1]:,} schedules pending, over {IDLE_S:.0f} s"
    return Row(what, f"{share:.2%} of a processor", "< 0.5 %", share < 0.005)


def tick_rows(where: Path, runs: int) -> list[Row]:
    """An agent that schedules itself, tick after tick of a clock that jumps."""
    bare, files, memory, bare_of_all = [], [], [], []
    for _ in range(runs):
        bare.append(measures.bare_syncs(where))
        files.append(due.ticks_on_files(where, 2_000))
        memory.append(due.ticks_in_memory(4_000).rate)
        bare_of_all.append(due.ticks_in_memory(4_000, journal=False).rate)
    rate = statistics.median(one.rate for one in files)
    ratio = statistics.median(one.rate / b for one, b in zip(files, bare, strict=True))
    syncs = statistics.median(one.syncs for one in files)
    in_memory, without = statistics.median(memory), statistics.median(bare_of_all)
    what = "ticks of an agent that schedules itself"
    figure = f"{rate:,.0f}/s = {ratio:.2f} × bare, {syncs:.2f} syncs each"
    return [
        Row(f"{what}, on files", figure, "≥ 0.4 × bare", ratio >= 0.4, TICKING),
        Row(f"{what}, journal in memory", f"{in_memory:,.0f}/s", "", holds=True),
        Row(f"{what}, no journal", f"{without:,.0f}/s", "≥ 5,000/s", without >= 5_000, TICKING),
    ]


def growth_rows(runs: int) -> list[Row]:
    """What grows with the number of ticks that are over: neither journal nor start should."""
    rows = []
    for ticks in TICKS:
        longest, start_s = due.after_ticks(ticks, runs)
        figure = f"journal up to {longest / MIB:.2f} MiB, then a start in {start_s * 1000:.1f} ms"
        rows.append(Row(f"{ticks:,} ticks", figure, "< 2 MiB", longest < 2 * MIB))
    return rows
