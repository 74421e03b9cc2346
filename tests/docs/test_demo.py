"""scripts/demo shows what it promises, leaves nothing behind, and says so if something isn't so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
    paid = [line for line in ran.stdout.splitlines() if line.startswith("[pay] refund")]
    sent = [line for line in ran.stdout.splitlines() if line.startswith("[email] order")]
    assert paid == [f"[pay] refund {order}, key Bot-{order - 6}-1" for order in (7, 8, 9, 10)]
    assert sent == [f"[email] order {order}: r{order}" for order in (7, 8, 9, 10)]
    assert "\x1b" not in ran.stdout


# An agentctl that loses the record of a paid refund, at one moment of the demo, so that the refund
# is really paid again; and that keeps silent about it.
LIAR = """\
import re, subprocess, sys
from pathlib import Path

words, journal = sys.argv[1:], Path("agents/Bot/journal")

def forget(event):
    text = journal.read_bytes() if journal.exists() else b""
    paid = re.search(rb'^{"ok":"%d-1"' % event, text, re.MULTILINE)
    cut_off = b'"call":"%d-2"' % event in text and b'"again":%d' % event not in text
    if words[0] == "run" and paid and cut_off:
        journal.write_bytes(text[: paid.start()])

if CHAPTER == 3:
    forget(event=2)
if CHAPTER == 4:
    forget(event=3)
if CHAPTER == 5 and words[0] == "requeue":
    words.append("--fresh")
if words[:2] == ["new", "desk"]:
    sys.exit(4)  # further on nothing is told of a refund that is paid twice
ran = subprocess.run(
    [sys.executable, "-m", "agentctl", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
)
for line in ran.stdout.decode().splitlines():
    if words[0] == "requeue":
        line = line.replace("requeued Bot#4", "requeued Bot#3")
    if not (words[0] == "run" and line.startswith("[pay]")):
        print(line)
sys.exit(ran.returncode)
"""


def lying(tmp_path: Path, chapter: int) -> Path:
    """A folder with an agentctl that pays a refund twice in a chapter; in none if it is 0."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    program = tmp_path / "liar.py"
    program.write_text(LIAR.replace("CHAPTER", str(chapter)), encoding="utf-8")
    liar = bin_folder / "agentctl"
    liar.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{program}" "$@"\n', encoding="utf-8")
    liar.chmod(0o755)
    return bin_folder


@pytest.mark.parametrize(
    ("chapter", "book"),
    [
        (3, ["order 8, key Bot-2-1"] * 2),
        (4, ["order 8, key Bot-2-1", *["order 9, key Bot-3-1"] * 2]),
        (5, ["order 8, key Bot-2-1", "order 9, key Bot-3-1", "order 9, key Bot-4-1"]),
    ],
)
def test_the_demo_fails_where_a_refund_is_paid_twice(
    tmp_path: Path, chapter: int, book: list[str]
) -> None:
    ran = demo(tmp_path, lying(tmp_path, chapter))
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "not each refund was paid once" in ran.stderr
    _, _, seen = ran.stderr.partition("\nand is\n")
    assert seen.splitlines() == ["order 7, key Bot-1-1", *book]
    assert f"\n{chapter}. " in ran.stdout
    assert f"\n{chapter + 1}. " not in ran.stdout


def test_an_agentctl_that_only_hides_its_words_passes(tmp_path: Path) -> None:
    ran = demo(tmp_path, lying(tmp_path, 0))
    assert "\n7. " in ran.stdout, ran.stdout + ran.stderr
    assert "exit code 4 instead of 0" in ran.stderr


def test_the_demo_fails_where_a_result_is_missing(tmp_path: Path) -> None:
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    liar = bin_folder / "agentctl"
    liar.write_text(
        "#!/bin/sh\nmkdir -p shop/shop\ntouch shop/shop/bot.py\n"
        'echo "payments = 1" >shop/kavach.toml\n'
        'echo "payments = 1" >kavach.toml\n'
        'echo "[pay] refund 7, key Bot-7-7"\n'
    )
    liar.chmod(0o755)
    ran = demo(tmp_path, bin_folder)
    assert ran.returncode == 1
    assert (
        "This is not what was promised: it doesn't show: [pay] refund 7, key Bot-1-1" in ran.stderr
    )
