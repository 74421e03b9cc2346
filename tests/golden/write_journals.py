"""Writes the golden journals of this version; run it once for each release, on Python 3.11:

    python -m tests.golden.write_journals

One file for each handler of tests/replay and each seed, whole, as a program left it that ran to
the end of the event. The tests cut it after every line, so that it stands for every death. It
overwrites nothing: the journals of a released version are what every later one must replay.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import agentctl
from agentctl.storage.faulty import FaultyDisk
from agentctl.testing import FakeClock

from ..replay.bot import EVERY
from ..replay.program import live

JOURNALS = Path(__file__).parent / "journals"
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


if __name__ == "__main__":
    assert sys.version_info[:2] == (3, 11), "the oldest supported Python writes them"
    print(f"{write(JOURNALS / agentctl.__version__)} journals of {agentctl.__version__}")
