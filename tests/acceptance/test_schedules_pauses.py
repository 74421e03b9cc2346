"""A paused schedule: nothing fires, the pause outlives programs, and no burst follows it (R18)."""

from __future__ import annotations

import time

import pytest

from .rota import (
    audit_with,
    make_rota,
    named,
    on_one_grid,
    once_each,
    polls,
    quiet_for,
    run_rota,
    set_schedules,
    until_polled,
)
from .support import Project, Result

POLLER = 'Poller("p")'
BESIDE = pytest.mark.parametrize("beside", [True, False], ids=["beside", "alone"])


@pytest.fixture
def rota(project: Project) -> Project:
    return make_rota(project)


def schedule(project: Project, *words: str) -> Result:
    return project.agentctl("schedule", *words)


def paused(project: Project, instance: str = "Poller/p", name: str = "tick") -> bool:
    found = named(project, instance, name)
    assert found is not None, f"{instance} has no schedule {name}"
    return bool(found["paused"])


@BESIDE
def test_a_paused_schedule_fires_not_and_skips_what_passed_meanwhile(
    rota: Project, beside: bool
) -> None:
    program = run_rota(rota)
    schedule(rota, "set", POLLER, "poll", "x", "--name", "tick", "--every", "200ms").expect(0)
    until_polled(rota, 2, "p")
    if not beside:
        program.cut_power()
    schedule(rota, "pause", POLLER, "tick").expect(0)
    assert paused(rota)
    if not beside:
        program = run_rota(rota)
    time.sleep(0.3)
    before = len(once_each(polls(rota)))
    assert quiet_for(rota, 1.0), "it fired in its pause"
    if not beside:
        program.cut_power()
    schedule(rota, "unpause", POLLER, "tick").expect(0)
    assert not paused(rota)
    if not beside:
        run_rota(rota)
    until_polled(rota, before + 4, "p")
    done = once_each(polls(rota))
    assert on_one_grid(done, 200_000), "the grid moved, or an occurrence ran twice"
    if beside:
        assert [one.missed for one in done[before:]] == [0] * len(done[before:])
        assert len(done) < before + 20, "a burst"


def test_a_pause_outlives_a_kill_and_setting_it_again(rota: Project) -> None:
    program = run_rota(rota)
    words = ("set", POLLER, "poll", "x", "--name", "tick", "--every", "200ms")
    schedule(rota, *words).expect(0)
    schedule(rota, "pause", POLLER, "tick").expect(0)
    before = len(polls(rota))
    program.cut_power()
    assert paused(rota)
    run_rota(rota)
    schedule(rota, *words).expect(0)  # the same again changes nothing
    assert paused(rota)
    time.sleep(0.7)
    assert len(polls(rota)) == before


@BESIDE
def test_pausing_twice_is_no_error_and_nobody_s_schedule_is_unknown(
    rota: Project, beside: bool
) -> None:
    if beside:
        run_rota(rota)
    schedule(rota, "set", POLLER, "poll", "x", "--name", "tick", "--every", "1h").expect(0)
    for verb in ("pause", "pause"):
        schedule(rota, verb, POLLER, "tick").expect(0)
        assert paused(rota)
    for verb in ("unpause", "unpause"):
        schedule(rota, verb, POLLER, "tick").expect(0)
        assert not paused(rota)
    for verb in ("pause", "unpause"):
        schedule(rota, verb, POLLER, "tock").expect_error(3, "tick")
        schedule(rota, verb, "Poller/q", "tick").expect(3)


@BESIDE
def test_a_one_shot_whose_time_came_in_its_pause_runs_when_it_is_over(
    rota: Project, beside: bool
) -> None:
    if beside:
        run_rota(rota)
    schedule(rota, "set", POLLER, "poll", "x", "--name", "tick", "--in", "2s").expect(0)
    schedule(rota, "pause", POLLER, "tick").expect(0)
    time.sleep(2.1)
    if not beside:
        run_rota(rota)
    assert quiet_for(rota, 0.5), "it ran in its pause"
    schedule(rota, "unpause", POLLER, "tick").expect(0)
    until_polled(rota, 1, "p")
    assert quiet_for(rota, 0.3)
    assert len(polls(rota)) == 1


def test_a_paused_schedule_can_be_triggered_and_cancelled(rota: Project) -> None:
    run_rota(rota)
    schedule(rota, "set", POLLER, "poll", "x", "--name", "tick", "--every", "1h").expect(0)
    schedule(rota, "pause", POLLER, "tick").expect(0)
    schedule(rota, "trigger", POLLER, "tick").expect(0)
    until_polled(rota, 1, "p")
    assert paused(rota)
    schedule(rota, "cancel", POLLER, "tick").expect(0)
    assert named(rota, "Poller/p", "tick") is None
    assert len(audit_with(rota, "schedule cancelled")) == 1


def test_a_pause_of_one_holds_up_no_other(rota: Project) -> None:
    run_rota(rota)
    for instance in ("p", "q"):
        words = ("set", f"Poller/{instance}", "poll", "x", "--name", "tick", "--every", "300ms")
        schedule(rota, *words).expect(0)
    schedule(rota, "pause", POLLER, "tick").expect(0)
    before = len(polls(rota, "p"))
    until_polled(rota, 3, "q")
    assert len(polls(rota, "p")) == before


FILE = """
[schedules.tick]
agent = "Poller"
instances = ["p"]
handler = "poll"
args = ["file"]
every = "200ms"
"""


def test_a_pause_of_the_file_s_schedule_outlives_programs_too(rota: Project) -> None:
    set_schedules(rota, FILE)
    program = run_rota(rota)
    until_polled(rota, 1, "p")
    refused = schedule(rota, "cancel", POLLER, "tick").expect_error(4, "kavach.toml", "pause")
    assert "hint" in refused.err
    schedule(rota, "pause", POLLER, "tick").expect(0)
    before = len(polls(rota))
    program.cut_power()
    run_rota(rota)
    assert paused(rota)
    time.sleep(0.7)
    assert len(polls(rota)) <= before + 1
    settled = len(polls(rota))
    assert quiet_for(rota, 0.5)
    assert len(polls(rota)) == settled
