"""Moments, durations, zones and expressions on the command line: taken, or refused whole."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from .rota import FAR, due_us, make_rota, named, schedules, to_us
from .support import Project, Result

NAMED = ("--name", "tick")
POLLER = "Poller/p"


@pytest.fixture
def rota(project: Project) -> Project:
    return make_rota(project)


def put(project: Project, *timing: str, env: dict[str, str] | None = None) -> Result:
    words = ("schedule", "set", POLLER, "poll", "x", *NAMED, *timing)
    return project.agentctl(*words, env=env)


def nothing_is_set(project: Project) -> bool:
    return schedules(project) == [] and project.ledger() == []


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Asia/Kolkata"])
def test_c12_a_time_without_a_zone_is_refused_with_both_readings(rota: Project, zone: str) -> None:
    there = {
        "Europe/Berlin": "2026-03-15T10:30:00+01:00",
        "America/New_York": "2026-03-15T10:30:00-04:00",
        "Asia/Kolkata": "2026-03-15T10:30:00+05:30",
    }
    told = put(rota, "--at", "2026-03-15T10:30:00", env={"TZ": zone})
    told.expect_error(2, "2026-03-15T10:30:00Z", there[zone])
    invoke = ("invoke", "-t", "--schedule-at", "2026-03-15T10:30:00", POLLER, "poll", "x")
    told = rota.agentctl(*invoke, env={"TZ": zone})
    told.expect_error(2, "2026-03-15T10:30:00Z", there[zone])
    assert nothing_is_set(rota)


@pytest.mark.parametrize(
    ("timing", "words"),
    [
        (("--every", "5"), ["5", "unit"]),
        (("--every", "0s"), ["0s"]),
        (("--every", "-5m"), ["-5m"]),
        (("--every", "5 minutes or so"), ["5 minutes or so"]),
        (("--every", "1h", "--jitter", "5"), ["unit"]),
        (("--every", "1h", "--max-late", "later"), ["later"]),
        (("--in", "5"), ["unit"]),
        (("--at", "soon"), ["soon"]),
        (("--at", "2026-02-30T00:00:00Z"), ["2026-02-30"]),
        (("--cron", "61 * * * *", "--tz", "UTC"), ["61"]),
        (("--cron", "* * * *", "--tz", "UTC"), ["* * * *"]),
        (("--cron", "0 0 9 * * 1", "--tz", "UTC"), ["0 0 9 * * 1"]),
        (("--cron", "0 9 * * fry", "--tz", "UTC"), ["fry"]),
        (("--cron", "0 0 31 2 *", "--tz", "UTC"), ["0 0 31 2 *"]),
        (("--cron", "0 9 * * *", "--tz", "Europe/Berln"), ["Europe/Berlin"]),
        (("--cron", "0 9 * * *", "--tz", "../../etc/passwd"), ["zone"]),
        (("--cron", "0 9 * * *"), ["--tz"]),
        (("--every", "1h", "--cron", "0 9 * * *", "--tz", "UTC"), ["--every", "--cron"]),
        (("--every", "1h", "--at", FAR), ["--every", "--at"]),
        ((), ["--every"]),
        (("--every", "1h", "--missed", "never"), ["never", "coalesce"]),
        (("--every", "1h", "--overlap", "never"), ["never", "queue"]),
        (("--at", "2026-10-25T02:30:00", "--tz", "Europe/Berlin"), ["twice"]),
        (("--at", "2026-03-29T02:30:00", "--tz", "Europe/Berlin"), ["02:30"]),
    ],
    ids=lambda value: " ".join(value)[:50].replace("/", "|") if isinstance(value, tuple) else "",
)
def test_a_timing_that_is_none_is_refused_and_sets_nothing(
    rota: Project, timing: tuple[str, ...], words: list[str]
) -> None:
    put(rota, *timing).expect_error(2, *words)
    assert nothing_is_set(rota)


def test_c12_a_wrong_timing_leaves_the_schedule_of_that_name_as_it_is(rota: Project) -> None:
    put(rota, "--every", "1h").expect(0)
    before = schedules(rota)
    for timing in (
        ("--every", "5"),
        ("--at", "2026-03-15T10:30:00"),
        ("--cron", "x", "--tz", "UTC"),
    ):
        put(rota, *timing).expect(2)
        assert schedules(rota) == before


def test_a_past_time_is_refused_for_a_name_of_nothing_half_set(rota: Project) -> None:
    """A past time runs at once, and is said to; it never waits for a time that won't come."""
    told = put(rota, "--at", "2020-01-01T00:00:00Z")
    if told.code == 0:
        assert re.search("pass", told.err)
        rota.agentctl("run", "--until-idle").expect(0)
        assert len(rota.ledger("poll p x ")) == 1
    else:
        told.expect_error(2, "2020-01-01")
    assert schedules(rota) == []


