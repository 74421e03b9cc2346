"""Commands that go on looking: what they show, and that Ctrl-C is a good end."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .journals import AT, HEADER, LINES, write


def test_who_watches_in_a_pipe_gets_what_is_new(
    command: Any, bot: Path, pauses: Callable[..., None]
) -> None:
    more = b'{"event":6,"handler":"request","args":[9],"at":%d}' % AT
    pauses(lambda: None, lambda: write(command.folder, [*LINES, more]))
    ran = command("invocation", "list", "--status", "queued", "--watch")
    assert ran.code == 0
    assert [line.split("\t")[0] for line in ran.out.splitlines()] == ["Bot/xx#5", "Bot#6"]


def test_who_watches_on_a_terminal_gets_the_whole_screen_anew(
    command: Any, bot: Path, terminal: Callable[..., Any], pauses: Callable[..., None]
) -> None:
    stream = terminal(100)
    pauses(lambda: None)
    assert command("invocation", "list", "--watch").code == 0
    screens = stream.getvalue().split("\x1b[H\x1b[2J\x1b[3J")
    assert len(screens) == 3
    assert screens[1] == screens[2]


def test_a_screen_shows_what_fits_of_the_newest(
    command: Any,
    bot: Path,
    terminal: Callable[..., Any],
    pauses: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = terminal(100)
    monkeypatch.setenv("LINES", "5")
    pauses()
    assert command("invocation", "list", "--watch").code == 0
    shown = stream.getvalue()
    assert "Bot/xx#5" in shown
    assert "Bot/eu#2" not in shown


def test_who_follows_a_journal_gets_each_record_once(
    command: Any, bot: Path, pauses: Callable[..., None]
) -> None:
    more = b'{"start":5,"at":%d}' % AT
    kept = HEADER[:-1] + b',"kept":%d}' % (len(LINES) - 1)

    def replaced() -> None:
        (bot / "journal").unlink()
        write(command.folder, [kept, *LINES[1:], more])

    pauses(lambda: None, replaced)
    ran = command("inspect", "journal", "-f", "-n", "2")
    assert ran.code == 0
    assert [line.split("\t")[3] for line in ran.out.splitlines()] == [
        *("start", "bug", "journal", "start")
    ]
    # The instance was told by a line of long ago.
    assert ran.out.splitlines()[-1].split("\t")[2] == "Bot/xx#5"


@pytest.mark.parametrize("form", [("--json",), ("--format", "jsonl")], ids=str)
def test_for_a_program_a_followed_record_is_a_line(
    command: Any, bot: Path, pauses: Callable[..., None], form: tuple[str, ...]
) -> None:
    pauses()
    ran = command("inspect", "journal", "Bot", "--follow", *form)
    lines = [json.loads(line) for line in ran.out.splitlines()]
    assert [(one["schema"], one["agent"]) for one in lines] == [("agentctl.record/1", "Bot")] * len(
        LINES
    )
    assert "hunter2" not in ran.out


def test_on_a_terminal_a_followed_record_is_a_line_too(
    command: Any, bot: Path, terminal: Callable[..., Any], pauses: Callable[..., None]
) -> None:
    stream = terminal(40)
    pauses()
    assert command("inspect", "journal", "-f", "--kind", "bug").code == 0
    assert stream.getvalue().startswith("   14  10:53:20  Bot/us#4  bug  KeyError")


@pytest.mark.parametrize("flag", ["--raw", "-r"])
def test_following_goes_forward_and_shows_records(command: Any, bot: Path, flag: str) -> None:
    assert command("inspect", "journal", "-f", flag).code == 2
