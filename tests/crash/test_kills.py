"""A hundred real `kill -9` at random moments, with sixteen events in flight."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from killing import PLACES, Rounds

KILLS = 100
AT_MOST = 200
COMPACTING = 20


@pytest.mark.timeout(240)
def test_a_hundred_kills_lose_nothing_and_do_nothing_twice(tmp_path, capsys):
    rounds = Rounds(tmp_path, random.SystemRandom().randrange(1 << 30))
    try:
        # More than a hundred only where a place was hit less than twice.
        while rounds.kills < KILLS or (
            min(rounds.fell[place] for place in PLACES) < 2 and rounds.kills < AT_MOST
        ):
            rounds.kill_one()
        rounds.finish()
    finally:
        rounds.close()
    with capsys.disabled():
        print(f"\n{rounds.told()}")
    assert all(rounds.fell[place] >= 2 for place in PLACES), rounds.told()
    rounds.check()


@pytest.mark.timeout(120)
def test_kills_while_the_journal_is_written_anew_lose_nothing(tmp_path, capsys):
    rounds = Rounds(tmp_path, random.SystemRandom().randrange(1 << 30), "short")
    try:
        while rounds.fell["compacting"] < COMPACTING and rounds.kills < AT_MOST:
            rounds.kill_one()
        rounds.finish()
    finally:
        rounds.close()
    with capsys.disabled():
        print(f"\n{rounds.told()}, compacting {rounds.fell['compacting']}")
    assert rounds.fell["compacting"] >= COMPACTING, rounds.told()
    rounds.check()
