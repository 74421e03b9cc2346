"""Events that begin later, from the shell: scheduled, listed, cancelled (R18, G4, C11, C12)."""

from __future__ import annotations

import re

import pytest

from .desk import make_desk, serve, until_state
from .support import Project

FAR = "2099-03-15T10:30:00Z"


@pytest.mark.parametrize("beside", [True, False], ids=["beside", "alone"])
def test_g4_what_is_scheduled_from_the_shell_can_be_cancelled(
    project: Project, beside: bool
) -> None:
    make_desk(project)
    if beside:
        serve(project)
    address = """Desk("my-desk")"""
    words = ("invoke", "--trigger", "--schedule-at", FAR, "-i", "later", address, "add", "1")
    assert project.agentctl(*words).expect(0).out == "Desk/my-desk#1\n"
    told = project.agentctl(*words, "--json").expect(0).json
    assert (told["status"], told["due"]) == ("scheduled", "2099-03-15T10:30:00.000000Z")
    listed = project.agentctl("invocation", "list", "--status", "scheduled").expect(0)
    assert listed.out.startswith("Desk/my-desk#1\tscheduled\tadd\tlater\t")
    cancel = ("invocation", "cancel", address, "later")
    assert project.agentctl(*cancel).expect(0).out == "cancelled Desk/my-desk#1\n"
    assert project.agentctl(*cancel).expect(0).out == "already cancelled Desk/my-desk#1\n"
    # The key can be used anew, and nothing of the first one ran.
    told = project.agentctl("invoke", "-i", "later", address, "add", "2").expect(0)
    assert told.out == "2\n"


def test_c11_a_scheduled_event_survives_the_program_and_begins_once(project: Project) -> None:
    make_desk(project, "Clerk")
    program = serve(project)
    project.agentctl("invoke", "-t", "--in", "1500ms", "Clerk", "tally", "soon").expect(0)
    project.agentctl("invoke", "-t", "--at", FAR, "Clerk", "tally", "far").expect(0)
    status = project.agentctl("status", "--json").expect(0).json["agents"][0]
    assert status["events"]["scheduled"] == 2
    assert status["next_due"] is not None
    program.cut_power()
    serve(project)
    until_state(project, "Clerk#1", "completed")
    until_state(project, "Clerk#2", "scheduled")
    assert [line.split()[1] for line in project.ledger("tally")] == ["soon"]


def test_what_fell_due_while_nothing_ran_begins_with_the_next_start(project: Project) -> None:
    make_desk(project, "Clerk")
    project.agentctl("invoke", "-t", "--in", "1ms", "Clerk", "tally", "x").expect(0)
    project.agentctl("run", "--until-idle").expect(0)
    until_state(project, "Clerk#1", "completed")


def test_a_run_until_idle_waits_for_what_is_due_within_its_duration(project: Project) -> None:
    make_desk(project, "Clerk")
    project.agentctl("invoke", "-t", "--in", "1s", "Clerk", "tally", "x").expect(0)
    project.agentctl("invoke", "-t", "--at", FAR, "Clerk", "tally", "far").expect(0)
    project.agentctl("run", "--until-idle=5s").expect(0)
    assert [line.split()[1] for line in project.ledger("tally")] == ["x"]


def test_c12_a_time_without_a_zone_is_refused_with_both_readings(project: Project) -> None:
    make_desk(project, "Clerk")
    words = ("invoke", "-t", "--schedule-at", "2026-03-15T10:30:00", "Clerk", "tally", "x")
    told = project.agentctl(*words, env={"TZ": "Europe/Berlin"})
    told.expect_error(2, "2026-03-15T10:30:00Z", "2026-03-15T10:30:00+01:00")
    assert not project.folder("Clerk").exists(), "something was accepted"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--at", FAR, "--in", "1h"), "don't go together"),
        (("--in", "5"), "unit"),
        (("--at", "soon"), "no moment"),
        (("--tz", "Europe/Berlin"), "--at"),
        (("--at", "2099-03-15T10:30:00", "--tz", "Europe/Berln"), "Europe/Berlin"),
        (("--at", "2026-10-25T02:30:00", "--tz", "Europe/Berlin"), "comes twice"),
        (("--at", "2026-03-29T02:30:00", "--tz", "Europe/Berlin"), "isn't there"),
        (("--at", "@99999999999999"), "none that a date can show"),
    ],
)
def test_a_moment_that_is_not_one_is_refused_and_nothing_is_accepted(
    project: Project, options: tuple[str, ...], said: str
) -> None:
    make_desk(project, "Clerk")
    told = project.agentctl("invoke", "-t", *options, "Clerk", "tally", "x")
    told.expect_error(2, said)
    assert not project.folder("Clerk").exists(), "something was accepted"


def test_what_begins_later_is_not_waited_for(project: Project) -> None:
    make_desk(project, "Clerk")
    project.agentctl("invoke", "--at", FAR, "Clerk", "tally", "x").expect_error(2, "--trigger")


def test_a_past_time_begins_at_once_and_says_so(project: Project) -> None:
    make_desk(project, "Clerk")
    serve(project)
    told = project.agentctl("invoke", "-t", "--at", "2020-01-01T00:00:00Z", "Clerk", "tally", "x")
    assert re.search("passed", told.expect(0).err)
    until_state(project, "Clerk#1", "completed")


def test_a_wall_time_is_read_in_its_zone(project: Project) -> None:
    make_desk(project, "Clerk")
    words = ("invoke", "-t", "--json", "--at", "2099-07-01T09:00:00", "--tz", "Europe/Berlin")
    told = project.agentctl(*words, "Clerk", "tally", "x").expect(0).json
    assert told["due"] == "2099-07-01T07:00:00.000000Z"
