"""One agent asks another, and the program dies at every change of either journal (R16, G15).

In the end the asked handler ran once, the asker had exactly its answer, both ended, and the asked
side forgot; whether they run in one program, or nobody runs the asked one when it is asked.
"""

from __future__ import annotations

import errno
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from matrix import die_everywhere, fail_everywhere
from mortal import State
from mortal_asking import (
    ASIDE_MEANWHILE,
    ASK,
    ASK_IN_VAIN,
    FORGET,
    FORGOTTEN_THERE,
    GIVE_UP,
    IN_NO_PROGRAM,
    ONE_ASK,
)

from agentctl.storage.faulty import Fault

SCENARIOS = {
    "asks": ASK,
    "asks in vain": ASK_IN_VAIN,
    "forgets": FORGET,
    "is cancelled meanwhile": GIVE_UP,
    "asked one is set aside": ASIDE_MEANWHILE,
    "asked one runs nowhere": IN_NO_PROGRAM,
    "forgets what runs nowhere": FORGOTTEN_THERE,
}
FAILURES = {
    "full": lambda at: Fault(at, "fail", errno.ENOSPC, lasts=True),
    "broken": lambda at: Fault(at, "fail", errno.EIO),
}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_g15_an_answer_survives_a_death_at_every_change(scenario):
    tally = die_everywhere(SCENARIOS[scenario], State.fresh(), seeds=1, keeps=(0,))
    for agent in ("Front", "Desk"):
        assert sum(f"/agents/{agent}/journal" in entry for entry in tally.log) > 8


@pytest.mark.parametrize("failure", FAILURES)
def test_g15_a_disk_that_fails_while_one_asks_costs_nothing(failure):
    assert fail_everywhere(ONE_ASK, State.fresh(), FAILURES[failure]).points > 40


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_g15_a_folder_of_another_agent_that_fails_for_a_moment_costs_nothing(error):
    tally = fail_everywhere(
        IN_NO_PROGRAM,
        State.fresh(),
        lambda at: Fault(at, "fail", error),
        borne=("/agents/Desk", "sync folder /memory"),
    )
    assert tally.points > 40
