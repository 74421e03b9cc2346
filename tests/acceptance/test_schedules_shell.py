"""`schedule …` from the shell, with and without a running program (R18; G4, G5, C5, C7)."""

from __future__ import annotations

import time

import pytest

from .rota import (
    FAR,
    URL,
    audit_with,
    due_us,
    make_rota,
    named,
    on_one_grid,
    open_events,
    polls,
    quiet_for,
    run_rota,
    schedules,
    until_polled,
)
from .support import Project, Result, wait_until

POLLER = 'Poller("my-poller")'
BESIDE = pytest.mark.parametrize("beside", [True, False], ids=["beside", "alone"])


@pytest.fixture
def rota(project: Project) -> Project:
    return make_rota(project)


def schedule(project: Project, *words: str) -> Result:
    return project.agentctl("schedule", *words)


@BESIDE
def test_g4_the_closing_transcript(rota: Project, beside: bool) -> None:
    if beside:
        run_rota(rota)
    invoke = ("invoke", "--trigger", "--schedule-at", FAR, "-i", "poll-next", POLLER, "poll", URL)
    cancel = ("invocation", "cancel", POLLER, "poll-next")
    assert rota.agentctl(*invoke).expect(0).out == "Poller/my-poller#1\n"

    listed = schedule(rota, "list").expect(0)
    assert listed.out.count("\n") == 1
    assert "\t" in listed.out
    for part in ("Poller/my-poller", "poll", "2099-03-15T10:30:00"):
        assert part in listed.out
    one = schedules(rota)[0]
    assert one["event"] == "Poller/my-poller#1"
    assert (one["agent"], one["instance"], one["name"]) == ("Poller", "Poller/my-poller", None)
    assert (one["handler"], one["period_s"], one["cron"]) == ("poll", None, None)
    assert one["due"].startswith("2099-03-15T10:30:00")
    assert one["paused"] is False

    assert rota.agentctl(*cancel).expect(0).out == "cancelled Poller/my-poller#1\n"
    assert rota.agentctl(*cancel).expect(0).out == "already cancelled Poller/my-poller#1\n"
    assert schedule(rota, "list").expect(0).out == ""
    assert schedules(rota) == []
    # The key can be used anew, and the first one never ran.
    again = (*invoke[:3], "2099-03-16T10:30:00Z", *invoke[4:])
    assert rota.agentctl(*again).expect(0).out == "Poller/my-poller#2\n"
    assert len(schedules(rota)) == 1
    assert rota.ledger() == []


@BESIDE
@pytest.mark.parametrize("how", ["--schedule-at", "--at", "--in"])
def test_g4_what_is_cancelled_never_runs(rota: Project, beside: bool, how: str) -> None:
    if beside:
        run_rota(rota)
    moment = ("--in", "2s") if how == "--in" else (how, "+2s")
    words = ("invoke", "--trigger", *moment, "-i", "poll-next", POLLER, "poll", URL)
    address = rota.agentctl(*words).expect(0).out.strip()
    # By its event where the other tests do it by its key.
    assert rota.agentctl("invocation", "cancel", address).expect(0).out == f"cancelled {address}\n"
    if not beside:
        run_rota(rota)
    assert quiet_for(rota, 2.2)
    assert polls(rota) == []
    again = rota.agentctl("invocation", "cancel", POLLER, "poll-next").expect(0)
    assert again.out == f"already cancelled {address}\n"


@BESIDE
def test_g5_a_deleted_instance_s_schedules_go_with_it(rota: Project, beside: bool) -> None:
    if beside:
        run_rota(rota)
    for instance in ("kept", "gone"):
        single = ("invoke", "-t", "--in", "3s", f"Poller/{instance}", "poll", "single")
        rota.agentctl(*single).expect(0)
        words = ("--name", "tick", "--every", "3s")
        schedule(rota, "set", f"Poller/{instance}", "poll", "tick", *words).expect(0)
    rota.agentctl("agent", "delete", "Poller/gone", "-y").expect(0)
    assert {one["instance"] for one in schedules(rota)} == {"Poller/kept"}
    # Made anew, under the same name.
    assert rota.agentctl("invoke", "Poller/gone", "poll", "anew").expect(0).out == "1\n"
    if not beside:
        run_rota(rota)
    until_polled(rota, 2, "kept")
    time.sleep(1.5)
    assert [one.word for one in polls(rota, "gone")] == ["anew"]
    assert {one.word for one in polls(rota, "kept")} == {"single", "tick"}


@BESIDE
def test_g5_deleting_says_which_schedules_it_drops(rota: Project, beside: bool) -> None:
    if beside:
        run_rota(rota)
    schedule(rota, "set", POLLER, "poll", URL, "--name", "tick", "--every", "1h").expect(0)
    refused = rota.agentctl("agent", "delete", "Poller/my-poller").expect(2)
    assert "schedule" in refused.err
    assert len(schedules(rota)) == 1
    rota.agentctl("agent", "delete", "Poller/my-poller", "-y").expect(0)
    assert schedules(rota) == []


