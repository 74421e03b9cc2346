"""The shells complete the command: real bash, as it is typed; the others where they are there."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from .support import Project

ASK = """
set -eu
cd {folder}
. {script}/agentctl.bash
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_agentctl
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("completion")
    project = Project.create(folder)
    told = project.agentctl("completion", "bash").expect(0)
    project.write("agentctl.bash", told.out)
    project.write("kavach.toml", "[agents.Bot]\n  [agents.Clerk]\n[agents.Bot.settings]\n")
    (project.root / "deep" / "down").mkdir(parents=True)
    return project.root


def completions(script: Path, *words: str, folder: str = ".") -> list[str]:
    asked = ("agentctl", *words)
    ended = subprocess.run(
        ["bash", "--norc", "-c", ASK.format(script=script, folder=folder), "bash", *asked],
        cwd=script,
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    assert ended.stderr == ""
    return ended.stdout.split()


@pytest.mark.parametrize(
    ("words", "some"),
    [
        (("",), ("run", "invoke", "inspect", "status", "help")),
        (("in",), ("invoke", "inspect", "invocation")),
        (("inspect", ""), ("journal", "audit", "set-aside", "state", "lock")),
        (("inspect", "j"), ("journal",)),
        (("inspect", "journal", ""), ("Bot", "Clerk")),
        (("inspect", "journal", "C"), ("Clerk",)),
        (("-C", "shop", "inspect", "journal", "-n", "3", "B"), ("Bot",)),
        (("run", "Bot", "--gr"), ("--grace",)),
        (("run", "--gr"), ("--grace",)),
        (("inspect", "journal", "Bot", "--fol"), ("--follow",)),
        (("--format", ""), ("text", "json", "jsonl")),
        (("inspect", "journal", "--color", "n"), ("never",)),
        (("invocation", "list", "--status", "st"), ("stuck",)),
        (("invocation", "wait", "Bot#1", "--for", ""), ("sleeping", "set-aside")),
        (("status", "--fail-on", "l"), ("late",)),
        (("inspect", "journal", "--kind", "bu"), ("bug",)),
        (("schema", "inv"), ("invoke", "invocations")),
        (("--ver",), ("--verbose", "--version")),
        (("completion", ""), ("bash", "zsh", "fish")),
        (("help", "exit"), ("exit-codes",)),
        (("inspect", "journal", "--grep", ""), ()),
        (("nonsense", ""), ()),
    ],
    ids=" ".join,
)
def test_bash_completes_commands_options_and_agents(
    script: Path, words: tuple[str, ...], some: tuple[str, ...]
) -> None:
    found = completions(script, *words)
    assert set(some) <= set(found) if some else not found
    assert all(each.startswith(words[-1]) for each in found)


def test_agents_are_found_from_a_folder_below_the_project(script: Path) -> None:
    assert completions(script, "run", "", folder="deep/down") == ["Bot", "Clerk"]


def test_agents_are_completed_at_once(script: Path) -> None:
    """Less than what an interpreter takes to start: none is started."""
    begun = time.perf_counter()
    for _ in range(10):
        completions(script, "run", "")
    assert (time.perf_counter() - begun) / 10 < 0.1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_script_is_one_that_its_shell_can_read(project: Project, shell: str) -> None:
    told = project.agentctl("completion", shell).expect(0)
    assert "inspect" in told.out
    assert "--follow" in told.out or "-l follow" in told.out
    if shutil.which(shell):
        project.write(f"script.{shell}", told.out)
        subprocess.run([shell, "-n", f"script.{shell}"], cwd=project.root, check=True, timeout=20)


def test_another_shell_is_refused_with_the_nearest(project: Project) -> None:
    project.agentctl("completion", "bsh").expect_error(2, "did you mean bash?")
