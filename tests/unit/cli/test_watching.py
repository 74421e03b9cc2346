"""What counts as a save, and what the watching process does about it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from agentctl.cli.watched import VARIABLE, Watched
from agentctl.cli.watching import Saves, Watching


@pytest.fixture
def saves(tmp_path: Path) -> Saves:
    for name in ("agents", "state", "shop", "own-env"):
        (tmp_path / name).mkdir()
    (tmp_path / "own-env" / "pyvenv.cfg").touch()
    return Saves(tmp_path, [tmp_path / "agents", tmp_path / "state", tmp_path])


@pytest.mark.parametrize(
    "name",
    [
        "shop/bot.py",
        "kavach.toml",
        "shop/prompt.md",
        ".env",
        ".env.local",
        "deep/er/x.json",
        "env.py",
        *("shop/Prompt.TXT", "mail.jinja2", "kavach.local.toml"),
    ],
)
def test_what_a_person_writes_counts(saves: Saves, tmp_path: Path, name: str) -> None:
    assert saves.counts(tmp_path / name)


@pytest.mark.parametrize(
    "name",
    [
        *("agents/Bot/journal", "agents/Bot/x.py", "state/agents/Bot/journal", "shop"),
        *(".git/index", "shop/.mypy_cache/x.json", "venv/bin/x.py", "own-env/lib/x.py"),
        *("shop/__pycache__/bot.cpython-311.pyc", "node_modules/a/b.js", "shop/.bot.py.swp"),
        *("shop/bot.py~", "shop/4913", "#bot.py#", "~$notes.docx", "x.tmp", "server.log"),
        *(".env.swp", ".env~", "~$prompt.md", "flycheck_bot.py"),
        "../elsewhere.py",
    ],
)
def test_what_programs_leave_does_not(saves: Saves, tmp_path: Path, name: str) -> None:
    path = tmp_path.parent / name[3:] if name.startswith("../") else tmp_path / name
    assert not saves.counts(path)


@pytest.mark.parametrize(
    "name",
    [
        *("ledger", "shop/orders.db", "orders.sqlite3", "orders.sqlite3-wal", "out/sent.csv"),
        *("events.jsonl", "model.pkl", "mail.eml", "receipt.pdf", "uv.lock"),
    ],
)
def test_data_that_calls_write_does_not(saves: Saves, tmp_path: Path, name: str) -> None:
    assert not saves.counts(tmp_path / name)


def test_what_the_program_prints_to_does_not(tmp_path: Path) -> None:
    with (tmp_path / "out.txt").open("w") as out:
        saves = Saves(tmp_path, [], streams=[out.fileno(), 987654])
        assert not saves.counts(tmp_path / "out.txt")
        assert saves.counts(tmp_path / "gone.txt")
        (tmp_path / "other.txt").touch()
        assert saves.counts(tmp_path / "other.txt")


class Time:
    """A clock that a test moves on."""

    now_s = 0.0

    def monotonic_s(self) -> float:
        return self.now_s

    def now_us(self) -> int:
        raise AssertionError("nobody asks for the wall clock")

    def uptime(self) -> None:
        raise AssertionError("nobody asks for the uptime")


HANGS = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"


def test_a_program_that_hears_nothing_is_killed_some_seconds_after_a_save(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, programs, watching = Time(), [], None
    monkeypatch.setattr("signal.signal", lambda *_: None)

    def batches() -> Iterator[Sequence[str]]:
        assert watching is not None
        yield ()
        programs.append(watching._program)
        yield ("bot.py",)
        clock.now_s = 4.9
        yield ()
        assert programs[0].poll() is None, "it was killed before its time"
        clock.now_s = 5.1
        yield ()
        programs[0].wait(10)
        yield ()
        programs.append(watching._program)
        assert programs[1] is not programs[0]
        programs[1].kill()
        programs[1].wait(10)
        watching._asked = 15
        yield ()

    command = [sys.executable, "-c", HANGS]
    watching = Watching(command, batches(), clock, folder=tmp_path)  # type: ignore[arg-type]
    assert watching.run() == 128 + 9


def test_a_program_is_told_once_who_watches_and_why_it_was_started() -> None:
    environ: dict[str, Any] = {"OTHER": "x"}
    assert Watched.of(environ) is None
    for by_save in (True, False):
        environ[VARIABLE] = Watched.told(0, by_save=by_save)
        found = Watched.of(environ)
        assert found is not None
        assert found.by_save is by_save
        assert environ == {"OTHER": "x"}
        assert found.at_most() is None
