"""`[schedules.NAME]` in `kavach.toml`: set by `run` alone, kept as the file says (R18)."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from .rota import (
    audit_with,
    counts_fit,
    due_us,
    make_rota,
    named,
    on_one_grid,
    once_each,
    polls,
    quiet_for,
    run_rota,
    schedules,
    set_schedules,
    until_polled,
)
from .support import Project, wait_until


def table(name: str = "tick", **values: str) -> str:
    """A table of this name; values are TOML."""
    given = {
        "agent": '"Poller"',
        "instances": '["eu", "us"]',
        "handler": '"poll"',
        "args": '["file"]',
        "every": '"400ms"',
        **values,
    }
    lines = [f"{key} = {value}" for key, value in given.items() if value]
    return "\n".join([f"[schedules.{name}]", *lines]) + "\n\n"


def of_file(project: Project) -> dict[str, str]:
    """The names of what the file set, by instance."""
    return {one["instance"]: one["name"] for one in schedules(project) if one["source"] == "file"}


def run_once(project: Project) -> None:
    """A program that takes over what the file says, and ends when nothing is due."""
    project.agentctl("run", "--until-idle").expect(0)


def test_a_schedule_of_the_file_runs_in_each_instance_with_its_arguments(project: Project) -> None:
    make_rota(project, table())
    run_rota(project)
    for instance in ("eu", "us"):
        until_polled(project, 2, instance)
        assert on_one_grid(polls(project, instance), 400_000)
        assert {one.word for one in polls(project, instance)} == {"file"}
    assert of_file(project) == {"Poller/eu": "tick", "Poller/us": "tick"}


def test_an_agent_without_identity_needs_no_instances(project: Project) -> None:
    chain = table(agent='"Chain"', instances="", handler='"word"', args='["hi"]')
    make_rota(project, chain)
    run_rota(project)
    wait_until(lambda: len(project.ledger("word hi ")) >= 2, "the schedule to run")
    assert of_file(project) == {"Chain": "tick"}


def test_only_run_sets_them(project: Project) -> None:
    make_rota(project, table())
    assert schedules(project) == []
    told = project.agentctl("invoke", "Poller/eu", "slow", "x", "1").expect(0)
    assert told.out == "null\n"
    assert polls(project) == []
    assert of_file(project) == {}
    run_once(project)
    assert len(of_file(project)) == 2


def test_a_restart_and_an_unchanged_file_keep_the_grid(project: Project) -> None:
    make_rota(project, table(every='"1h"'))
    run_once(project)
    due = due_us(project, "Poller/eu", "tick")
    time.sleep(0.1)
    run_once(project)
    assert due_us(project, "Poller/eu", "tick") == due
    assert len(audit_with(project, "schedule set")) == 2


def test_what_is_taken_out_of_the_file_is_cancelled(project: Project) -> None:
    make_rota(project, table(every='"1h"') + table("tock", every='"2h"'))
    run_once(project)
    due = due_us(project, "Poller/eu", "tock")
    # One instance of the one, and the whole of the other.
    set_schedules(project, table("tock", every='"2h"', instances='["eu"]'))
    run_once(project)
    assert of_file(project) == {"Poller/eu": "tock"}
    assert due_us(project, "Poller/eu", "tock") == due
    assert len(audit_with(project, "schedule cancelled")) == 3


def test_what_is_changed_in_the_file_is_replaced_and_fires_not_at_once(project: Project) -> None:
    make_rota(project, table(every='"1h"'))
    run_once(project)
    set_schedules(project, table(every='"2s"', args='["edited"]', instances='["eu"]'))
    run_rota(project)
    assert quiet_for(project, 0.5)
    found = named(project, "Poller/eu", "tick")
    assert found is not None
    assert found["period_s"] == 2
    until_polled(project, 1, "eu")
    assert {one.word for one in polls(project)} == {"edited"}


def test_one_that_is_not_enabled_is_not_set(project: Project) -> None:
    make_rota(project, table(enabled="false"))
    run_once(project)
    assert of_file(project) == {}
    set_schedules(project, table(every='"1h"', enabled="true"))
    run_once(project)
    assert len(of_file(project)) == 2
    set_schedules(project, table(every='"1h"', enabled="false"))
    run_once(project)
    assert of_file(project) == {}


def test_a_cron_takes_the_project_s_zone_where_it_names_none(project: Project) -> None:
    cron = table(every="", cron='"0 9 * * 1-5"')
    make_rota(project, cron, tz="Europe/Berlin")
    run_once(project)
    found = named(project, "Poller/eu", "tick")
    assert found is not None
    assert (found["cron"], found["tz"]) == ("0 9 * * 1-5", "Europe/Berlin")
    set_schedules(project, table(every="", cron='"0 9 * * 1-5"', tz='"Asia/Tokyo"'))
    run_once(project)
    found = named(project, "Poller/eu", "tick")
    assert found is not None
    assert found["tz"] == "Asia/Tokyo"


BROKEN = {
    "no-zone": (table(every="", cron='"0 9 * * *"'), ["tz"]),
    "wrong-zone": (table(every="", cron='"0 9 * * *"', tz='"Europe/Berln"'), ["Europe/Berlin"]),
    "wrong-cron": (table(every="", cron='"61 * * * *"', tz='"UTC"'), ["61"]),
    "bare-number": (table(every="5"), ["every"]),
    "wrong-duration": (table(every='"five"'), ["five"]),
    "two-timings": (table(cron='"0 9 * * *"', tz='"UTC"'), ["every", "cron"]),
    "no-timing": (table(every=""), ["every"]),
    "unknown-key": (table(evry='"1h"'), ["evry", "every"]),
    "unknown-agent": (table(agent='"Polr"'), ["Polr", "Poller"]),
    "unknown-handler": (table(handler='"pol"'), ["pol", "poll"]),
    "no-instances": (table(instances=""), ["instances"]),
    "instances-too-many": (
        table(agent='"Chain"', handler='"word"', instances='["x"]'),
        ["instances"],
    ),
    "too-few-arguments": (table(args="[]"), ["url"]),
    "wrong-argument": (table(args="[7]"), ["url"]),
    "wrong-policy": (table(missed='"never"'), ["never", "coalesce"]),
    "wall-time": (table(every="", at='"2099-03-15T10:30:00"'), ["2099-03-15T10:30:00Z"]),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_table_that_makes_no_sense_stops_the_start_and_sets_nothing(
    project: Project, case: str
) -> None:
    text, words = BROKEN[case]
    make_rota(project, table("good", every='"1h"') + text)
    told = project.agentctl("run", "--until-idle", "--lock-wait", "1s", timeout=8)
    told.expect_error(7, "kavach.toml", *words)
    set_schedules(project, "")
    assert schedules(project) == []
    assert project.ledger() == []


def test_a_name_that_the_shell_used_is_not_taken_over_by_the_file(project: Project) -> None:
    make_rota(project)
    words = ("set", "Poller/eu", "poll", "shell", "--name", "tick", "--every", "1h")
    project.agentctl("schedule", *words).expect(0)
    before = named(project, "Poller/eu", "tick")
    set_schedules(project, table(every='"2h"'))
    told = project.agentctl("run", "--until-idle", timeout=8)
    assert "tick" in told.err, "nobody says that a name is used by two sources"
    assert "shell" in told.err
    assert named(project, "Poller/eu", "tick") == before


def test_the_shell_replaces_a_schedule_of_the_file_only_by_force(project: Project) -> None:
    make_rota(project, table(every='"1h"'))
    run_rota(project)
    before = named(project, "Poller/eu", "tick")
    words = ("set", "Poller/eu", "poll", "shell", "--name", "tick", "--every", "2h")
    project.agentctl("schedule", *words).expect_error(4, "tick", "file", "--force")
    refused = project.agentctl("schedule", "cancel", "Poller/eu", "tick")
    refused.expect_error(4, "kavach.toml", "pause")
    code = project.agentctl("invoke", "Poller/eu", "often", "60000", "tick").expect(0)
    assert code.out.startswith('"refused: ')
    assert named(project, "Poller/eu", "tick") == before
    project.agentctl("schedule", *words, "--force").expect(0)
    after = named(project, "Poller/eu", "tick")
    assert after is not None
    assert (after["source"], after["period_s"]) == ("shell", 7200)


def test_a_killed_program_s_file_schedule_is_one_run_for_what_was_missed(project: Project) -> None:
    make_rota(project, table(instances='["eu"]', every='"300ms"'))
    program = run_rota(project)
    until_polled(project, 2, "eu")
    program.cut_power()
    before = len(polls(project))
    time.sleep(2)
    run_rota(project)
    until_polled(project, before + 3, "eu")
    done = once_each(polls(project))
    assert on_one_grid(done, 300_000)
    assert counts_fit(done, 300_000)
    assert max(one.missed for one in done) >= 5


def test_what_the_file_asks_for_once_runs_once_however_often_the_program_starts(
    project: Project,
) -> None:
    soon = f'"{to_text(time.time() + 2)}"'
    make_rota(project, table("opening", every="", at=soon, instances='["eu"]'))
    run_once(project)
    assert of_file(project) == {"Poller/eu": "opening"}
    project.agentctl("run", "--until-idle=1m").expect(0)
    assert len(polls(project)) == 1
    for _ in range(2):
        run_once(project)
    assert len(polls(project)) == 1
    assert of_file(project) == {}


def test_a_first_due_time_that_has_passed_gives_the_grid_and_fires_nothing_at_once(
    project: Project,
) -> None:
    first = "2026-01-01T00:00:00Z"
    make_rota(project, table(every='"1h"', first=first))
    run_once(project)
    set_schedules(project, table(every='"1h"', first=first, args='["edited"]'))
    run_once(project)
    assert polls(project) == []
    assert due_us(project, "Poller/eu", "tick") % 3_600_000_000 == 0


def to_text(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
