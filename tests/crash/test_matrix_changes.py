"""Somebody changes events from outside, and the program dies at every change of its disk (R20, R8).

Cancel, retry, delete, requeue, drop, through the running program and without one; the same key and
the same request again after every crash. What was answered once is answered again, each is done
once, and a cancelled event never ends otherwise.
"""

from __future__ import annotations

import errno
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from matrix import Scenario, Tally, die_everywhere, fail_everywhere
from mortal import State
from mortal_agents import SET_ASIDE, begin_of
from mortal_changes import CANCEL, DELETE, ENDED, KEYS, LATER, LEFT, PUT_BACK, RETRY

from agentctl.storage.faulty import Fault

FAILURES = {
    "full": lambda at: Fault(at, "fail", errno.ENOSPC, lasts=True),
    "broken": lambda at: Fault(at, "fail", errno.EIO),
}


BETWEEN_LINES = (0, 150)


def die(
    scenario: Scenario, begin: State | None = None, keeps: tuple[int, ...] = BETWEEN_LINES
) -> Tally:
    return die_everywhere(scenario, begin or State.fresh(), seeds=1, keeps=keeps)


@pytest.fixture(scope="module")
def aside():
    return begin_of(SET_ASIDE)


@pytest.mark.parametrize("scenario", CANCEL)
def test_r20_a_cancellation_survives_a_death_at_every_change(scenario):
    assert die(CANCEL[scenario]).points > 30


@pytest.mark.parametrize("scenario", RETRY)
def test_r8_a_retry_survives_a_death_at_every_change(scenario):
    assert die(RETRY[scenario]).points > 30


@pytest.mark.parametrize("scenario", DELETE)
def test_deleting_an_instance_survives_a_death_at_every_change(scenario):
    assert die(DELETE[scenario]).points > 30


@pytest.mark.parametrize("scenario", ENDED)
def test_r20_what_never_ends_is_ended_once_after_a_death_at_every_change(scenario):
    assert die(ENDED[scenario]).points > 20


@pytest.mark.parametrize("scenario", PUT_BACK)
def test_r10_putting_back_under_one_id_survives_a_death_at_every_change(aside, scenario):
    assert die(PUT_BACK[scenario], aside, BETWEEN_LINES).points > 15


def test_g6_q13_one_key_is_one_event_after_a_death_at_every_change():
    assert die(KEYS).points > 40


def test_r1_an_event_left_under_one_id_is_one_event_after_a_death_at_every_change():
    assert die(LEFT).points > 30


def test_r18_what_is_to_begin_later_begins_once_after_a_death_at_every_change():
    assert die(LATER).points > 40


TROUBLED = {
    "cancel, live": CANCEL["asleep and queued, live"],
    "cancel what executes": CANCEL["executing, live"],
    "retry, live": RETRY["failed, live"],
    "delete, live": DELETE["live"],
    "keys": KEYS,
}


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("scenario", TROUBLED)
def test_k9_a_disk_that_fails_at_any_change_of_these_costs_nothing(scenario, failure):
    tally = fail_everywhere(TROUBLED[scenario], State.fresh(), FAILURES[failure])
    assert tally.points > 25


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("scenario", PUT_BACK)
def test_k9_a_disk_that_fails_while_events_are_put_back_costs_nothing(aside, scenario, failure):
    assert fail_everywhere(PUT_BACK[scenario], aside, FAILURES[failure]).points > 15
