"""Ctrl-C while the command still loads: exit code 130, and no traceback of ours or Python's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
CUSTOM = """
import os, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ.get("INTERRUPTED_IN"):
            sys.meta_path.remove(self)
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
"""
STARTS = {
    "module": ["-m", "agentctl"],
    "script": ["-c", "import sys; from agentctl.__main__ import main; sys.exit(main())"],
}


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize(
    "name", ["typing", "agentctl.cli", "agentctl.cli.app", "agentctl.errors", "typer", "msgspec"]
)
def test_it_ends_with_130_and_without_a_traceback(tmp_path: Path, name: str, start: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(CUSTOM)
    ended = subprocess.run(
        [sys.executable, *STARTS[start], "status"],
        cwd=tmp_path,
        env={
            "PYTHONPATH": f"{tmp_path}{os.pathsep}{REPOSITORY}",
            "PATH": "",
            "INTERRUPTED_IN": name,
        },
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert ended.returncode == 130, ended.stderr
    assert "Traceback" not in ended.stderr
    assert ended.stdout == ""
