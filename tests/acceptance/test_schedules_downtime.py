"""Programs that were killed or stopped for a while under a schedule, in real time (C1, C2, C10)."""

from __future__ import annotations

import signal
import time

import pytest

from .rota import (
    Deed,
    audit_with,
    counts_fit,
    each_in_one_event,
    make_rota,
    named,
    on_one_grid,
    once_each,
    polls,
    quiet_for,
    run_rota,
    said,
    schedules,
    until_polled,
)
from .support import Project, wait_until

POLLER = "Poller/p"
PERIOD_US = 300_000


@pytest.fixture
def rota(project: Project) -> Project:
    return make_rota(project)


def put(project: Project, *options: str, word: str = "x") -> None:
    words = ("set", POLLER, "poll", word, "--name", "tick", *options)
    project.agentctl("schedule", *words).expect(0)


def downtime(project: Project, missed: str, seconds: float) -> tuple[list[Deed], int]:
    """A schedule whose program is killed and away for so long; what ran, and how much before."""
    program = run_rota(project)
    # What comes while those that were missed still run waits for them, so that none is left out.
    waits = ("--overlap", "queue") if missed == "all" else ()
    put(project, "--every", "300ms", "--missed", missed, *waits)
    until_polled(project, 2)
    program.cut_power()
    before = len(polls(project))
    time.sleep(seconds)
    run_rota(project)
    until_polled(project, before + 3)
    return polls(project), before


def test_c2_coalesce_after_a_kill_is_one_run_that_counts_what_was_missed(rota: Project) -> None:
    deeds, _ = downtime(rota, "coalesce", 3.1)
    assert each_in_one_event(deeds)
    deeds = once_each(deeds)
    assert on_one_grid(deeds, PERIOD_US)
    assert counts_fit(deeds, PERIOD_US), f"a burst, or a count that doesn't fit: {deeds}"
    most = max(one.missed for one in deeds)
    assert most >= 9
    assert said(audit_with(rota, "missed"), most)


def test_c2_skip_after_a_kill_runs_none_of_them(rota: Project) -> None:
    deeds, before = downtime(rota, "skip", 2.1)
    assert each_in_one_event(deeds)
    deeds = once_each(deeds)
    assert on_one_grid(deeds, PERIOD_US)
    assert [one.missed for one in deeds] == [0] * len(deeds)
    gaps = [
        (two.due_us or 0) - (one.due_us or 0)
        for one, two in zip(deeds[before - 1 :], deeds[before:], strict=False)
    ]
    left_out = max(gaps) // PERIOD_US - 1
    assert left_out >= 6
    assert said(audit_with(rota, "missed"), left_out)


def test_c2_all_after_a_kill_runs_each_of_them(rota: Project) -> None:
    deeds, _ = downtime(rota, "all", 2.1)
    until_polled(rota, len(deeds) + 8)
    deeds = polls(rota)
    assert each_in_one_event(deeds)
    deeds = once_each(deeds)
    dues = [one.due_us or 0 for one in deeds]
    assert dues == list(range(dues[0], dues[-1] + PERIOD_US, PERIOD_US)), "one was left out"


def test_c2_what_a_graceful_stop_missed_is_missed_alike(rota: Project) -> None:
    program = run_rota(rota)
    put(rota, "--every", "300ms")
    until_polled(rota, 1)
    program.send(signal.SIGTERM)
    program.end().expect(0)
    before = len(polls(rota))
    time.sleep(1.6)
    run_rota(rota)
    until_polled(rota, before + 2)
    deeds = once_each(polls(rota))
    assert on_one_grid(deeds, PERIOD_US)
    assert deeds[before].missed >= 4
    assert deeds[before + 1].missed == 0


def test_c2_deaths_over_and_over_run_no_occurrence_twice(rota: Project) -> None:
    put(rota, "--every", "100ms")
    for pause in (0.15, 0.02, 0.31, 0.07):
        program = run_rota(rota)
        have = len(polls(rota))
        until_polled(rota, have + 1)
        time.sleep(pause)
        program.cut_power()
    deeds = polls(rota)
    assert each_in_one_event(deeds), "an occurrence has two events"
    assert on_one_grid(once_each(deeds), 100_000)


def test_c13_a_program_that_was_stopped_for_a_while_makes_up_for_it_once(rota: Project) -> None:
    program = run_rota(rota)
    put(rota, "--every", "300ms")
    until_polled(rota, 2)
    program.send(signal.SIGSTOP)
    before = len(polls(rota))
    time.sleep(2.5)
    program.send(signal.SIGCONT)
    until_polled(rota, before + 3)
    deeds = polls(rota)
    assert on_one_grid(deeds, PERIOD_US)
    assert counts_fit(deeds, PERIOD_US), f"a burst, or a count that doesn't fit: {deeds}"
    most = max(one.missed for one in deeds)
    assert most >= 7
    assert said(audit_with(rota, "missed"), most)


