"""Narrow terminals: lines break at blanks, and the newest stays on the screen."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentctl.cli.folding import fold
from agentctl.cli.telling import log
from agentctl.cli.topics import TOPICS

from .journals import AT, HEADER, write

STYLE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.parametrize("width", [40, 60, 78])
def test_topics_fit_and_lose_no_word(
    command: Any, topic: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    shown = command("help", topic).out
    assert max(map(len, shown.splitlines())) <= max(width, 40)
    lost = set(re.findall(r"[\w.-]+", TOPICS[topic].text)) - set(re.findall(r"[\w.-]+", shown))
    titles = {word for word in lost if not set(word) <= {"-"}}
    assert titles <= {"the", "event", "is", "first", "code"}, "titles of first columns only"


def test_a_row_that_goes_on_is_told_as_one(command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    shown = command("help", "again").out
    assert "  was cut off (a crash, a stop)\n      again by: the next start, by\n" in shown
    monkeypatch.setenv("COLUMNS", "100")
    assert command("help", "again").out == TOPICS["again"].text


@pytest.mark.parametrize("words", [("invoke",), ("requeue", "set-aside"), ("run",)], ids=" ".join)
def test_a_usage_line_breaks_at_blanks(
    command: Any, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    shown = command("help", *words).out
    begin = shown.index("Usage:")
    usage = shown[begin : shown.index("\n\n", begin)].split("\n")
    assert max(map(len, usage)) <= 40
    assert usage[-1].endswith("[OPTION]...")


def test_lines_break_at_blanks_and_not_in_a_command_that_fits() -> None:
    hint = "hint: put it back with: agentctl requeue set-aside Bot 1; it keeps its calls"
    assert fold(hint, 40).split("\n") == [
        "hint: put it back with:",
        "  agentctl requeue set-aside Bot 1; it",
        "  keeps its calls",
    ]
    assert fold(hint, 200) == hint
    assert max(map(len, fold(hint, 24).split("\n"))) <= 24, "a longer command breaks like the rest"
    assert fold("  so-long-a-word-that-nothing-helps", 10).strip() == (
        "so-long-a-word-that-nothing-helps"
    )


def test_what_goes_into_a_pipe_is_not_broken(command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    written = command("invocation", "show", "Bto#1", env={"COLUMNS": "40"}).err
    assert len(written.splitlines()) == 3


def test_errors_and_notes_on_a_terminal_are_broken_at_blanks(
    command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(command.folder, [HEADER])
    stream = io.StringIO()
    stream.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", stream)
    command("invocation", "show", "Bot#99", env={"COLUMNS": "40"})
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= 40
    assert "  agentctl invocation list Bot; and what" in lines


def test_a_traceback_in_a_log_keeps_its_blanks(
    command: Any, engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "    await self.email.send(order_id, receipt.number)"
    stream = io.StringIO()
    stream.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", stream)

    def tell() -> None:
        log.error("  %s", source)
        log.error("a line of the log that is much longer than forty columns are")

    engine.during = tell
    command("run", "--until-idle", env={"COLUMNS": "40"})
    lines = stream.getvalue().splitlines()
    assert any(line.endswith(f" error:   {source}") for line in lines)
    assert "         is much longer than forty" in lines


def test_audit_lines_on_a_terminal_are_broken_at_blanks(
    command: Any, desk: Any, terminal: Callable[..., Any]
) -> None:
    line = "2026-11-30T18:02:22.678606Z Bot started: 0 events unfinished"
    desk.audits = {"Bot": [line]}
    assert command("inspect", "audit").out == f"{line}\n"
    stream = terminal(40)
    command("inspect", "audit")
    assert stream.getvalue() == f"{line[:40].rstrip()}\n  {line[40:].strip()}\n"


def test_the_newest_events_stay_on_a_screen_however_high_their_rows_are(
    command: Any,
    terminal: Callable[..., Any],
    pauses: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    long = b'{"event":%d,"handler":"request","args":[7],"at":%d}'
    bug = b'{"bug":%d,"text":"' + b"word " * 60 + b'","at":2}'
    events = [long % (number, AT) for number in range(1, 9)]
    starts = [b'{"start":%d,"at":1}' % number for number in range(1, 9)]
    write(command.folder, [HEADER, *events, *starts, *(bug % number for number in range(1, 9))])
    monkeypatch.setenv("LINES", "12")
    for width in (40, 100):
        stream = terminal(width)
        pauses()
        command("invocation", "list", "--watch")
        lines = STYLE.sub("", stream.getvalue()).splitlines()
        assert len(lines) <= 12
        assert any("Bot#8" in line for line in lines)
        assert not any("Bot#1 " in line or line == "Bot#1" for line in lines)


def test_states_on_a_terminal_are_a_table(
    command: Any, bot: Path, terminal: Callable[..., Any]
) -> None:
    piped = command("inspect", "state").out
    assert piped == 'Bot/eu\t{"count":3,"token":"***"}\n'
    stream = terminal(80)
    command("inspect", "state", env={"NO_COLOR": "1"})
    lines = [line.rstrip() for line in stream.getvalue().splitlines()]
    assert lines == ["instance  state", 'Bot/eu    {"count": 3, "token": "***"}']
