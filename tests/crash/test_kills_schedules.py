"""Real programs that begin things by the clock, killed at random moments: each once (G10, R18)."""

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

PROGRAM = Path(__file__).with_name("rota_program.py")
KILLS = int(os.environ.get("AGENTCTL_SCHEDULE_KILLS", "16"))
LONGEST_S = 0.25
PROGRAMS = ("Front", "Desk")


def done(folder: Path) -> dict[str, set[str]]:
    """What was done, and under which keys."""
    keys: dict[str, set[str]] = {}
    for key, what in words_of(folder / "ledger"):
        keys.setdefault(what, set()).add(key)
    return keys


def check(folder: Path) -> tuple[int, int]:
    """Each tick followed the one before, each order was carried out: once, none is lost."""
    keys = done(folder)
    assert all(len(one) == 1 for one in keys.values()), f"done twice: {keys}"
    ticks = {int(what[5:]) for what in keys if what.startswith("tick-")}
    assert ticks == set(range(len(ticks))), "a tick is lost"
    orders = [one["value"][4:] for one in records(folder, "Front") if "done" in one]
    assert len(orders) == len(set(orders))
    expected = {f"{how}-{order}" for order in orders for how in ("now", "soon", "named")}
    assert {what for what in keys if not what.startswith("tick-")} == expected
    for agent in ("Front", "Poller", "Desk"):
        accepted = audit(folder, agent, "accepted")
        assert set(accepted.values()) == {1}
        assert audit(folder, agent, "completed") == accepted, f"{agent} ended more or less"
        assert not Seen(journal(folder, agent)).schedules, f"{agent} still has something to come"
    state = [one["state"] for one in records(folder, "Poller") if "state" in one][-1]
    assert state["ticks"] == len(ticks), "the state counts other ticks"
    return len(ticks), len(orders)


def journal(folder: Path, agent: str) -> bytes:
    return (folder / f"agents/{agent}/journal").read_bytes()


def records(folder: Path, agent: str) -> list[dict]:
    return Seen(journal(folder, agent)).records


def audit(folder: Path, agent: str, verb: str) -> Counter[int]:
    lines = audit_of((folder / f"agents/{agent}/audit.log").read_bytes())
    return Counter(event for _, said, event in lines if said == verb)


@pytest.mark.timeout(200 + 5 * KILLS)
def test_g10_g15_what_two_killed_programs_begin_by_the_clock_is_done_once(tmp_path):
    chance = random.Random(10)
    pair = Pair(tmp_path, PROGRAM)
    try:
        for agent in PROGRAMS:
            pair.start(agent)
        for _ in range(KILLS):
            agent = chance.choice(PROGRAMS)
            if chance.random() < 0.7:
                pair.until_ready(agent)
            time.sleep(chance.uniform(0.0, LONGEST_S))
            pair.kill(agent)
            if chance.random() < 0.3:  # for a while nobody runs it
                time.sleep(chance.uniform(0.0, LONGEST_S))
            pair.start(agent)
        (tmp_path / "enough").touch()
        for agent in PROGRAMS:
            assert pair.running[agent].wait(60) == 0, pair.stderr
    finally:
        pair.close()
    ticks, orders = check(tmp_path)
    assert min(ticks, orders) >= KILLS // 3
