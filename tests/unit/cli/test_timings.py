"""When a schedule is due, as it is typed: what is read, and what is refused (C9, C12)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from agentctl.core.timing import Timing
from agentctl.times import SECOND_US

NOW = 1_773_570_600_000_000  # 2026-03-15T10:30:00Z
HOUR_US = 3600 * SECOND_US


@pytest.fixture
def ask(
    command: Any, desk: Any, code: None, engine: Any, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Timing]:
    """Set a schedule, at a time that stands still; answer what was asked for."""
    monkeypatch.setattr("agentctl.times.SystemClock.now_us", lambda _: NOW)

    def ask(*options: str) -> Timing:
        ran = command("schedule", "set", "Bot", "request", "7", "--name", "x", *options)
        assert ran.code == 0, ran.err
        timing: Timing = desk.sets[-1].timing
        return timing

    return ask


@pytest.mark.parametrize(
    ("options", "timing"),
    [
        (("--at", "2026-03-15T12:30:00+01:00"), Timing("x", NOW + HOUR_US, anchored=True)),
        (("--at", "@1773570600"), Timing("x", NOW, anchored=True)),
        (("--at", "+1h"), Timing("x", NOW + HOUR_US)),
        (("--at", "now"), Timing("x", NOW)),
        (
            ("--at", "2026-03-15T12:30:00", "--tz", "Europe/Berlin"),
            Timing("x", NOW + HOUR_US, anchored=True),
        ),
        (("--in", "PT1H"), Timing("x", NOW + HOUR_US)),
        (("--every", "1h"), Timing("x", NOW + HOUR_US, HOUR_US)),
        (
            ("--every", "1h", "--first", "2026-03-15T10:30:00Z"),
            Timing("x", NOW, HOUR_US, anchored=True),
        ),
        (
            ("--cron", "0 9 * * 1-5", "--tz", "Europe/Berlin"),
            Timing("x", cron="0 9 * * 1-5", tz="Europe/Berlin"),
        ),
        (
            (
                *("--every", "1h", "--missed", "all", "--overlap", "queue"),
                *("--jitter", "5s", "--max-late", "500ms"),
            ),
            Timing(
                *("x", NOW + HOUR_US, HOUR_US),
                missed="all",
                overlap="queue",
                jitter_us=5 * SECOND_US,
                late_us=SECOND_US // 2,
            ),
        ),
        (("--in", "1h", "-i", "k"), Timing("x", NOW + HOUR_US, key="k")),
        (("--in", "1h", "--priority", "low"), Timing("x", NOW + HOUR_US, priority="low")),
    ],
    ids=str,
)
def test_each_form_is_read(
    ask: Callable[..., Timing], options: tuple[str, ...], timing: Timing
) -> None:
    assert ask(*options) == timing


def test_a_cron_expression_is_in_the_projects_zone_unless_another_is_named(
    command: Any, ask: Callable[..., Timing]
) -> None:
    file = command.folder / "kavach.toml"
    file.write_text(f'[project]\ntz = "Asia/Tokyo"\n{file.read_text()}')
    assert ask("--cron", "0 9 * * *").tz == "Asia/Tokyo"
    assert ask("--cron", "0 9 * * *", "--tz", "UTC").tz == "UTC"
    assert ask("--every", "1h").tz is None
    ran = command("schedule", "preview", "0 9 * * *", "-n", "1")
    assert "T09:00:00+09:00" in ran.out


def test_a_made_key_is_said(command: Any, desk: Any, code: None, engine: Any) -> None:
    ran = command("schedule", "set", "Bot", "request", "7", "--name", "x", "--in", "1h", "-i", "-")
    key = desk.sets[0].timing.key
    assert len(key) == 32
    assert f"idempotency key: {key}\n" in ran.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "it isn't said when"),
        (("--at", "now", "--in", "1h"), "--at and --in don't go together"),
        (("--every", "1h", "--cron", "* * * * *"), "--every and --cron don't go together"),
        (("--first", "now", "--in", "1h"), "--first goes with --every"),
        (("--at", "2026-03-15T10:30:00"), "; or name its zone with --tz"),
        (("--every", "1h", "--first", "2026-03-15T10:30:00"), "--first: "),
        (("--at", "2026-10-25T02:30:00", "--tz", "Europe/Berlin"), "comes twice"),
        (("--at", "@99999999999999"), "none that a date can show"),
        (("--in", "99999999d"), "--in: this moment is none"),
        (("--in", "5"), "with a unit"),
        (("--every", "60"), "--every: '60' is no duration"),
        (("--every", "0s"), "too short"),
        (("--every", "1h", "--jitter", "5"), "--jitter: '5' is no duration"),
        (("--every", "1h", "--max-late", "5"), "--max-late: '5' is no duration"),
        (("--every", "1h", "--jitter", "2h"), "too long"),
        (("--every", "1h", "--tz", "UTC"), "--tz says in which zone"),
        (("--every", "1h", "-i", "k"), "-i names one event"),
        (("--every", "1h", "--missed", "skp"), "did you mean skip?"),
        (("--every", "1h", "--overlap", "que"), "did you mean queue?"),
        (("--in", "1h", "--missed", "coalesce"), "--missed goes with --every and --cron"),
        (("--at", "now", "--missed", "all", "--overlap", "skip"), "--missed and --overlap go with"),
        (("--cron", "0 9 * * *"), "needs a zone"),
        (("--cron", "0 9 * * *", "--tz", "Europe/Berln"), "did you mean Europe/Berlin?"),
        (("--cron", "0 25 * * *", "--tz", "UTC"), "is no hour"),
        (("--cron", "0 9 * *", "--tz", "UTC"), "cron has five"),
        (("--in", "1h", "--args", "[7]"), "don't go together"),
        (("--in", "1h", "--priority", "urgent"), "it is high, medium or low"),
        (("--in", "1h", "--lock-wait", "5"), "--lock-wait"),
    ],
    ids=str,
)
def test_what_is_not_clear_is_refused_and_nothing_is_set(
    command: Any, desk: Any, options: tuple[str, ...], said: str
) -> None:
    ran = command("schedule", "set", "Bot", "request", "7", "--name", "x", *options)
    assert (ran.code, ran.out, desk.sets) == (2, "", [])
    assert said in ran.err
    assert len(ran.err.splitlines()) == 3


@pytest.mark.parametrize("name", ["", " x", "a/b", "x" * 129], ids=["empty", "blank", "/", "long"])
def test_a_name_that_can_not_be_one_is_refused(
    command: Any, desk: Any, code: None, engine: Any, name: str
) -> None:
    ran = command("schedule", "set", "Bot", "request", "7", "--name", name, "--every", "1h")
    assert (ran.code, desk.sets) == (2, [])


def test_who_names_nothing_is_told(command: Any, desk: Any) -> None:
    ran = command("schedule", "set", "Bot", "request", "7", "--every", "1h")
    assert ran.code == 2
    assert "--name" in ran.err


@pytest.mark.parametrize(
    ("words", "out"),
    [
        (
            ("4 16 9 * *", "--tz", "America/New_York", "--from", "2025-03-09T00:00Z", "-n", "1"),
            ["2025-03-09T20:04:00.000000Z\t2025-03-09T16:04:00-04:00\t-"],
        ),
        (
            ("0 9 * * *", "--tz", "UTC", "--from", "2026-03-14T09:00:00Z", "-n", "2"),
            [
                "2026-03-15T09:00:00.000000Z\t2026-03-15T09:00:00+00:00\t-",
                "2026-03-16T09:00:00.000000Z\t2026-03-16T09:00:00+00:00\t-",
            ],
        ),
    ],
)
def test_a_preview_in_a_pipe_is_utc_local_and_note(
    command: Any, words: tuple[str, ...], out: list[str]
) -> None:
    ran = command("schedule", "preview", *words)
    assert ran.out.splitlines() == out


def test_c9_a_preview_marks_the_night_on_which_an_hour_is_missing(
    command: Any, tmp_path_factory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("nowhere"))  # it needs no project
    words = ("30 2 * * *", "--tz", "America/New_York", "--from", "2025-03-09T00:00Z", "-n", "2")
    first, second = (
        line.split("\t") for line in command("schedule", "preview", *words).out.splitlines()
    )
    assert first[0] == "2025-03-09T07:00:00.000000Z"
    assert "02:30" in first[2]
    assert second[2] == "-"
    document = json.loads(command("schedule", "preview", *words, "--json").out)
    assert (document["schema"], document["cron"]) == ("agentctl.schedule-preview/1", "30 2 * * *")
    assert [one["note"] is None for one in document["times"]] == [False, True]


@pytest.mark.parametrize("width", [80, 40])
def test_a_preview_fits_its_terminal(
    command: Any, terminal: Callable[..., Any], width: int
) -> None:
    stream = terminal(width)
    words = ("30 2 * * *", "--tz", "Europe/Berlin", "--from", "2026-03-28T00:00Z", "-n", "3")
    assert command("schedule", "preview", *words, "--color", "never").code == 0
    shown = stream.getvalue()
    assert max(map(len, shown.splitlines())) <= width
    assert "isn't there" in " ".join(shown.split())


@pytest.mark.parametrize(
    "words",
    [
        ("0 9 * * *",),
        ("0 9 * * *", "--tz", "Europe/Berln"),
        ("@daily", "--tz", "UTC"),
        ("0 9 31 2 *", "--tz", "UTC"),
        ("0 9 * * *", "--tz", "UTC", "-n", "0"),
        ("0 9 * * *", "--tz", "UTC", "--from", "soon"),
        ("0 9 * * *", "--tz", "UTC", "--from", "2026-03-14T09:00:00"),
    ],
    ids=str,
)
def test_a_preview_of_nothing_is_refused(command: Any, words: tuple[str, ...]) -> None:
    ran = command("schedule", "preview", *words)
    assert (ran.code, ran.out) == (2, "")
    assert len(ran.err.splitlines()) == 3
