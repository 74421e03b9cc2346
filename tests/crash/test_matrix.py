"""The program dies at every change of its disk, in every life; the next one makes it good.

What "good" is stands in mortal_world.py: nothing that anybody heard of is lost, no call whose
result was delivered is made again, keys, numbers and random parts never name two things, each event
ends once, its state counts once, each audit line stands once and in order, set-aside and journal
agree, and nothing of a dead program acts. Seeds are few and change from point to point; no point is
left out.
"""

from __future__ import annotations

import asyncio
import copy
import gc
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from matrix import Scenario, Tally, die_everywhere, die_twice
from mortal import Life, State
from mortal_agents import (
    AFTER_A_STOP,
    BRANCHES,
    CAREFUL,
    COMPACTS,
    COMPACTS_ONCE,
    DROP,
    EVERYTHING,
    NOT_DROPPED_AGAIN,
    NOT_TRIED_AGAIN,
    ONE_REFUND,
    REFUND,
    REQUEUE,
    REQUEUE_FRESH,
    REWRITE,
    SET_ASIDE,
    STATE,
    Bot,
    LivingDeeds,
    begin_of,
)
from mortal_world import read
from reading_raw import Seen

from agentctl import bind
from agentctl.engines.port import InvokeRequest
from agentctl.storage.faulty import Fault

FRESH = "a new folder"
ASIDE = "one event set aside, stopped"
FULL = "ended, set aside, asleep, a state; killed"


@pytest.fixture(scope="module")
def begins():
    return {
        FRESH: State.fresh(),
        ASIDE: begin_of(SET_ASIDE),
        FULL: begin_of(EVERYTHING),
    }


def kinds(tally: Tally) -> set[str]:
    return {entry.split(" /")[0] for entry in tally.log}


def renames(log: Sequence[str]) -> int:
    return sum(entry.startswith("rename /memory/agents/Bot/journal") for entry in log)


def test_a_refund_survives_a_death_at_every_change(begins):
    tally = die_everywhere(REFUND, begins[FRESH])
    assert tally.points > 30
    assert kinds(tally) >= {"write", "sync", "sync folder", "rename", "create", "make folder"}


def test_branches_timeouts_and_sleeps_survive_a_death_at_every_change(begins):
    assert die_everywhere(BRANCHES, begins[FRESH]).points > 40


def test_a_state_counts_each_event_once_after_a_death_at_every_change(begins):
    assert die_everywhere(STATE, begins[FRESH]).points > 30


def test_a_blocking_call_that_isnt_repeated_never_is_after_a_death_at_every_change(begins):
    assert die_everywhere(CAREFUL, begins[FRESH]).points > 25


def test_setting_aside_survives_a_death_at_every_change(begins):
    tally = die_everywhere(SET_ASIDE, begins[FRESH])
    assert any("/set-aside.new" in entry for entry in tally.log)


@pytest.mark.parametrize(
    ("scenario", "begin"),
    [
        pytest.param(REQUEUE, ASIDE, id="requeue after a kill"),
        pytest.param(AFTER_A_STOP, ASIDE, id="requeue after a stop"),
        pytest.param(NOT_TRIED_AGAIN, ASIDE, id="requeue that nobody tries again"),
        pytest.param(REQUEUE_FRESH, ASIDE, id="requeue fresh"),
        pytest.param(DROP, ASIDE, id="drop"),
        pytest.param(NOT_DROPPED_AGAIN, ASIDE, id="drop that nobody tries again"),
    ],
)
def test_putting_back_survives_a_death_at_every_change(begins, scenario, begin):
    # A batch is cut off within a line, and between two of its lines.
    tally = die_everywhere(scenario, begins[begin], seeds=2, keeps=(0, 17, 150, 300))
    assert any(entry.startswith("unlink") for entry in tally.log), "set-aside never went"


