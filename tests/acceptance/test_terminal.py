"""A real terminal gets a table and colours; whoever says NO_COLOR gets no colours."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping

import pexpect
import pytest

from .support import STAMP, Project

COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;\d+)*m")
STYLE = re.compile(r"\x1b\[[0-9;]*m")


def on_a_terminal(
    project: Project, *args: str, env: Mapping[str, str] | None = None, columns: int = 120
) -> tuple[int, str]:
    """Run the command on a pseudo-terminal: its exit code, and all that it wrote there."""
    child = pexpect.spawn(
        sys.executable,
        ["-m", "agentctl", *args],
        cwd=str(project.root),
        env={**project.whole_environment(env), "TERM": "xterm-256color"},
        dimensions=(40, columns),
        encoding="utf-8",
        timeout=20,
    )
    try:
        child.expect(pexpect.EOF)
        written = child.before or ""
        child.wait()
    finally:
        child.close(force=True)
    assert child.exitstatus is not None, f"ended by signal {child.signalstatus}"
    return child.exitstatus, written


def test_the_journal_on_a_terminal_is_a_coloured_table(finished_shop: Project) -> None:
    code, written = on_a_terminal(finished_shop, "inspect", "journal", "Bot")
    assert code == 0
    assert COLOUR.search(written), "no colours on a terminal"
    assert "\t" not in written
    assert "Payments.refund" in written
    assert not STAMP.search(written), "times on a terminal are relative"
    piped = finished_shop.agentctl("inspect", "journal", "Bot").expect(0)
    assert "\x1b" not in piped.both


@pytest.mark.parametrize(
    ("flags", "env"), [((), {"NO_COLOR": "1"}), (("--color", "never"), {})], ids=["env", "flag"]
)
def test_who_wants_no_colours_gets_none(
    finished_shop: Project, flags: tuple[str, ...], env: dict[str, str]
) -> None:
    code, written = on_a_terminal(finished_shop, "inspect", "journal", "Bot", *flags, env=env)
    assert code == 0
    assert "Payments.refund" in written
    assert not COLOUR.search(written), repr(written)


def test_the_result_on_a_terminal_is_the_same_json(shop: Project) -> None:
    code, written = on_a_terminal(shop, "invoke", "Bot", "request", "7")
    assert code == 0
    lines = STYLE.sub("", written).splitlines()
    assert '"r7"' in lines
    assert "[pay] refund 7, key Bot-1-1" in lines


def test_json_on_a_terminal_has_no_colours(finished_shop: Project) -> None:
    code, written = on_a_terminal(finished_shop, "inspect", "journal", "Bot", "--json")
    assert code == 0
    assert not STYLE.search(written)


@pytest.mark.parametrize("columns", [20, 60])
def test_a_narrow_terminal_breaks_nothing(finished_shop: Project, columns: int) -> None:
    code, written = on_a_terminal(finished_shop, "inspect", "journal", "Bot", columns=columns)
    assert code == 0
    assert "Traceback" not in written
    for line in STYLE.sub("", written).splitlines():
        assert len(line) <= columns


@pytest.mark.parametrize("columns", [40, 80])
def test_records_of_schedules_fit_a_terminal(finished_shop: Project, columns: int) -> None:
    for words in (
        ("set", "Bot", "request", "9", "--name", "again", "--every", "1h"),
        ("set", "Bot", "request", "9", "--name", "2-1", "--cron", "0 9 * * *", "--tz", "UTC"),
        ("pause", "Bot", "again"),
        ("trigger", "Bot", "2-1"),
        ("cancel", "Bot", "2-1"),
    ):
        finished_shop.agentctl("schedule", *words).expect(0)
    code, written = on_a_terminal(finished_shop, "inspect", "journal", "Bot", columns=columns)
    lines = STYLE.sub("", written).splitlines()
    assert code == 0
    assert all(len(line) <= columns for line in lines)
    whole = "".join("".join(lines).split())  # a narrow column breaks a text anywhere
    for said in (
        "schedule again: request [9], due",
        "every 1h, paused, by ",
        "unschedule 2-1",
        "beside the schedule 2-1, due",
    ):
        assert said.replace(" ", "") in whole


def test_an_error_on_a_terminal_has_the_same_three_lines(finished_shop: Project) -> None:
    code, written = on_a_terminal(finished_shop, "invoke", "Bot", "reqest", "7")
    assert code == 3
    assert re.search(r"error: .*\r?\n {2}.*\r?\n(?: {2}.*\r?\n)*hint: ", STYLE.sub("", written))


@pytest.mark.parametrize("columns", [40, 80])
def test_schedules_on_a_terminal_say_how_soon_they_are_due(shop: Project, columns: int) -> None:
    words = ("set", "Bot", "request", "7", "--name")
    cron = ("report", "--cron", "0 9 * * 1-5", "--tz", "America/Argentina/Buenos_Aires")
    for timing in (("hourly", "--every", "1h", "--jitter", "1s"), cron):
        shop.agentctl("schedule", *words, *timing).expect(0)
    for look in (
        ("schedule", "list"),
        ("schedule", "show", "Bot", "report"),
        ("inspect", "schedules"),
        ("agent", "show", "Bot"),
        ("schedule", "preview", "30 2 * * *", "--tz", "Europe/Berlin", "-n", "300"),
    ):
        code, written = on_a_terminal(shop, *look, columns=columns)
        assert code == 0
        shown = STYLE.sub("", written)
        assert max(map(len, shown.splitlines())) <= columns, shown
        assert re.search(r"\bin \d+[mhd]\b", shown), shown
        assert not STAMP.search(shown), "times on a terminal are relative"
        assert "\t" not in shown
