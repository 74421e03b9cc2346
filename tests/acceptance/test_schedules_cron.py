"""Cron by a zone's clock, above all on the two nights of its change (C8, C9)."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from .rota import make_rota, schedules
from .rounds import One, Rounds
from .support import Project

QUARTER = timedelta(minutes=15)
DUE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.0+)?Z")


@dataclass(frozen=True)
class Night:
    """An expression from a moment on, and its next due times in UTC."""

    case: str
    expression: str
    zone: str
    after: str
    due: tuple[str, ...]
    marked: int | None = None

    def __str__(self) -> str:
        return f"{self.case} {self.expression} {self.zone.replace('/', '-')} {self.after[:10]}"


# What comes twice: a fixed time once, every hour twice.
TWICE = [
    Night(
        "london",
        "30 1 * * *",
        "Europe/London",
        "2022-10-29T12:00:00Z",
        ("2022-10-30T00:30:00Z", "2022-10-31T01:30:00Z"),
        marked=0,
    ),
    Night(
        "pacific",
        "0 * * * *",
        "US/Pacific",
        "2026-11-01T07:30:00Z",
        ("2026-11-01T08:00:00Z", "2026-11-01T09:00:00Z", "2026-11-01T10:00:00Z"),
    ),
    Night(
        "berlin",
        "30 2 * * *",
        "Europe/Berlin",
        "2026-10-24T12:00:00Z",
        ("2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"),
        marked=0,
    ),
    Night(
        "berlin-hourly",
        "15 * * * *",
        "Europe/Berlin",
        "2026-10-24T23:30:00Z",
        ("2026-10-25T00:15:00Z", "2026-10-25T01:15:00Z", "2026-10-25T02:15:00Z"),
    ),
    Night(
        "half-an-hour",
        "45 1 * * *",
        "Australia/Lord_Howe",
        "2026-04-04T00:00:00Z",
        ("2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"),
        marked=0,
    ),
    Night(
        "london-half-hours",
        "*/30 * * * *",
        "Europe/London",
        "2022-10-29T23:45:00Z",
        tuple(f"2022-10-30T0{h}:{m}:00Z" for h in range(3) for m in ("00", "30")),
    ),
]

# What isn't there: once, at the first valid moment.
MISSING = [
    Night(
        "new-york",
        "30 2 * * *",
        "America/New_York",
        "2025-03-08T12:00:00Z",
        ("2025-03-09T07:00:00Z", "2025-03-10T06:30:00Z", "2025-03-11T06:30:00Z"),
        marked=0,
    ),
    Night(
        "new-york-day",
        "4 16 * * *",
        "America/New_York",
        "2025-03-08T12:00:00Z",
        ("2025-03-08T21:04:00Z", "2025-03-09T20:04:00Z", "2025-03-10T20:04:00Z"),
    ),
    Night(
        "berlin",
        "30 2 * * *",
        "Europe/Berlin",
        "2026-03-28T12:00:00Z",
        ("2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"),
        marked=0,
    ),
    Night(
        "berlin-hourly",
        "0 * * * *",
        "Europe/Berlin",
        "2026-03-28T23:30:00Z",
        ("2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"),
    ),
    Night(
        "at-midnight",
        "0 0 * * *",
        "America/Sao_Paulo",
        "2018-11-03T12:00:00Z",
        ("2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"),
        marked=0,
    ),
    Night(
        "half-an-hour",
        "15 2 * * *",
        "Australia/Lord_Howe",
        "2026-10-03T00:00:00Z",
        ("2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"),
        marked=0,
    ),
    Night(
        "quarters",
        "0 3 * * *",
        "Pacific/Chatham",
        "2026-09-25T15:00:00Z",
        ("2026-09-26T14:00:00Z", "2026-09-27T13:15:00Z"),
        marked=0,
    ),
]

PLAIN = [
    Night(
        "no-change",
        "30 2 * * *",
        "Asia/Kolkata",
        "2026-03-28T12:00:00Z",
        ("2026-03-28T21:00:00Z", "2026-03-29T21:00:00Z"),
    ),
    Night(
        "weekdays",
        "0 9 * * mon-fri",
        "Europe/Berlin",
        "2026-03-27T09:00:00Z",
        ("2026-03-30T07:00:00Z", "2026-03-31T07:00:00Z"),
    ),
    Night(
        "leap-day",
        "0 0 29 feb *",
        "UTC",
        "2026-01-01T00:00:00Z",
        ("2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"),
    ),
    Night(
        "now-itself",
        "0 9 * * *",
        "UTC",
        "2026-01-01T09:00:00Z",
        ("2026-01-02T09:00:00Z", "2026-01-03T09:00:00Z"),
    ),
]


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def ran_on(night: Night, *, restart: bool) -> list[datetime]:
    """When the expression's runs came, on a clock that begins at the night's own moment."""
    start, last = utc(night.after), utc(night.due[-1])
    # So that the clock hits each due time exactly.
    step = timedelta(minutes=1) if night.expression.startswith("4 ") else QUARTER
    rounds = Rounds(start=start)

    async def lives() -> None:
        async with rounds.life() as host:
            note = One.ref("a").note
            await note.cron(night.expression, tz=night.zone, name="night")("x")
            await rounds.pass_time(host, QUARTER, step)
        while rounds.clock.now < last + QUARTER:
            async with rounds.life() as host:
                while rounds.clock.now < last + QUARTER:
                    await rounds.pass_time(host, QUARTER, step)
                    if restart and rounds.clock.now.minute == 15:
                        break

    asyncio.run(lives())
    assert [one.due for one in rounds.ran()] == [one.at for one in rounds.ran()]
    return [one.at for one in rounds.ran()]


@pytest.mark.parametrize("restart", [False, True], ids=["one-program", "many"])
@pytest.mark.parametrize("night", TWICE, ids=str)
def test_c8_an_hour_that_comes_twice(night: Night, restart: bool) -> None:
    assert ran_on(night, restart=restart) == [utc(one) for one in night.due]


@pytest.mark.parametrize("restart", [False, True], ids=["one-program", "many"])
@pytest.mark.parametrize("night", MISSING, ids=str)
def test_c9_an_hour_that_is_not_there(night: Night, restart: bool) -> None:
    assert ran_on(night, restart=restart) == [utc(one) for one in night.due]


def test_c9_a_night_that_was_slept_through_is_one_run() -> None:
    """Down over the whole of a missing hour: the job in it isn't lost, and runs once."""
    rounds = Rounds(start=utc("2025-03-08T12:00:00Z"))

    async def lives() -> None:
        async with rounds.life():
            note = One.ref("a").note
            await note.cron("30 2 * * *", tz="America/New_York", name="night")("x")
        rounds.away(timedelta(hours=21))
        async with rounds.life() as host:
            await rounds.pass_time(host, timedelta(hours=22), QUARTER)

    asyncio.run(lives())
    dues = [one.due for one in rounds.ran()]
    assert dues == [utc("2025-03-09T07:00:00Z"), utc("2025-03-10T06:30:00Z")]
    assert [one.missed for one in rounds.ran()] == [1, 0]


