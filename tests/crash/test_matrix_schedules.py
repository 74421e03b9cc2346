"""What is scheduled, and the program dies at every change of its disk (R18, R20, G10).

After the last life what ran and what is to come is as if nobody had died: each occurrence once,
none lost, the grid unmoved; through the running program, and without one.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from matrix import Scenario, Tally, die_everywhere, die_twice
from mortal import State
from mortal_schedules import POLLER, SENDING

BETWEEN_LINES = (0, 150)


def die(scenario: Scenario) -> Tally:
    return die_everywhere(scenario, State.fresh(), seeds=1, keeps=BETWEEN_LINES)


def test_g10_the_next_tick_is_scheduled_once_after_a_death_at_every_change():
    assert die(POLLER).points > 30


@pytest.mark.parametrize("scenario", SENDING)
def test_r18_what_is_sent_arrives_once_after_a_death_at_every_change(scenario):
    assert die(SENDING[scenario]).points > 30