@BESIDE
def test_c7_an_instance_that_nobody_called_runs_when_its_schedule_falls_due(
    rota: Project, beside: bool
) -> None:
    if beside:
        run_rota(rota)
    words = ("set", 'Poller("never")', "poll", URL, "--name", "tick", "--every", "500ms")
    schedule(rota, *words).expect(0)
    if not beside:
        run_rota(rota)
    until_polled(rota, 3, "never")
    assert on_one_grid(polls(rota, "never"), 500_000)
    assert {one.word for one in polls(rota, "never")} == {URL}


@BESIDE
def test_c5_a_schedule_cancelled_twice_from_the_shell_is_no_error(
    rota: Project, beside: bool
) -> None:
    if beside:
        run_rota(rota)
    schedule(rota, "set", POLLER, "poll", URL, "--name", "tick", "--every", "500ms").expect(0)
    first = schedule(rota, "cancel", POLLER, "tick").expect(0)
    assert "cancelled" in first.out
    assert "already" not in first.out
    assert "already cancelled" in schedule(rota, "cancel", POLLER, "tick").expect(0).out
    if not beside:
        run_rota(rota)
    assert quiet_for(rota, 1.2)
    assert schedules(rota) == []
    schedule(rota, "cancel", POLLER, "tock").expect(3)
    schedule(rota, "cancel", "Poller/nobody", "tick").expect(3)


@BESIDE
def test_what_is_set_is_listed_shown_and_inspected(rota: Project, beside: bool) -> None:
    if beside:
        run_rota(rota)
    every = ("--name", "tick", "--every", "1h30m", "--missed", "skip", "--overlap", "queue")
    schedule(rota, "set", POLLER, "poll", URL, *every).expect(0)
    nine = ("--name", "nine", "--cron", "0 9 * * 1-5", "--tz", "Europe/Berlin")
    schedule(rota, "set", "Chain", "word", "nine", *nine).expect(0)
    tick = named(rota, "Poller/my-poller", "tick")
    assert tick is not None
    assert (tick["period_s"], tick["cron"], tick["source"]) == (5400, None, "shell")
    assert (tick["handler"], tick["event"], tick["paused"]) == ("poll", None, False)
    cron = named(rota, "Chain", "nine")
    assert cron is not None
    assert (cron["period_s"], cron["cron"]) == (None, "0 9 * * 1-5")
    assert (cron["tz"], cron["source"]) == ("Europe/Berlin", "shell")
    assert [one["agent"] for one in schedules(rota, "Chain")] == ["Chain"]

    text = schedule(rota, "list").expect(0).out
    assert text.count("\n") == 2
    assert all("\t" in line for line in text.splitlines())
    shown = schedule(rota, "show", POLLER, "tick").expect(0).out
    for word in ("tick", "skip", "queue", "shell", URL):
        assert word in shown, f"{word} isn't shown"
    document = schedule(rota, "show", POLLER, "tick", "--json").expect(0).json
    assert document["schema"].startswith("agentctl.")
    read = rota.agentctl("inspect", "schedules").expect(0).out
    assert "tick" in read
    assert "nine" in read
    assert audit_with(rota, "schedule set")[0].startswith("Poller/my-poller schedule set: ")
    schedule(rota, "show", POLLER, "tack").expect_error(3, "tick")


@BESIDE
def test_status_and_agent_list_tell_the_next_due_time(rota: Project, beside: bool) -> None:
    if beside:
        run_rota(rota)
    schedule(rota, "set", POLLER, "poll", URL, "--name", "far", "--at", FAR).expect(0)
    for words in (("status", "Poller", "--json"), ("agent", "list", "Poller", "--json")):
        told = rota.agentctl(*words).expect(0)
        assert '"next_due":"2099-03-15T10:30:00' in told.out, told.out
    schedule(rota, "set", POLLER, "poll", URL, "--name", "near", "--in", "1h").expect(0)
    status = rota.agentctl("status", "Poller", "--json").expect(0).json
    near = named(rota, "Poller/my-poller", "near")
    assert near is not None
    assert status["agents"][0]["next_due"] == near["due"]


@BESIDE
def test_c4_set_again_replaces_and_the_same_again_keeps_the_grid(
    rota: Project, beside: bool
) -> None:
    if beside:
        run_rota(rota)
    words = ("set", POLLER, "poll", URL, "--name", "tick")
    schedule(rota, *words, "--every", "1h").expect(0)
    due = due_us(rota, "Poller/my-poller", "tick")
    time.sleep(0.05)
    schedule(rota, *words, "--every", "1h").expect(0)
    assert due_us(rota, "Poller/my-poller", "tick") == due, "the grid moved"
    assert len(audit_with(rota, "schedule set")) == 1
    schedule(rota, *words, "--every", "2h").expect(0)
    assert due_us(rota, "Poller/my-poller", "tick") != due
    assert len(schedules(rota)) == 1
    assert len(audit_with(rota, "schedule set")) == 2


