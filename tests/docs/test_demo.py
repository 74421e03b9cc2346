"""scripts/demo shows what it promises, leaves nothing behind, and says so if something isn't so."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from .pages import REPOSITORY, Reader

A_MINUTE = 60


def demo(tmp_path: Path, bin_folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the demo with an agentctl that is there already, and see that its folder is gone."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    ran = subprocess.run(
        [str(REPOSITORY / "scripts" / "demo")],
        env={
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(tmp_path),
            "LANG": "C.UTF-8",
            "TMPDIR": str(temporary),
            "PYTHONPATH": str(REPOSITORY),
            "AGENTCTL_DEMO_BIN": str(bin_folder),
        },
        capture_output=True,
        text=True,
        timeout=A_MINUTE,
        check=False,
    )
    assert list(temporary.iterdir()) == [], "the demo left something behind"
    return ran


def test_the_demo_pays_each_refund_once(tmp_path: Path) -> None:
    (tmp_path / "reader").mkdir()
    ran = demo(tmp_path, Reader(tmp_path / "reader").bin)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    paid = [line for line in ran.stdout.splitlines() if line.startswith("[pay]")]
    sent = [line for line in ran.stdout.splitlines() if line.startswith("[email]")]
    assert paid == [f"[pay] refund {order}, key Bot-{order - 6}-1" for order in (7, 8, 9)]
    assert sent == [f"[email] order {order}: r{order}" for order in (7, 8, 9)]
    assert "\x1b" not in ran.stdout


def test_the_demo_fails_where_a_promise_is_broken(tmp_path: Path) -> None:
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    liar = bin_folder / "agentctl"
    liar.write_text('#!/bin/sh\nmkdir -p shop\necho "[pay] refund 7, key Bot-7-7"\n')
    liar.chmod(0o755)
    ran = demo(tmp_path, bin_folder)
    assert ran.returncode == 1
    assert (
        "This is not what was promised: it doesn't show: [pay] refund 7, key Bot-1-1" in ran.stderr
    )
