"""What is scheduled, and the program dies at every change of its disk (R18, R20, G10).

After the last life what ran and what is to come is as if nobody had died: each occurrence once,
none lost, the grid unmoved; through the running program, and without one.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from msgspec import Raw

sys.path.insert(0, str(Path(__file__).parent))
from matrix import Scenario, Tally, die_everywhere
from mortal import State
from mortal_schedules import (
    AGAIN,
    CHANGES,
    CRON,
    DELETIONS,
    DOWNTIME,
    FILE,
    HOUR_US,
    LATE,
    LOOK,
    MINDS,
    POLLER,
    QUEUE,
    RESULTS,
    SENDING,
)
from reading_raw import Seen

from agentctl import Agent, bind, handler
from agentctl.core.timing import Timing
from agentctl.engines.local.events.effects import SendRequest
from agentctl.testing import Durable
from agentctl.testing.clock import START_US

CUT = (150,)
BETWEEN_LINES = (0, 150)


class Noted(Agent):
    """It does nothing; what it was asked is on record."""

    @handler
    async def note(self) -> None:
        return None


LONG = {
    "to an agent that goes on alone",
    "of a schedule that was set aside",
    "of an event that was set aside",
    "risk, without a program",
}
"""Scenarios that take a minute: here every fourth change, of others that have a name every second.

`scripts/soak` dies at each of them.
"""


def die(scenario: Scenario, keeps: tuple[int, ...] = CUT, *, named: str = "") -> Tally:
    step = 4 if named in LONG else 2 if named else 1
    return die_everywhere(scenario, State.fresh(), seeds=1, keeps=keeps, step=step)


def test_the_long_scenarios_are_there():
    assert {*SENDING, *RESULTS, *AGAIN} >= LONG


def test_g10_the_next_tick_is_scheduled_once_after_a_death_at_every_change():
    assert die(POLLER, BETWEEN_LINES).points > 30


@pytest.mark.parametrize("scenario", SENDING)
def test_r18_what_is_sent_arrives_once_after_a_death_at_every_change(scenario):
    assert die(SENDING[scenario], named=scenario).points > 30


@pytest.mark.parametrize("whose", MINDS)
def test_r20_what_a_handler_cancels_never_runs_after_a_death_at_every_change(whose):
    assert die(MINDS[whose], BETWEEN_LINES, named=whose).points > 30


def test_r18_a_look_at_the_schedules_is_the_same_after_a_death_at_every_change():
    assert die(LOOK).points > 30


@pytest.mark.parametrize("missed", DOWNTIME)
def test_r18_each_due_time_is_answered_for_after_a_death_at_every_change(missed):
    assert die(DOWNTIME[missed], named=missed).points > 30


def test_r18_cron_is_answered_for_after_a_death_at_every_change():
    assert die(CRON).points > 30


def test_r18_what_queues_runs_one_after_another_after_a_death_at_every_change():
    assert die(QUEUE).points > 30


@pytest.mark.parametrize("where", CHANGES)
def test_r18_a_schedule_is_changed_once_after_a_death_at_every_change(where):
    keeps = (0, 250) if where == "live" else (250,)
    assert die(CHANGES[where], keeps, named=where).points > 30


def test_r18_what_the_file_says_is_so_after_a_death_at_every_change():
    assert die(FILE).points > 30


@pytest.mark.parametrize("where", DELETIONS)
def test_g5_the_schedules_of_a_deleted_instance_are_gone_after_a_death_at_every_change(where):
    assert die(DELETIONS[where], named=where).points > 30


def test_c10_what_is_too_late_is_missed_once_after_a_death_at_every_change():
    assert die(LATE).points > 20


@pytest.mark.parametrize("how", AGAIN)
def test_r10_an_occurrence_is_put_back_as_it_was_after_a_death_at_every_change(how):
    assert die(AGAIN[how], (0,), named=how).points > 30


@pytest.mark.parametrize("how", RESULTS)
def test_r18_an_outcome_is_waited_for_over_a_death_at_every_change(how):
    assert die(RESULTS[how], (0,), named=how).points > 30


def test_r18_the_same_set_by_two_calls_isnt_set_again_once_it_has_fired():
    """The second call set nothing; asked again, since nobody heard the answer, it still doesn't."""
    durable = Durable()
    timing = Timing("once", START_US + HOUR_US)

    async def life() -> None:
        async with durable.host(bind(Noted), jumps=False) as host:
            sends = [
                SendRequest("Noted", (), "note", Raw(b"[]"), timing, id=f"call-{n}")
                for n in range(2)
            ]
            first = [await host.engine.answering.send(one) for one in sends]
            durable.clock.advance(3601)
            await host.idle()
            assert [await host.engine.answering.send(one) for one in sends] == first
            await host.idle()

    asyncio.run(life())
    accepted = [one for one in Seen(durable.journals["Noted"]).records if "event" in one]
    assert len(accepted) == 1
