"""`[schedules.NAME]`: what is written is scheduled, and what can't be is one clear error."""

from __future__ import annotations

from typing import Any

import pytest

from agentctl.core.timing import Timing
from agentctl.errors import AgentctlError, UsageError
from agentctl.project.config import Flags, load_project
from agentctl.project.explain import explain
from agentctl.project.model import FileSchedule, Project

from .conftest import Folder

BOT = '[agents.Bot]\nclass = "shop.bot:Bot"\n'
REPORT = BOT + '[schedules.report]\nagent = "Bot"\nhandler = "daily"\n'  # 5 lines
MINUTE_US = 60_000_000
NINE_IN_BERLIN_US = 1_773_563_400_000_000  # 2026-03-15T08:30:00Z


def timing_of(folder: Folder, toml: str) -> Timing:
    (schedule,) = folder.load(REPORT + toml).schedules()
    return schedule.timing


def load(folder: Folder, toml: str, *settings: str, local: str = "") -> Project:
    folder.write("kavach.toml", toml)
    folder.write("kavach.local.toml", local)
    return load_project(folder.path, flags=Flags(settings=settings))


def rows(project: Project) -> dict[str, tuple[object, str]]:
    found = {key: (value, source) for key, value, source in explain(project)}
    return {key: row for key, row in found.items() if key.startswith("schedules.")}


def test_everything_that_is_written_is_scheduled(folder: Folder) -> None:
    toml = """\
    [project]
    tz = "Europe/London"
    [agents.Reporter]
    class = "shop.reporter:Reporter"
    [schedules.report]
    agent = "Reporter"
    instances = ["eu", "us"]
    handler = "daily"
    args = ["mail@example.org", 7, [true, 0.5]]
    kwargs = { since = 2026-03-15T09:30:00+01:00, day = 2026-03-15 }
    cron = "0 9 * * 1-5"
    tz = "Europe/Berlin"
    missed = "all"
    overlap = "queue"
    jitter = "30s"
    max_late = "1h"
    priority = "low"
    """
    timing = Timing(
        name="report",
        cron="0 9 * * 1-5",
        tz="Europe/Berlin",
        missed="all",
        overlap="queue",
        jitter_us=30_000_000,
        late_us=60 * MINUTE_US,
        priority="low",
    )
    args = ("mail@example.org", 7, [True, 0.5])
    kwargs = {"since": "2026-03-15T08:30:00.000000Z", "day": "2026-03-15"}
    assert folder.load(toml).schedules() == [
        FileSchedule("Reporter", (name,), "daily", args, kwargs, timing) for name in ("eu", "us")
    ]


@pytest.mark.parametrize(
    ("toml", "timing"),
    [
        ('every = "5m"', Timing(name="report", period_us=5 * MINUTE_US)),
        (
            'every = "5m"\nfirst = 2026-03-15T09:30:00+01:00',
            Timing(
                name="report",
                due_us=NINE_IN_BERLIN_US,
                period_us=5 * MINUTE_US,
                anchored=True,
            ),
        ),
        (
            'every = "PT5M"\nfirst = "2026-03-15 09:30:00"\ntz = "Europe/Berlin"',
            Timing(
                name="report",
                due_us=NINE_IN_BERLIN_US,
                period_us=5 * MINUTE_US,
                anchored=True,
            ),
        ),
        *(
            (at, Timing(name="report", due_us=NINE_IN_BERLIN_US, anchored=True))
            for at in (
                'at = "2026-03-15T08:30:00Z"',
                "at = 2026-03-15T08:30:00Z",
                'at = 2026-03-15T09:30:00\ntz = "Europe/Berlin"',
                'at = "2026-03-15T09:30"\ntz = "Europe/Berlin"',
            )
        ),
        (
            'cron = "0 0 * * *"\ntz = "utc"\nmax_late = "none"',
            Timing(name="report", cron="0 0 * * *", tz="UTC"),
        ),
    ],
)
def test_a_schedule_is_due_by_cron_in_a_rhythm_or_once(
    folder: Folder, toml: str, timing: Timing
) -> None:
    assert timing_of(folder, toml) == timing