@BESIDE
def test_c4_of_two_payloads_under_one_name_only_the_second_fires(
    rota: Project, beside: bool
) -> None:
    if beside:
        run_rota(rota)
    for word in ("first", "second"):
        words = ("set", POLLER, "poll", word, "--name", "tick", "--every", "2s")
        schedule(rota, *words).expect(0)
    if not beside:
        run_rota(rota)
    until_polled(rota, 2, "my-poller")
    assert {one.word for one in polls(rota)} == {"second"}
    assert on_one_grid(polls(rota), 2_000_000)


@BESIDE
def test_trigger_runs_it_once_now_and_moves_no_grid(rota: Project, beside: bool) -> None:
    if beside:
        run_rota(rota)
    schedule(rota, "set", POLLER, "poll", URL, "--name", "tick", "--every", "1h").expect(0)
    due = due_us(rota, "Poller/my-poller", "tick")
    told = schedule(rota, "trigger", POLLER, "tick").expect(0)
    assert "Poller/my-poller#1" in told.out
    if not beside:
        run_rota(rota)
    until_polled(rota, 1, "my-poller")
    assert quiet_for(rota, 0.3)
    assert len(polls(rota)) == 1
    assert due_us(rota, "Poller/my-poller", "tick") == due
    schedule(rota, "trigger", POLLER, "tack").expect(3)


@BESIDE
def test_a_one_shot_by_name_runs_once_and_is_gone(rota: Project, beside: bool) -> None:
    if beside:
        run_rota(rota)
    schedule(rota, "set", POLLER, "poll", URL, "--name", "once", "--in", "2s").expect(0)
    once = named(rota, "Poller/my-poller", "once")
    assert once is not None
    assert once["period_s"] is None
    if not beside:
        run_rota(rota)
    until_polled(rota, 1, "my-poller")
    assert quiet_for(rota, 0.8)
    assert len(polls(rota)) == 1
    wait_until(lambda: schedules(rota) == [], "the one-shot to be gone from the list")


@BESIDE
def test_another_source_replaces_a_schedule_only_by_force(rota: Project, beside: bool) -> None:
    if beside:
        run_rota(rota)
    set_code = ("invoke", POLLER, "often", "3600000", "tick")
    assert rota.agentctl(*set_code).expect(0).out == '"tick"\n'
    first = named(rota, "Poller/my-poller", "tick")
    assert first is not None
    assert first["source"] == "code"
    words = ("set", POLLER, "poll", "shell", "--name", "tick", "--every", "2h")
    schedule(rota, *words).expect_error(4, "tick", "code", "--force")
    assert named(rota, "Poller/my-poller", "tick") == first, "half of it was set"
    schedule(rota, *words, "--force").expect(0)
    second = named(rota, "Poller/my-poller", "tick")
    assert second is not None
    assert (second["source"], second["period_s"]) == ("shell", 7200)
    # And the other way round: the handler gets an error of agentctl's.
    assert rota.agentctl(*set_code).expect(0).out.startswith('"refused: ')
    assert named(rota, "Poller/my-poller", "tick") == second


@BESIDE
def test_the_shell_cancels_what_code_set(rota: Project, beside: bool) -> None:
    if beside:
        run_rota(rota)
    rota.agentctl("invoke", POLLER, "often", "3600000", "tick").expect(0)
    schedule(rota, "cancel", POLLER, "tick").expect(0)
    assert schedules(rota) == []
    assert rota.agentctl("invoke", POLLER, "end", "tick").expect(0).out == '"nothing"\n'


def test_invoke_without_a_program_runs_no_schedules(rota: Project) -> None:
    words = ("set", POLLER, "poll", "tick", "--name", "tick", "--every", "100ms")
    schedule(rota, *words).expect(0)
    time.sleep(0.3)
    rota.agentctl("invoke", POLLER, "slow", "x", "0.5").expect(0)
    assert polls(rota) == [], "invoke ran a schedule"
    assert rota.agentctl("run", "--until-idle=0s").code == 0
    assert len(polls(rota)) >= 1, "run didn't run it"
    assert polls(rota)[0].missed >= 1


def test_two_sets_of_one_name_at_once_leave_one_schedule(rota: Project) -> None:
    program = run_rota(rota)
    clients = [
        rota.start_agentctl(
            "schedule", "set", POLLER, "poll", str(n), "--name", "tick", "--every", f"{n}h"
        )
        for n in range(1, 5)
    ]
    assert [client.end().code for client in clients] == [0, 0, 0, 0]
    assert len(schedules(rota)) == 1
    program.cut_power()
    assert len(schedules(rota)) == 1
    assert open_events(rota) == []


def test_a_damaged_journal_hides_no_other_agent_s_schedules(rota: Project) -> None:
    for words in ((POLLER, "poll", URL), ("Chain", "tick", "0")):
        schedule(rota, "set", *words, "--name", "yearly", "--every", "365d").expect(0)
    schedule(rota, "set", "Chain", "tick", "0", "--name", "weekly", "--every", "7d").expect(0)
    journal = rota.root / "agents" / "Chain" / "journal"
    journal.write_bytes(journal.read_bytes().replace(b"yearly", b"YEARLY", 1))
    listed = schedule(rota, "list").expect(6)
    assert listed.out.count("\n") == 1
    assert "Poller/my-poller\tyearly" in listed.out
    assert "Chain" in listed.err
