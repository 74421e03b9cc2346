"""Three lines, one document, the right code, and no traceback but the user's."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentctl.cli.failures import failure_of, failure_of_end, three_lines, users_traceback
from agentctl.cli.options import GlobalOptions
from agentctl.cli.output import Output, plain
from agentctl.engines.port import Ended
from agentctl.errors import DiskTrouble, Locked
from agentctl.names import Address

REPOSITORY = Path(__file__).resolve().parents[3]
EVENT = Address("Bot", (), 1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("inspekt",), "did you mean inspect?"),
        (("inspect", "jornal"), "did you mean journal?"),
        (("inspect",), "journal, audit, set-aside, state"),
        (("inspect", "journal", "--grap", "x"), "did you mean --grep?"),
        (("inspect", "journal", "--kind", "bgu"), "did you mean bug?"),
        (("inspect", "journal", "--grep", "("), "regular expression"),
        (("inspect", "journal", "--since", "2026-03-15T10:30:00"), "2026-03-15T10:30:00Z"),
        (("inspect", "journal", "--since", "5"), "no moment"),
        (("inspect", "journal", "a", "b"), "unexpected extra argument"),
        (("invoke", "Bot", "shift", "-5"), "behind --"),
        (("invoke", "Bot#1", "request"), "is an event"),
        (("invoke", "Bot", "request", "7", "--args", "[7]"), "don't go together"),
        (("invoke", "Bot"), "HANDLER"),
        (("run", "--log-format", "xml"), "text or json"),
        (("run", "--until-idle=5"), "no duration"),
        (("run", "--concurrency", "0"), "--concurrency"),
        (("--what",), "no option --what"),
        (("help", "agian"), "did you mean again?"),
        (("invoke", "Bot", "request", "--jsn"), "did you mean --json?"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_understood_is_said_in_three_lines_and_gives_2(
    command: Any, desk: Any, words: tuple[str, ...], said: str
) -> None:
    ran = command(*words)
    assert ran.code == 2, ran.err
    assert said in ran.err
    first, second, third = ran.err.splitlines()
    assert first.startswith("error: ")
    assert second.startswith("  ")
    assert third.startswith("hint: ")
    assert ran.out == ""


def test_in_json_mode_an_error_is_one_document(command: Any) -> None:
    ran = command("--json", "inspekt")
    assert list(ran.error) == ["schema", "code", "error", "detail", "hint"]
    assert ran.error["schema"] == "agentctl.error/1"
    assert ran.error["code"] == 2
    assert command("--json", "--format", "xml").error["code"] == 2


def test_a_lock_is_said_as_the_page_says_it() -> None:
    why = "the agent Bot already runs in another program: its folder /srv/agents/Bot is locked"
    failure = failure_of(Locked(why, hint="stop that program"))
    assert three_lines(failure) == (
        f"error: Bot already runs in another program\n  {why}\nhint: stop that program"
    )
    assert failure.code == 5


def test_every_error_has_a_hint() -> None:
    assert failure_of(DiskTrouble("the journal can't be written")).hint


@pytest.mark.parametrize(
    ("end", "code", "said"),
    [
        (
            Ended(EVENT, "request", "failed", type="shop.Declined", text="no"),
            1,
            "shop.Declined: no",
        ),
        (Ended(EVENT, "request", "stuck", text="KeyError: 'a'", line="bot.py:3"), 1, "(bot.py:3)"),
        (Ended(EVENT, "request", "stuck", text="another call", divergence=True), 6, "another call"),
    ],
)
def test_each_end_has_its_code_and_its_way_on(end: Ended, code: int, said: str) -> None:
    failure = failure_of_end(end)
    assert failure.code == code
    assert said in three_lines(failure)
    assert (failure.event, failure.status) == ("Bot#1", end.status)


def test_a_bug_of_ours_gives_70_and_a_traceback_only_on_demand(
    command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> None:
        raise ValueError("surprise")

    monkeypatch.setattr("agentctl.ops.places.open_desk", broken)
    ran = command("inspect", "journal")
    assert ran.code == 70
    assert "Traceback" not in ran.err
    assert "surprise" in ran.err
    assert "Traceback" in command("inspect", "journal", "-vv").err


def test_ctrl_c_gives_130(command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("agentctl.ops.places.open_desk", interrupted)
    assert command("inspect", "journal").code == 130


def test_a_users_traceback_shows_the_users_frames_only(tmp_path: Path) -> None:
    source = "def f():\n    import json\n    json.loads('{')\n"
    scope: dict[str, Any] = {}
    exec(compile(source, str(tmp_path / "bot.py"), "exec"), scope)
    try:
        scope["f"]()
    except ValueError as error:
        lines = users_traceback(error)
    files = [line for line in lines if line.lstrip().startswith("File ")]
    assert any("bot.py" in line for line in files)
    assert not any("json" in line for line in files)
    assert lines[-1].startswith("json.decoder.JSONDecodeError")


def run(*words: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "agentctl", *words],
        env={"PYTHONPATH": str(REPOSITORY), "PATH": os.environ["PATH"], **environ},
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_no_encoding_of_a_pipe_breaks_a_command(tmp_path: Path, encoding: str) -> None:
    ran = run("inspect", "journal", "Bücher→", "--json", PYTHONIOENCODING=encoding)
    assert ran.returncode in (2, 3), ran.stderr
    assert b"Traceback" not in ran.stderr
    assert ran.stderr.decode(encoding)


def test_json_on_an_ascii_pipe_is_escaped_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    data = io.BytesIO()
    stream = io.TextIOWrapper(data, encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    Output(GlobalOptions(), {}).document('{"text":"é🙂"}'.encode())
    stream.flush()
    assert data.getvalue() == b'{"text":"\\u00e9\\ud83d\\ude42"}\n'


def test_a_reader_that_goes_away_is_no_error() -> None:
    program = subprocess.Popen(
        [sys.executable, "-m", "agentctl", "help", "again"],
        env={"PYTHONPATH": str(REPOSITORY), "PATH": os.environ["PATH"]},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert program.stdout is not None
    program.stdout.close()
    assert program.stderr is not None
    assert program.stderr.read() == b""
    assert program.wait(20) == 0
    program.stderr.close()


def test_a_full_disk_behind_stdout_is_said() -> None:
    with open("/dev/full", "wb") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "agentctl", "help", "again"],
            env={"PYTHONPATH": str(REPOSITORY), "PATH": os.environ["PATH"]},
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert ran.returncode == 74
    assert b"Traceback" not in ran.stderr


def test_text_is_plain() -> None:
    assert plain("a\tb\x1b[0m\n") == r"a\tb\x1b[0m\n"