def test_c11_a_far_time_is_taken_as_it_is(rota: Project) -> None:
    words = ("invoke", "-t", "--schedule-at", "2099-01-01T00:00:00Z", POLLER, "poll", "x", "--json")
    told = rota.agentctl(*words).expect(0).json
    assert (told["status"], told["due"]) == ("scheduled", "2099-01-01T00:00:00.000000Z")
    put(rota, "--at", "9999-12-31T23:59:59Z").expect(0)
    found = named(rota, POLLER, "tick")
    assert found is not None
    assert found["due"].startswith("9999-12-31T23:59:59")
    rota.agentctl("run", "--until-idle").expect(0)
    assert rota.ledger() == []


@pytest.mark.parametrize(
    ("moment", "due"),
    [
        ((FAR,), FAR),
        (("2099-03-15T10:30:00+02:00",), "2099-03-15T08:30:00Z"),
        (("2099-03-15T10:30:00.250Z",), "2099-03-15T10:30:00.250Z"),
        (("@4077253800",), FAR),
        (("2099-03-15T10:30:00", "--tz", "Europe/Berlin"), "2099-03-15T09:30:00Z"),
        (("2099-07-15T10:30:00", "--tz", "Europe/Berlin"), "2099-07-15T08:30:00Z"),
        (("2099-03-15T10:30:00", "--tz", "Asia/Kolkata"), "2099-03-15T05:00:00Z"),
    ],
    ids=lambda value: " ".join(value).replace("/", "|") if isinstance(value, tuple) else "",
)
def test_a_moment_is_read_to_the_microsecond(
    rota: Project, moment: tuple[str, ...], due: str
) -> None:
    put(rota, "--at", *moment).expect(0)
    assert due_us(rota, POLLER, "tick") == to_us(due)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("1d2h30m", 95400), ("500ms", 0.5), ("PT5M", 300), ("1w", 604800)],
)
def test_a_duration_is_read_as_it_is_written(rota: Project, text: str, seconds: float) -> None:
    put(rota, "--every", text).expect(0)
    found = named(rota, POLLER, "tick")
    assert found is not None
    assert found["period_s"] == seconds


@pytest.mark.parametrize("how", [("--in", "2h"), ("--at", "+2h")], ids=["in", "at"])
def test_a_moment_from_now_on_is_meant_from_now_on(rota: Project, how: tuple[str, str]) -> None:
    before = datetime.now(UTC) + timedelta(hours=2)
    put(rota, *how).expect(0)
    after = datetime.now(UTC) + timedelta(hours=2)
    due = due_us(rota, POLLER, "tick") / 1_000_000
    assert before.timestamp() - 0.001 <= due <= after.timestamp() + 0.001


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("Polr/p", "poll", "x"), 3, "Poller"),
        (("Poller/p", "pol", "x"), 3, "poll"),
        (("Poller", "poll", "x"), 2, "name"),
        (("Poller/p", "poll"), 2, "url"),
        (("Poller/p", "poll", "x", "y"), 2, "url"),
        (("Poller/p", "slow", "x", "much"), 2, "seconds"),
    ],
    ids=["agent", "handler", "no-identity", "too-few", "too-many", "wrong"],
)
def test_a_wrong_target_is_refused_and_sets_nothing(
    rota: Project, words: tuple[str, ...], code: int, said: str
) -> None:
    told = rota.agentctl("schedule", "set", *words, *NAMED, "--every", "1h")
    told.expect_error(code, said)
    assert nothing_is_set(rota)


def test_a_schedule_without_a_name_is_refused(rota: Project) -> None:
    words = ("schedule", "set", POLLER, "poll", "x", "--every", "1h")
    rota.agentctl(*words).expect_error(2, "--name")
    assert nothing_is_set(rota)
