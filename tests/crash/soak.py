"""Kill real programs many times: `python soak.py KILLS FOLDERS`; what `scripts/soak` runs."""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from killing import PLACES, Rounds


def soak(kills: int, folders: int, seed: int) -> Counter[str]:
    fell: Counter[str] = Counter()
    begun_s = time.monotonic()
    for turn in range(folders):
        share = kills // folders + (turn < kills % folders)
        folder = Path(tempfile.mkdtemp(prefix="agentctl-soak-"))
        rounds = Rounds(folder, seed + turn)
        try:
            while rounds.kills < share:
                rounds.kill_one()
            rounds.finish()
        finally:
            rounds.close()
        print(f"{rounds.told()} ({time.monotonic() - begun_s:.0f} s)", flush=True)
        try:
            rounds.check()
        except AssertionError:
            print(f"a promise was broken; what is left stands in {folder}", flush=True)
            raise
        shutil.rmtree(folder)
        fell += rounds.fell
    return fell


def main() -> None:
    kills, folders = int(sys.argv[1]), int(sys.argv[2])
    seed = int(os.environ.get("SOAK_SEED") or random.SystemRandom().randrange(1 << 30))
    print(f"{kills} kills in {folders} folders, seeds from {seed} on", flush=True)
    fell = soak(kills, folders, seed)
    print("in all: " + ", ".join(f"{place.replace('_', ' ')} {fell[place]}" for place in PLACES))


if __name__ == "__main__":
    main()