def test_the_projects_zone_is_that_of_schedules_which_name_none(folder: Folder) -> None:
    berlin = '[project]\ntz = "Europe/Berlin"\n'
    (by_cron,) = folder.load(berlin + REPORT + 'cron = "0 9 * * *"').schedules()
    (once,) = folder.load(berlin + REPORT + "at = 2026-03-15T09:30:00").schedules()
    (every,) = folder.load(berlin + REPORT + 'every = "1h"').schedules()
    assert by_cron.timing.tz == "Europe/Berlin"
    assert once.timing.due_us == NINE_IN_BERLIN_US
    assert every.timing == Timing(name="report", period_us=60 * MINUTE_US)


@pytest.mark.parametrize(
    ("instances", "identities"),
    [
        ("", [()]),
        ('instances = ["eu/7"]', [("eu/7",)]),
        ("instances = [7, true]", [("7",), ("true",)]),
        ('instances = [["eu", 7], ["us", 9]]', [("eu", "7"), ("us", "9")]),
    ],
)
def test_each_instance_has_a_schedule_of_its_own(
    folder: Folder, instances: str, identities: list[tuple[str, ...]]
) -> None:
    project = folder.load(f'{REPORT}every = "1h"\n{instances}')
    assert [each.identity for each in project.schedules()] == identities


def test_one_that_isnt_enabled_is_as_if_it_werent_there(folder: Folder) -> None:
    project = folder.load(REPORT + 'every = "1h"\nenabled = false')
    assert project.schedules() == []
    assert rows(project)["schedules.report.enabled"] == (False, "kavach.toml:7")


def test_the_local_file_and_set_go_over_it_key_by_key(folder: Folder) -> None:
    toml = REPORT + 'every = "1h"\nfirst = 2026-03-15T08:30:00Z\nargs = [7]'
    local = "[schedules.report]\nargs = [8]\n"
    project = load(folder, toml, "schedules.report.every=2s", local=local)
    (schedule,) = project.schedules()
    assert (schedule.args, schedule.timing.period_us) == ((8,), 2_000_000)
    assert schedule.timing.due_us == NINE_IN_BERLIN_US
    found = rows(project)
    assert found["schedules.report.args"] == ("[8]", "kavach.local.toml:2")
    assert found["schedules.report.every"] == ("2s", "--set")
    assert found["schedules.report.handler"] == ("daily", "kavach.toml:5")


def test_another_way_above_takes_the_place_of_the_one_below(folder: Folder) -> None:
    by_cron = REPORT + 'cron = "0 9 * * *"\nmissed = "skip"\n'
    (schedule,) = load(folder, by_cron, "schedules.report.every=1s").schedules()
    assert schedule.timing == Timing(name="report", period_us=1_000_000, missed="skip")
    every = REPORT + 'every = "1h"\nfirst = 2026-03-15T08:30:00Z\n'
    local = "[schedules.report]\nat = 2026-03-15T08:30:00Z\n"
    project = load(folder, every, local=local)
    assert rows(project)["schedules.report.at"] == (
        "2026-03-15T08:30:00.000000Z",
        "kavach.local.toml:2",
    )
    assert "schedules.report.every" not in rows(project)


def test_what_is_wrong_with_set_is_said_of_set(folder: Folder) -> None:
    with pytest.raises(UsageError, match=r"--set schedules\.report\.every: expected a duration"):
        load(folder, REPORT + 'every = "1h"', "schedules.report.every=soon")


def test_config_show_tells_every_value_and_its_source(folder: Folder) -> None:
    toml = '[project]\ntz = "Europe/Berlin"\n' + REPORT
    toml += 'cron = "0 9 * * *"\ninstances = ["eu", ["us", "7"]]\nkwargs = { to = "ana" }\n'
    assert rows(folder.load(toml)) == {
        "schedules.report.agent": ("Bot", "kavach.toml:6"),
        "schedules.report.instances": ('["eu", ["us", "7"]]', "kavach.toml:9"),
        "schedules.report.handler": ("daily", "kavach.toml:7"),
        "schedules.report.kwargs": ('{"to": "ana"}', "kavach.toml:10"),
        "schedules.report.cron": ("0 9 * * *", "kavach.toml:8"),
        "schedules.report.tz": ("Europe/Berlin", "kavach.toml:2"),
        "schedules.report.missed": ("coalesce", "default"),
        "schedules.report.overlap": ("skip", "default"),
        "schedules.report.jitter": ("0s", "default"),
        "schedules.report.max_late": ("none", "default"),
        "schedules.report.priority": ("medium", "default"),
        "schedules.report.enabled": (True, "default"),
    }


