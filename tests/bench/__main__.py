"""`scripts/bench`: measures everything, prints one table, writes docs/benchmarks.md.

Each figure is the median of five runs, interleaved with the bare rate of append + `fdatasync`,
to which it is a ratio: machines are shared, and disks have slow phases.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

from agentctl import __version__
from tests.bench import measures
from tests.bench.due_rows import due_rows
from tests.bench.rows import Row, asking_rows, beside_rows
from tests.bench.steps import step_rows

ALONE = (
    "a call costs one sync and about 60 µs of the interpreter's time. Between two syncs the "
    "processor was idle and comes back cold, so that the same code takes two to three times as "
    "long as without syncs. What would help: less code for a call (a task, two records, a turn of "
    "the handler's loop), or a journal whose blocks are written in advance."
)
AT_ONCE = (
    "the interpreter is the limit, at about 50 to 60 µs a call; syncs take less than a tenth. On "
    "a shared machine the figure moves by a third from one minute to the next."
)
START_UP = (
    "typer alone takes about 25 ms, finding and reading the project about 15. The figure moves "
    "by ten milliseconds with the machine's load."
)
PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"


def median_of(runs: int, measure: Callable[[], float]) -> float:
    return statistics.median(measure() for _ in range(runs))


def speed_rows(where: Path, runs: int) -> list[Row]:
    bare: list[float] = []
    alone: list[float] = []
    many: list[tuple[float, float]] = []
    crowd: list[float] = []
    for _ in range(runs):
        bare.append(measures.bare_syncs(where))
        alone.append(measures.calls_per_second(where, 400, 1)[0])
        many.append(measures.calls_per_second(where, 4000, 64))
        crowd.append(measures.calls_per_second(where, 4000, 1024)[0])
    base = statistics.median(bare)
    one = statistics.median(alone)
    at_64 = statistics.median(rate for rate, _ in many)
    syncs = statistics.median(each for _, each in many)
    at_1024 = statistics.median(crowd)
    ratio = statistics.median(a / b for a, b in zip(alone, bare, strict=True))
    return [
        Row("bare append of 200 bytes + `fdatasync`", f"{base:,.0f}/s", "", holds=True),
        Row(
            "one event at a time, 10 calls each",
            f"{one:,.0f} calls/s = {ratio:.2f} × bare",
            "≥ 0.6 × bare",
            ratio >= 0.6,
            ALONE,
        ),
        Row(
            "64 events at once, 10 calls each",
            f"{at_64:,.0f} calls/s",
            "≥ 15,000 calls/s",
            at_64 >= 15_000,
            AT_ONCE,
        ),
        Row("`fdatasync`s a call at 64 at once", f"{syncs:.3f}", "≤ 0.08", syncs <= 0.08),
        Row("1,024 events at once", f"{at_1024:,.0f} calls/s", "", holds=True),
    ]


def recovery_rows(where: Path, runs: int) -> list[Row]:
    rows = []
    for events in (100, 1_000, 10_000):
        took = median_of(runs, lambda n=events: measures.recovery_seconds(where, n))  # type: ignore[misc]
        last = events == 10_000
        rows.append(
            Row(
                f"recovery of {events:,} unfinished events of 10 recorded calls",
                f"{took:.2f} s",
                "≤ 5 s" if last else "",
                took <= 5 or not last,
            )
        )
    return rows


def start_up_rows(where: Path, runs: int) -> list[Row]:
    rows = []
    commands = {
        "`agentctl --help`": ("-m", "agentctl", "--help"),
        "`agentctl inspect journal`": ("-m", "agentctl", "inspect", "journal"),
        "`agentctl invoke --help`": ("-m", "agentctl", "invoke", "--help"),
    }
    with measures.folder(where) as root:
        (root / "kavach.toml").write_text("[project]\n")
        measures.write_unfinished(root, 10)
        for name, command in commands.items():
            pairs = [
                (measures.start_up_ms(root, "-c", "pass"), measures.start_up_ms(root, *command))
                for _ in range(max(runs, 11))
            ]
            above = statistics.median(whole - bare for bare, whole in pairs)
            figure = f"{above:.0f} ms above the bare interpreter"
            rows.append(Row(name, figure, "≤ 100 ms", above <= 100, START_UP))
    return rows


def page(rows: list[Row]) -> str:
    machine = f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}"
    load = os.getloadavg()[1]
    lines = [
        "# Benchmarks",
        "",
        f"Measured on {datetime.date.today().isoformat()} by `scripts/bench`: {machine}, "
        f"Python {platform.python_version()}, agentctl {__version__}. Medians; the bare rate was "
        "measured in turn with the rates that are compared with it. On a machine that others use, "
        "too, one run differs from the next by up to a third: a figure near its bound may fall on "
        f"either side. While this was measured, {load:.1f} processes wanted to run, those of the "
        "measurement among them: with more of them than cores, times are those of waiting, too.",
        "",
        "| what | figure | to reach | |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {r.what} | {r.figure} | {r.reach} | {'' if r.holds else 'falls short'} |" for r in rows
    ]
    short = [f"- **{r.what}**: {r.why}" for r in rows if not r.holds]
    if short:
        lines += ["", "What falls short, and what stands in the way:", "", *short]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--where", type=Path, default=Path.cwd(), help="the folder to measure in")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    options = parser.parse_args()
    rows = [
        *speed_rows(options.where, options.runs),
        *recovery_rows(options.where, min(options.runs, 3)),
        *start_up_rows(options.where, options.runs),
        *beside_rows(options.where, options.runs),
        *asking_rows(options.where, options.runs),
        *due_rows(options.where, options.runs),
        *step_rows(options.where, options.runs),
    ]
    text = page(rows)
    sys.stdout.write(text)
    if options.write:
        PAGE.write_text(text)
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
