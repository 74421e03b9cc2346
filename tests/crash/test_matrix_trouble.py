"""The disk fails at every change: the program stops there, says so, and nothing told is lost.

Held for each kind of failure and each scenario: every caller that waits gets `DiskTrouble`, not a
byte more is written, and with a healthy disk the next start makes it good.
"""

from __future__ import annotations

import errno
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from matrix import fail_everywhere
from mortal import State
from mortal_agents import (
    AFTER_A_STOP,
    BRANCHES,
    CAREFUL,
    COMPACTS,
    DROP,
    REFUND,
    REQUEUE_FRESH,
    SET_ASIDE,
    STATE,
    begin_of,
)

from agentctl.storage.faulty import Fault

FAILURES = {
    "full": lambda at: Fault(at, "fail", errno.ENOSPC, lasts=True),
    "full for a moment, after a part": lambda at: Fault(at, "fail", errno.ENOSPC, keep=7),
    "broken": lambda at: Fault(at, "fail", errno.EIO),
    "read-only": lambda at: Fault(at, "fail", errno.EROFS, lasts=True),
}
SCENARIOS = {
    "refund": REFUND,
    "branches": BRANCHES,
    "state": STATE,
    "careful": CAREFUL,
    "set-aside": SET_ASIDE,
    "compacts": COMPACTS,
}
PUT_BACK = {"requeue": AFTER_A_STOP, "requeue fresh": REQUEUE_FRESH, "drop": DROP}


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_k9_a_disk_that_fails_at_any_change_stops_the_program_and_costs_nothing(scenario, failure):
    assert fail_everywhere(SCENARIOS[scenario], State.fresh(), FAILURES[failure]).points > 25


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("scenario", PUT_BACK)
def test_k9_a_disk_that_fails_as_events_are_put_back_costs_nothing(scenario, failure):
    begin = begin_of(SET_ASIDE)
    assert fail_everywhere(PUT_BACK[scenario], begin, FAILURES[failure]).points > 25


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_short_write_at_any_change_is_continued(scenario):
    short = fail_everywhere(
        SCENARIOS[scenario], State.fresh(), lambda at: Fault(at, "short", keep=9)
    )
    assert short.points > 25
