"""Steps, waits and workflows, and the program dies at every change of its disk (R20-R22, Q14).

In a backoff (Q8), between an attempt's failure and the next one, between two steps (Q9), between a
step's end and the next call; between an answer and what it answers; at both ends of a workflow;
while it is cancelled, undone, retried, set aside and put back. In the end each step was tried as
its policy says and has one end, and nothing that anybody heard of is lost or decided twice.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from matrix import Scenario, Tally, die_everywhere
from mortal import State
from mortal_plans import (
    ASIDE,
    CANCELS,
    COMPACTS,
    ENDS,
    INPUTS,
    RETRIES,
    STEPS,
    cancelled_after,
)

EVERY = {
    f"{what}: {name}": scenario
    for what, scenarios in {
        "steps": STEPS,
        "inputs": INPUTS,
        "ends": ENDS,
        "retries": RETRIES,
        "cancels": CANCELS,
        "aside": ASIDE,
    }.items()
    for name, scenario in scenarios.items()
}


def die(scenario: Scenario, step: int = 2) -> Tally:
    """Die at every so many-th change, in each life at others; `scripts/soak`: at each of them."""
    # A batch is cut off within a line, and between two of its lines.
    return die_everywhere(scenario, State.fresh(), seeds=1, keeps=(0, 150), step=step)


@pytest.mark.parametrize("what", STEPS)
def test_q8_q9_a_step_goes_on_where_it_was_after_a_death_at_every_change(what):
    assert die(STEPS[what], 1).points > 30


@pytest.mark.parametrize("what", INPUTS)
def test_r21_an_answer_is_taken_once_after_a_death_at_every_change(what):
    assert die(INPUTS[what]).points > 30


@pytest.mark.parametrize("what", ENDS)
def test_q14_a_workflow_runs_once_after_a_death_at_every_change(what):
    assert die(ENDS[what]).points > 40


@pytest.mark.parametrize("what", RETRIES)
def test_r8_a_retry_goes_on_at_the_failed_step_after_a_death_at_every_change(what):
    assert die(RETRIES[what]).points > 40


@pytest.mark.parametrize("what", CANCELS)
def test_r20_no_step_starts_once_it_is_cancelled_after_a_death_at_every_change(what):
    assert die(CANCELS[what]).points > 30


@pytest.mark.parametrize("what", ASIDE)
def test_r10_steps_under_way_are_put_back_as_they_stood_after_a_death_at_every_change(what):
    assert die(ASIDE[what], 5).points > 90


def test_r22_steps_that_wait_outlive_compactions_after_a_death_at_every_change():
    tally = die(COMPACTS, 4)
    assert sum(entry.startswith("rename /memory/agents/Shop/journal") for entry in tally.log) > 4


@pytest.mark.parametrize("name", EVERY)
def test_r2_a_program_that_dies_in_each_attempt_once_makes_it_good(name):
    begin = State.fresh()
    begin.world.dies_in_calls = True
    world = EVERY[name].finish(begin, name)
    assert len(world.died_in) > 1


def test_r20_a_workflow_is_cancelled_after_any_turn():
    reached = set()
    for turns in range(90):
        scenario = cancelled_after(turns % 45, later=turns >= 45)
        world = scenario.finish(State.fresh(), f"{turns} turns")
        reached.add(len(world.entered))
    assert reached >= {2, 3, 4, 5}, "it was never cancelled at another step"
