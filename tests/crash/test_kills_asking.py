"""Two real programs over real sockets, either killed at random moments: one answer each (G15)."""

from __future__ import annotations

import os
import random
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from killing import Pair, words_of
from reading_raw import Seen, audit_of

PROGRAM = Path(__file__).with_name("ask_program.py")
KILLS = int(os.environ.get("AGENTCTL_ASKING_KILLS", "30"))
LONGEST_S = 0.25
AGENTS = ("Front", "Desk")


def records(folder: Path, agent: str) -> list[dict]:
    return Seen((folder / f"agents/{agent}/journal").read_bytes()).records


def audit(folder: Path, agent: str, verb: str) -> Counter[int]:
    lines = audit_of((folder / f"agents/{agent}/audit.log").read_bytes())
    return Counter(event for _, said, event in lines if said == verb)


def check(folder: Path) -> int:
    """Every question was answered once, by what was done once, and its asker has that answer."""
    given, got = (
        [tuple(one["value"]) for one in records(folder, agent) if "done" in one]
        for agent in ("Desk", "Front")
    )
    assert sorted(given) == sorted(got), "what was answered isn't what the askers had"
    assert len({order for order, _ in got}) == len(got), "an order was answered twice"
    for agent in AGENTS:
        accepted = audit(folder, agent, "accepted")
        assert set(accepted.values()) == {1}
        assert audit(folder, agent, "completed") == accepted, f"{agent} ended more or less"
    keys: dict[str, str] = {}
    for key, what in words_of(folder / "ledger"):
        assert keys.setdefault(key, what) == what, f"{key} stands for two calls"
    assert len(set(keys.values())) == len(keys), "one thing was done under two keys"
    open_asks = {one["told"] for one in records(folder, "Desk") if "told" in one}
    assert len(open_asks) <= len(got)
    return len(got)


@pytest.mark.timeout(200 + 5 * KILLS)
def test_g15_two_programs_that_are_killed_at_random_answer_each_question_once(tmp_path):
    chance = random.Random(15)
    pair = Pair(tmp_path, PROGRAM)
    try:
        for agent in AGENTS:
            pair.start(agent)
        for _ in range(KILLS):
            agent = chance.choice(AGENTS)
            if chance.random() < 0.7:
                pair.until_ready(agent)
            time.sleep(chance.uniform(0.0, LONGEST_S))
            pair.kill(agent)
            pair.start(agent)
        (tmp_path / "enough").touch()
        for agent in AGENTS:
            assert pair.running[agent].wait(60) == 0, pair.stderr
    finally:
        pair.close()
    assert check(tmp_path) >= KILLS // 3
