"""A command imports only what it needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
NEVER = (
    "asyncio",
    "rich",
    "pydantic",
    "watchfiles",
    "filelock",
    "agentctl.hosting",
    "agentctl.sdk",
    "agentctl.engines.local.engine",
    "agentctl.engines.local.events.run",
    "agentctl.project.loading",
)
PROGRAM = """
import sys
from agentctl.cli.app import main
code = main(sys.argv[1:])
print(code, *sorted(sys.modules), file=sys.stderr)
"""


def loaded_by(folder: Path, *words: str) -> set[str]:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        cwd=folder,
        env={"PYTHONPATH": str(REPOSITORY), "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    code, *modules = ended.stderr.splitlines()[-1].split()
    assert code == "0", ended.stderr
    return set(modules)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "kavach.toml").write_text('[agents.Bot]\nclass = "shop.bot:Bot"\n')
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("--version",),
        ("help", "again"),
        ("inspect", "journal"),
        ("inspect", "journal", "Bot", "--json"),
        ("inspect", "audit"),
        ("inspect", "set-aside"),
        ("inspect", "state"),
        ("inspect", "lock"),
        ("invocation", "list"),
        ("workflow", "list"),
        ("agent", "list"),
        ("schedule", "list"),
        ("schedule", "list", "Bot", "--json"),
        ("inspect", "schedules"),
        ("schema", "status"),
        ("status",),
        ("status", "--check", "--json"),
    ],
    ids=" ".join,
)
def test_a_reading_command_loads_nothing_that_runs_or_draws(
    project: Path, words: tuple[str, ...]
) -> None:
    loaded = loaded_by(project, *words)
    assert "agentctl.cli.app" in loaded
    assert not loaded & {"cronsim", "zoneinfo"}, "nothing is computed"
    found = {m for m in loaded for name in NEVER if m == name or m.startswith(f"{name}.")}
    assert not found


@pytest.mark.parametrize("words", [("--help",), ("--version",), ("help", "times")], ids=" ".join)
def test_help_of_everything_needs_neither_typer_nor_a_journal(
    project: Path, words: tuple[str, ...]
) -> None:
    loaded = loaded_by(project, *words)
    assert not loaded & {"typer", "msgspec", "agentctl.engines.port", "agentctl.project"}