# -- preview


@pytest.fixture(scope="module")
def rota(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return make_rota(Project.create(tmp_path_factory.mktemp("cron")))


def preview(project: Project, night: Night) -> list[str]:
    count = str(len(night.due))
    words = ("schedule", "preview", night.expression, "--tz", night.zone, "-n", count)
    return project.agentctl(*words, "--from", night.after).expect(0).out.splitlines()


def check_preview(project: Project, night: Night) -> None:
    """The due times line by line, and a mark in those of the nights of the change alone."""
    lines = preview(project, night)
    found = [DUE.search(line) for line in lines]
    assert [utc(one[0]) for one in found if one] == [utc(one) for one in night.due]
    assert all(one is not None and one.start() == 0 for one in found), lines
    plain = [DUE.sub("", line).strip() for line in lines]
    if night.marked is not None:
        assert plain[night.marked], f"the night of the change isn't marked: {lines}"
        others = [text for n, text in enumerate(plain) if n != night.marked]
        assert plain[night.marked] not in others, f"every line is marked: {lines}"


@pytest.mark.parametrize("night", TWICE, ids=str)
def test_c8_preview_shows_and_marks_what_comes_twice(rota: Project, night: Night) -> None:
    check_preview(rota, night)


@pytest.mark.parametrize("night", MISSING, ids=str)
def test_c9_preview_shows_and_marks_what_is_not_there(rota: Project, night: Night) -> None:
    check_preview(rota, night)


@pytest.mark.parametrize("night", PLAIN, ids=str)
def test_preview_of_any_other_day(rota: Project, night: Night) -> None:
    check_preview(rota, night)


def test_preview_from_now_on_and_as_json(rota: Project) -> None:
    words = ("schedule", "preview", "*/5 * * * *", "--tz", "UTC", "-n", "4")
    lines = rota.agentctl(*words).expect(0).out.splitlines()
    dues = [utc(one[0]) for line in lines if (one := DUE.search(line))]
    assert len(dues) == 4
    assert dues[0] > datetime.now(UTC) - timedelta(minutes=1)
    assert {b - a for a, b in pairwise(dues)} == {timedelta(minutes=5)}
    told = rota.agentctl(*words, "--json").expect(0).json
    assert told["schema"].startswith("agentctl.")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("61 * * * *", "--tz", "UTC"), "61"),
        (("0 9 * *", "--tz", "UTC"), "0 9 * *"),
        (("0 9 * * *", "--tz", "Europe/Berln"), "Europe/Berlin"),
        (("0 9 * * *",), "--tz"),
        (("0 9 * * *", "--tz", "UTC", "-n", "0"), "-n"),
        (("0 9 * * *", "--tz", "UTC", "--from", "2026-03-15T10:30:00"), "zone"),
    ],
    ids=["expression", "fields", "zone", "no-zone", "count", "from"],
)
def test_preview_refuses_what_it_can_not_read(
    rota: Project, words: tuple[str, ...], said: str
) -> None:
    told = rota.agentctl("schedule", "preview", *words).expect_error(2, said)
    assert told.out == ""
    assert schedules(rota) == []


def test_preview_needs_no_agent_and_sets_nothing(rota: Project) -> None:
    rota.agentctl("schedule", "preview", "0 9 * * *", "--tz", "UTC", "-n", "1").expect(0)
    assert schedules(rota) == []
    assert not rota.folder("Poller").exists()
