"""Ctrl-C while the command still loads: exit code 130, and no traceback of ours or Python's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
CUSTOM = """
import os, signal, sys

def swallow():
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        pass

def be_raised():
    raise KeyboardInterrupt

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPTED_IN"]:
            sys.meta_path.remove(self)
            globals()[os.environ["HOW"]]()

sys.meta_path.insert(0, Interrupting())
"""
STARTS = {
    "module": ["-m", "agentctl"],
    "script": ["-c", "import sys; from agentctl.__main__ import main; sys.exit(main())"],
}


def status(
    folder: Path,
    name: str,
    how: str,
    start: str = "module",
    before: Callable[[], object] | None = None,
) -> subprocess.CompletedProcess[str]:
    (folder / "sitecustomize.py").write_text(CUSTOM)
    (folder / "kavach.toml").write_text('[agents.Bot]\nclass = "shop.bot:Bot"\n')
    return subprocess.run(
        [sys.executable, *STARTS[start], "status"],
        cwd=folder,
        env={
            "PYTHONPATH": f"{folder}{os.pathsep}{REPOSITORY}",
            "PATH": "",
            "INTERRUPTED_IN": name,
            "HOW": how,
        },
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        preexec_fn=before,
    )


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize(
    "name", ["typing", "agentctl.cli", "agentctl.cli.app", "agentctl.errors", "typer", "msgspec"]
)
def test_it_ends_with_130_and_without_a_traceback(tmp_path: Path, name: str, start: str) -> None:
    ended = status(tmp_path, name, "be_raised", start)
    assert ended.returncode == 130, ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""


@pytest.mark.parametrize("name", ["agentctl.cli.app", "agentctl.errors", "typer", "msgspec"])
def test_it_ends_also_where_an_import_would_swallow_it(tmp_path: Path, name: str) -> None:
    ended = status(tmp_path, name, "swallow")
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


def test_where_ctrl_c_is_ignored_it_stays_so(tmp_path: Path) -> None:
    def ignore() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    ended = status(tmp_path, "typer", "swallow", before=ignore)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("Bot\t")