def test_c10_what_is_later_than_it_may_be_is_missed_on_record(rota: Project) -> None:
    put(rota, "--in", "100ms", "--max-late", "300ms")
    time.sleep(0.6)
    for _ in range(2):
        rota.agentctl("run", "--until-idle").expect(0)
        assert polls(rota) == []
        assert len(audit_with(rota, "missed")) == 1
        assert schedules(rota) == []
    kinds = {kind for record in rota.records("Poller") for kind in record}
    assert kinds & {"missed", "skipped"}, "the miss isn't on record"


def test_c10_what_may_be_as_late_as_it_likes_runs_once(rota: Project) -> None:
    put(rota, "--in", "100ms", word="named")
    rota.agentctl("invoke", "-t", "--in", "100ms", POLLER, "poll", "single").expect(0)
    time.sleep(0.6)
    for _ in range(2):
        rota.agentctl("run", "--until-idle").expect(0)
        assert sorted(one.word for one in polls(rota)) == ["named", "single"]
    assert schedules(rota) == []


def test_c10_a_recurring_one_that_is_too_late_goes_on_with_its_grid(rota: Project) -> None:
    put(rota, "--every", "1s", "--max-late", "200ms")
    first = named(rota, POLLER, "tick")
    time.sleep(1.5)
    # Half a second late where a fifth is allowed; `run` itself may take long to start.
    program = run_rota(rota)
    until_polled(rota, 1)
    program.cut_power()
    assert first is not None
    done = once_each(polls(rota))
    assert on_one_grid(done, 1_000_000)
    assert audit_with(rota, "missed")


def test_c1_a_one_shot_of_10_ms_runs_in_a_real_program(rota: Project) -> None:
    run_rota(rota)
    begun = time.monotonic()
    told = rota.agentctl("invoke", POLLER, "later", "0.01", "soon").expect(0)
    until_polled(rota, 1)
    assert time.monotonic() - begun < 5
    event = told.out.strip().strip('"')
    assert event.startswith("Poller/p#")
    shown = rota.agentctl("invocation", "wait", event, "--for", "completed", "--timeout", "5s")
    shown.expect(0)
    assert [one.word for one in polls(rota)] == ["soon"]


def test_g2_plus_200_ms_on_another_agent_and_on_itself_run_once_each(rota: Project) -> None:
    program = run_rota(rota)
    rota.agentctl("invoke", "Chain", "far", "0.2", "other").expect(0)
    rota.agentctl("invoke", "Poller/self", "later", "0.2", "own").expect(0)
    until_polled(rota, 2)
    program.cut_power()
    run_rota(rota)
    assert quiet_for(rota, 0.5)
    assert sorted((one.instance, one.word) for one in polls(rota)) == [
        ("other", "chain"),
        ("self", "own"),
    ]


def test_g3_a_token_kept_in_state_cancels_after_a_kill(rota: Project) -> None:
    program = run_rota(rota)
    rota.agentctl("invoke", POLLER, "later", "2", "x").expect(0)
    program.cut_power()
    program = run_rota(rota)
    assert rota.agentctl("invoke", POLLER, "forget").expect(0).out == '"cancelled"\n'
    program.cut_power()
    run_rota(rota)
    assert rota.agentctl("invoke", POLLER, "forget").expect(0).out == '"already_cancelled"\n'
    time.sleep(1)
    assert polls(rota) == []


def test_a_schedule_that_code_set_survives_the_kill_of_its_program(rota: Project) -> None:
    program = run_rota(rota)
    rota.agentctl("invoke", POLLER, "often", "300").expect(0)
    until_polled(rota, 1)
    program.cut_power()
    before = len(polls(rota))
    run_rota(rota)
    until_polled(rota, before + 2)
    found = named(rota, POLLER, "often")
    assert found is not None
    assert found["source"] == "code"
    assert each_in_one_event(polls(rota))
    assert on_one_grid(once_each(polls(rota)), PERIOD_US)


def test_c3_a_slow_run_of_a_real_program_does_not_pile_up(rota: Project) -> None:
    """A run of 200 ms every 50 ms, for 600 ms."""
    run_rota(rota)
    words = ("set", POLLER, "slow", "x", "0.2", "--name", "tick", "--every", "50ms")
    rota.agentctl("schedule", *words).expect(0)
    wait_until(lambda: polls(rota, deed="slow"), "the first run")
    time.sleep(0.6)
    rota.agentctl("schedule", "cancel", POLLER, "tick").expect(0)
    time.sleep(0.4)
    settled = rota.ledger()
    assert quiet_for(rota, 0.5), "runs had piled up"
    deeds = [line.split(" ")[0] for line in settled]
    assert deeds == ["slow", "end"] * (len(deeds) // 2), "two runs at once"
    assert audit_with(rota, "skipped")
