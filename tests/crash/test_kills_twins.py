"""Each kind of point of the matrix once more, with a real `kill -9` and on real files.

A program sends itself SIGKILL at the point; the next ones start for real. What must hold is the
same as for kills at random moments (killing.py).
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from killing import PROGRAM, check_folder, environment, settled_now, words_of
from reading_raw import Seen, set_aside_numbers

DEATHS = 3
"""One start with a new result, and as many without one as `max_starts` says (R10)."""


class Folder:
    """A folder in which one program after another dies."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.settled = []

    def _run(self, act: str, kind: str = "never", number: int = 1) -> subprocess.CompletedProcess:
        command = [sys.executable, str(PROGRAM), str(self.path), act, kind, str(number)]
        return subprocess.run(
            command, env=environment(), capture_output=True, text=True, timeout=60, check=False
        )

    def die(self, act: str, kind: str, number: int = 1) -> None:
        """Run a program that kills itself at the `number`-th `kind`."""
        ended = self._run(act, kind, number)
        assert ended.returncode == -signal.SIGKILL, f"it never came to {kind}: {ended.stderr}"
        self.settled.append(settled_now(self.path))

    def run(self, act: str = "") -> None:
        """Run a program to its end."""
        ended = self._run(act)
        assert ended.returncode == 0, ended.stderr

    def copy(self, path: Path) -> Folder:
        twin = Folder(path)
        shutil.copytree(
            self.path, path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("control")
        )  # a socket that a killed program left can't be copied
        twin.settled = list(self.settled)
        return twin

    @property
    def aside(self) -> tuple[list[int], set[int]]:
        """What lies in set-aside, and what the journal says of it."""
        folder = self.path / "agents/Bot"
        file = folder / "set-aside"
        listed = set_aside_numbers(file.read_bytes()) if file.exists() else []
        return listed, Seen((folder / "journal").read_bytes()).asides

    def check(self, *dropped: int) -> None:
        check_folder(self.path, self.settled, dropped=frozenset(dropped))

    def made(self, key: str) -> int:
        return sum(words[0] == key for words in words_of(self.path / "ledger"))


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


@pytest.fixture(scope="module")
def all_but_aside(tmp_path_factory):
    """Event 1 has killed its programs, and the next start will set it aside."""
    folder = Folder(tmp_path_factory.mktemp("all-but-aside"))
    folder.die("deadly", "deadly")
    for _ in range(DEATHS - 1):
        folder.die("", "deadly")
    return folder


@pytest.fixture(scope="module")
def set_aside(all_but_aside, tmp_path_factory):
    folder = all_but_aside.copy(tmp_path_factory.mktemp("aside"))
    folder.run()
    assert folder.aside == ([1], {1})
    return folder


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        pytest.param("accepting", 2, id="accepting, before it is on record"),
        pytest.param("write journal.new", 2, id="accepting, half on record"),
        pytest.param("wrote journal.new", 2, id="accepting, on record"),
        pytest.param("deed", 1, id="in a call"),
        pytest.param("deed", 9, id="in a call, with others on record"),
        pytest.param("wrote journal.new", 9, id="between calls"),
        pytest.param("sync journal.new", 4, id="syncing, before"),
        pytest.param("synced journal.new", 4, id="syncing, after"),
    ],
)
def test_killed_at_work(folder, kind, number):
    folder.die("1,2,3", kind, number)
    folder.run()
    folder.check()


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        pytest.param("sync journal", 1, id="recovering, what was found isn't settled"),
        pytest.param("sync audit.log", 1, id="recovering, the audit log isn't complete"),
        pytest.param("write journal.new", 1, id="rewriting, half written"),
        pytest.param("sync journal.new", 1, id="rewriting, not synced"),
        pytest.param("rename journal", 1, id="rewriting, not renamed"),
        pytest.param("renamed journal", 1, id="rewriting, renamed and not durable"),
    ],
)
def test_killed_in_the_start_after_a_kill(folder, kind, number):
    if kind == "sync journal":  # what is found is settled where an audit line is missing
        folder.die("1,2,3", "synced journal.new", 2)
    else:
        folder.die("1,2,3", "deed", 9)
    folder.die("", kind, number)
    folder.run()
    folder.check()
    assert folder.made("Bot-1-1") == 1


@pytest.mark.parametrize(
    "kind",
    ["write set-aside.new", "sync set-aside.new", "rename set-aside", "renamed set-aside"],
)
def test_killed_while_setting_aside(all_but_aside, tmp_path, kind):
    folder = all_but_aside.copy(tmp_path)
    folder.die("4", kind)
    folder.run("5")
    assert folder.aside == ([1], {1})
    folder.run("requeue")
    folder.run()
    folder.check()
    assert folder.made("Bot-1-1") == 1, "what was on record was made again"


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        pytest.param("rename journal", 1, id="before the journal is rewritten"),
        pytest.param("write journal.new", 2, id="the batch half on record"),
        pytest.param("synced journal.new", 2, id="on record, set-aside as before"),
        pytest.param("unlink set-aside", 1, id="set-aside not removed"),
    ],
)
@pytest.mark.parametrize("act", ["requeue", "drop"])
def test_killed_while_putting_back(set_aside, tmp_path, act, kind, number):
    folder = set_aside.copy(tmp_path)
    folder.die(act, kind, number)
    folder.run()
    listed, asides = folder.aside
    assert set(listed) == asides
    if asides:
        folder.run(act)
        folder.run()
    folder.check(*([1] if act == "drop" else []))
    assert folder.made("Bot-1-1") == 1
    assert folder.made("Bot-1-2") == DEATHS + (act == "requeue")