EVERY = 'every = "1h"\n'


@pytest.mark.parametrize(
    ("toml", "line", "says", "hint"),
    [
        ("", 3, "schedules.report.cron: the key is missing", "write one of cron, every, at"),
        (EVERY + 'cron = "* * * * *"', 7, "every and cron stand together", "one of cron, every"),
        (EVERY + 'agnet = "Bot"', 7, "report.agnet: there is no such key", "mean agent?"),
        (EVERY + "args = 7", 7, "args: expected a list, not the number 7", "for example"),
        (EVERY + "args = [nan]", 7, "args: expected what JSON can hold, not the number nan", None),
        (EVERY + "args = [[inf]]", 7, "expected what JSON can hold", None),
        (EVERY + "args = [9223372036854775808]", 7, "expected what JSON can hold", None),
        (EVERY + "args = [10:00:00]", 7, "expected what JSON can hold, not a date or", None),
        (EVERY + "args = [2026-03-15T10:30:00]", 7, "args: expected a time with an", None),
        (EVERY + "kwargs = [7]", 7, "kwargs: expected a table, not an array", None),
        (EVERY + 'kwargs = { "a b" = 1 }', 7, 'kwargs."a b": expected the name of an', None),
        (EVERY + "kwargs = { a = nan }", 7, "kwargs.a: expected what JSON can hold", None),
        (EVERY + 'instances = "eu"', 7, "instances: expected a list of identities", "leave"),
        (EVERY + "instances = []", 7, "expected a list of identities, not an empty one", None),
        (EVERY + "instances = 0", 7, "expected a list of identities, not the number 0", None),
        (EVERY + "instances = [0.5]", 7, "expected a text, or a list of one text a field", None),
        (EVERY + "instances = [[]]", 7, "expected a text, or a list of one text a field", None),
        (EVERY + 'instances = ["7", 7]', 7, "the same instance stands there twice", None),
        (EVERY + "enabled = 1", 7, "enabled: expected true or false, not the number 1", None),
        (EVERY + 'missed = "al"', 7, "missed: expected coalesce, skip or all, not", "mean all?"),
        (EVERY + 'overlap = "alow"', 7, "overlap: expected skip, queue or allow", "mean allow?"),
        (EVERY + 'priority = "hi"', 7, "priority: expected high, medium or low", None),
        (EVERY + 'jitter = "5"', 7, "jitter: expected a duration, not", "with a unit"),
        (EVERY + 'jitter = "none"', 7, "jitter: expected a duration, not", None),
        (EVERY + 'max_late = "x"', 7, 'max_late: expected a duration or "none"', None),
        (EVERY + 'first = "soon"', 7, "first: expected a time with an offset", None),
        (EVERY + "first = 7", 7, "first: expected a time with an offset", None),
        (EVERY + 'tz = "Europe/Berlin"', 7, "tz: nothing would read it", "take the key out"),
        ('every = "0s"', 6, "every: the period, 0s, is too short", "the shortest is"),
        (EVERY + 'jitter = "1h"', 7, "jitter: the jitter 1h is too long", "shorter than 1h"),
        (EVERY + f'max_late = "{"9" * 9}d"', 7, "max_late: the time that it may be late", "long"),
        ('cron = "0 9 * *"\ntz = "UTC"', 6, "cron: '0 9 * *' has 4 fields", "minute, hour"),
        ('cron = "0 25 * * *"\ntz = "UTC"', 6, "cron: '25' in '0 25 * * *' is no hour", "0 to"),
        ('cron = "0 9 30 2 *"\ntz = "UTC"', 6, "never comes", None),
        ('every = "60"', 6, "every: expected a duration, not", "with a unit"),
        ("every = 60", 6, "every: expected a text, not the number 60", 'write "60s"'),
        ('cron = "0 9 * * *"', 3, "tz: the key is missing: cron needs a time zone", "[project]"),
        ('cron = "0 9 * * *"\ntz = "Europe/Berln"', 7, "a time zone", "Europe/Berlin"),
        ('cron = "0 9 * * *"\ntz = "localtime"', 7, "tz: expected a time zone", None),
        (
            'cron = "0 9 * * *"\ntz = "UTC"\nfirst = 2026-03-15T08:30:00Z',
            8,
            "first: nothing would read it beside cron",
            "take",
        ),
        ("at = 2026-03-15T08:30:00Z\nmissed = 'all'", 7, "missed: nothing would read it", None),
        ("at = 2026-03-15T08:30:00Z\njitter = '1s'", 7, "jitter: nothing would read it", None),
        ("at = 2026-03-15T08:30:00Z\ntz = 'UTC'", 7, "tz: nothing would read it", None),
        ("at = 2026-03-15T08:30:00", 6, "at: expected a time with an offset", 'tz = "Europe'),
        ("at = 2026-03-15", 6, "at: expected a time with an offset", None),
        ('at = "2026-03-15"', 6, "at: expected a time with an offset", None),
        ('at = "now"', 6, "at: expected a time with an offset", None),
        ("at = 1026-03-15T08:30:00Z", 6, "at: expected a time from 1970 to 9999", None),
        ("at = 9999-12-31T23:59:59-01:00", 6, "at: expected a time from 1970 to 9999", None),
        (
            'at = 2026-03-29T02:30:00\ntz = "Europe/Berlin"',
            6,
            "at: 2026-03-29T02:30:00 isn't there in Europe/Berlin",
            "+01:00, or",
        ),
        (
            'at = 2026-10-25T02:30:00\ntz = "Europe/Berlin"',
            6,
            "at: 2026-10-25T02:30:00 comes twice in Europe/Berlin",
            "2026-10-25T02:30:00+02:00, or 2026-10-25T02:30:00+01:00",
        ),
    ],
)
def test_a_mistake_names_file_line_key_and_what_was_expected(
    folder: Folder, toml: str, line: int, says: str, hint: str | None
) -> None:
    expect(folder.refusal(REPORT + toml), folder, line, (says, hint))