def test_the_rewrite_at_a_start_survives_a_death_at_every_change(begins):
    seen = Seen(read(begins[FULL].disk, "Bot", "journal"))
    kept = {next(iter(record)) for record in seen.records}
    assert kept >= {"event", "aside", "state", "parked", "done"}, "the journal lacks a kind"
    tally = die_everywhere(REWRITE, begins[FULL], seeds=2)
    assert any(entry.startswith("rename") for entry in tally.log)


def test_a_compaction_while_running_survives_a_death_at_every_change(begins):
    tally = die_everywhere(COMPACTS, begins[FRESH])
    assert renames(tally.log) > 3, "it hardly ever wrote its journal anew while it ran"


def test_a_compaction_while_running_survives_two_deaths(begins):
    undisturbed, _ = COMPACTS_ONCE.live(begins[FRESH])
    assert renames(undisturbed.disk.log) == 2, "its start's, and one while it ran"
    assert die_twice(COMPACTS_ONCE, begins[FRESH], lives=1).runs > 1000


def test_a_refund_survives_two_deaths_at_every_two_changes(begins):
    assert die_twice(ONE_REFUND, begins[FRESH]).runs > 1000


@pytest.mark.parametrize(
    ("scenario", "begin"),
    [
        pytest.param(NOT_TRIED_AGAIN, ASIDE, id="requeue"),
        pytest.param(NOT_DROPPED_AGAIN, ASIDE, id="drop"),
    ],
)
def test_putting_back_survives_a_second_death_in_the_start_after_it(begins, scenario, begin):
    assert die_twice(scenario, begins[begin], lives=1).runs > 200


def test_setting_aside_survives_a_second_death_in_the_start_after_it(begins):
    # The life in which the event is moved, from where the one before it died.
    *_, last = SET_ASIDE.lives(begins[FRESH])
    assert die_twice(SET_ASIDE, last, seeds=1).runs > 500


# -- that the matrix itself sees what it is made to see


def test_a_dead_programs_finally_reaches_nothing(begins):
    """`branches` has a call in a `finally`: die while its branches wait, and collect it."""
    worlds = []
    counted, _ = BRANCHES.live(begins[FRESH])
    for at in range(1, counted.disk.changes + 1):
        world = BRANCHES.live(begins[FRESH], Fault(at, "die"))[0].world
        if "Bot-1-1.1" in world.made and "Bot-1-4" not in world.made:
            worlds.append((world, copy.deepcopy(world.made)))
    assert worlds, "it never died between the branches and their clean-up"
    gc.collect()
    for world, made in worlds:
        assert world.made == made
        assert not world.broken


def test_the_world_notices_a_call_of_a_dead_program(begins):
    class Ghost(LivingDeeds):
        async def do(self, what: str, heard: list[str]) -> str:
            self._life.disk.dead = True
            return await super().do(what, heard)

    async def step(life: Life) -> None:
        host = await life.start(bind(Bot, deeds=Ghost(life)))
        await host.submit(InvokeRequest("Bot", (), "refund", [7]))
        await asyncio.sleep(0.2)

    life, _ = Scenario("Bot", (step,), lambda world, disk: None).live(begins[FRESH])
    assert life.world.broken == ["the dead program made the call Bot-1-1"]


def test_a_death_stops_the_loop_in_the_same_instant(begins):
    happened: list[str] = []

    async def step(life: Life) -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(happened.append, "before")
        loop.call_soon(life.die)
        loop.call_soon(happened.append, "after")
        try:
            await asyncio.sleep(10)
        finally:
            happened.append("finally")

    life, error = Scenario("Bot", (step,), lambda world, disk: None).live(begins[FRESH])
    assert happened == ["before", "finally"], "only the burial closes what waits"
    assert error is not None
    assert life.disk.dead


def test_an_undisturbed_program_keeps_every_promise(begins):
    world = ONE_REFUND.finish(begins[FRESH], "undisturbed")
    assert world.made.keys() == {"Bot-1-1", "Bot-1-2"}
    assert world.acknowledged == world.told == {1}
