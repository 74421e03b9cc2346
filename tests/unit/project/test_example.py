"""`kavach.toml.example` is held against the code."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from agentctl.core.timing import Timing
from agentctl.project import reading
from agentctl.project.capability_tables import CAPABILITY_KEYS, RETRY_KEYS
from agentctl.project.explain import plain_setting
from agentctl.project.model import ScheduleConfig
from agentctl.project.reading import default_settings
from agentctl.project.schedule_tables import SCHEDULE_KEYS

from .conftest import Folder

EXAMPLE = (Path(__file__).parents[3] / "kavach.toml.example").read_text(encoding="utf-8")
LEFT_OUT = re.compile(r"^#(?=\S)", re.MULTILINE)
COMPLETE = LEFT_OUT.sub("", EXAMPLE)


def test_what_isnt_commented_out_is_a_project_of_nothing_but_defaults(folder: Folder) -> None:
    project = folder.load(EXAMPLE)
    assert (project.tz, project.root) == (None, folder.path)
    assert project.agent("Bot").settings == {}


def test_every_line_that_may_be_left_out_is_understood(folder: Folder) -> None:
    project = folder.load(COMPLETE)
    bot = project.agent("Bot")
    assert bot.capabilities.keys() == {"payments", "email"}
    assert bot.deny == {"payments.refund": "closed for the audit"}
    assert project.tz == "Europe/Berlin"


def test_the_values_shown_are_the_defaults(folder: Folder) -> None:
    project = folder.load(COMPLETE)
    assert project.agent("Bot").settings == default_settings()
    assert project.root == folder.load(EXAMPLE).root
    shown = tomllib.loads(COMPLETE)
    expected = {name: plain_setting(value) for name, value in default_settings().items()}
    assert shown["agents"]["Bot"]["settings"] == expected
    assert shown["engine"] == {"kind": "files"}


def test_every_key_that_the_code_knows_is_shown_and_no_other() -> None:
    shown = tomllib.loads(COMPLETE)
    bot = shown["agents"]["Bot"]
    assert list(shown) == list(reading.TOP_KEYS)
    assert list(shown["project"]) == list(reading.PROJECT_KEYS)
    assert list(bot) == list(reading.AGENT_KEYS)
    assert list(bot["settings"]) == list(default_settings())
    assert list(bot["capabilities"]["email"]) == list(CAPABILITY_KEYS)
    assert {*bot["capabilities"]["email"]["retry"], "delay"} == set(RETRY_KEYS)
    assert list(shown["engine"]) == list(reading.ENGINE_KEYS)
    schedules = shown["schedules"].values()
    assert {key for one in schedules for key in one} == set(SCHEDULE_KEYS)


def test_the_schedules_shown_have_the_defaults(folder: Folder) -> None:
    report, heartbeat, opening = folder.load(COMPLETE).schedule_tables.values()
    at = Timing(name="opening", due_us=4_077_253_800_000_000, anchored=True)
    assert opening == ScheduleConfig("opening", "Bot", "request", at)
    assert (report.instances, report.enabled) == ((("eu",), ("us",)), True)
    assert report.timing == Timing(name="report", cron="0 9 * * 1-5", tz="Europe/Berlin")
    assert heartbeat.timing.period_us == 300_000_000
    assert folder.load(EXAMPLE).schedules() == []


def test_every_key_has_a_line_that_explains_it() -> None:
    lines = EXAMPLE.splitlines()
    keys = [n for n, line in enumerate(lines) if re.match(r"#?[\w.\"]+ = |#?\[", line)]
    assert len(keys) == 51  # 42 keys with values, 9 tables
    for number in keys:
        assert re.match(r"# .+", lines[number - 1]) or lines[number].lstrip("#").startswith("["), (
            lines[number]
        )