@pytest.mark.parametrize(
    ("toml", "line", "says", "hint"),
    [
        ("schedules = 3\n", 1, "schedules: expected a table", None),
        ("[schedules]\nx = 3\n", 2, "schedules.x: expected a table", None),
        ("[schedule.x]\n", 1, "schedule: there is no such key", "did you mean schedules?"),
        ("[schedules.x]\n", 1, "schedules.x.agent: the key is missing", None),
        ('[schedules.x]\nagent = "Bot"\n', 1, "schedules.x.handler: the key is missing", None),
        (
            BOT + '[schedules.x]\nagent = "Bto"\nhandler = "h"\nevery = "1h"\n',
            4,
            "schedules.x.agent: the project has no agent 'Bto'",
            "did you mean Bot?",
        ),
        (
            BOT + '[schedules.x]\nagent = "Bot"\nhandler = "a b"\n',
            5,
            "handler: expected a method's name",
            None,
        ),
        ('[schedules."a\\tb"]\n', 1, "a / or a control character in it", "daily-report"),
        ('[schedules."a/b"]\n', 1, "a / or a control character in it", "daily-report"),
        ('[schedules.""]\n', 1, "name '' is empty", None),
        ('[schedules." a"]\n', 1, "begins or ends with a space", None),
        (f"[schedules.{'x' * 129}]\n", 1, "has 129 characters", "at most 128"),
    ],
)
def test_a_table_that_is_no_schedule_is_one_clear_error(
    folder: Folder, toml: str, line: int, says: str, hint: str | None
) -> None:
    expect(folder.refusal(toml), folder, line, (says, hint))


def expect(error: AgentctlError, folder: Folder, line: int, told: tuple[str, Any]) -> None:
    assert error.exit_code == 7
    assert error.message.startswith(f"{folder.path}/kavach.toml:{line}: ")
    says, hint = told
    assert says in error.message
    assert hint is None or hint in str(error.hint)
