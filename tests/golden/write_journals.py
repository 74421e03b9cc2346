"""Writes the golden journals of this version; run it once for each release, on Python 3.11:

    python -m tests.golden.write_journals

One file for each handler of tests/replay and each seed, whole, as a program left it that ran to
the end of the event. The tests cut it after every line, so that it stands for every death. Beside
them, those with schedules and those with steps, each with what is read of it. It overwrites
nothing: the journals of a released version are what every later one must replay. A part alone is
written into a folder of its name, until the version is released:
`python -m tests.golden.write_journals steps 0.2.0`.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import agentctl
from agentctl.storage.faulty import FaultyDisk
from agentctl.testing import FakeClock

from ..replay.bot import EVERY
from ..replay.program import live
from . import orders, rota, test_schedules, test_steps

JOURNALS = Path(__file__).parent / "journals"
SCHEDULES = Path(__file__).parent / "schedules"
STEPS = Path(__file__).parent / "steps"
SEEDS = 2


def write(folder: Path) -> int:
    folder.mkdir(parents=True)
    for handler in EVERY:
        for seed in range(SEEDS):
            disk = FaultyDisk()
            live(disk, handler, random.Random(seed), clock=FakeClock())
            journal = disk.disk.read_file(f"{disk.root}/agents/Bot/journal")
            (folder / f"{handler}-{seed}.journal").write_bytes(journal)
    return len(EVERY) * SEEDS


def write_seen(
    folder: Path, journals: Mapping[str, bytes], seen_in: Callable[[bytes], list[dict[str, Any]]]
) -> int:
    folder.mkdir(parents=True)
    for agent, journal in journals.items():
        (folder / f"{agent}.journal").write_bytes(journal)
        lines = ",\n".join(json.dumps(seen) for seen in seen_in(journal))
        (folder / f"{agent}.json").write_text(f"[{lines}]\n", encoding="utf-8")
    return len(journals)


if __name__ == "__main__":
    assert sys.version_info[:2] == (3, 11), "the oldest supported Python writes them"
    part, version = sys.argv[1:] or ("all", agentctl.__version__)
    count = write(JOURNALS / version) if part == "all" else 0
    if part in ("all", "schedules"):
        count += write_seen(SCHEDULES / version, rota.written(), test_schedules.seen_in)
    if part in ("all", "steps"):
        count += write_seen(STEPS / version, orders.written(), test_steps.seen_in)
    print(f"{count} journals of {version}")
