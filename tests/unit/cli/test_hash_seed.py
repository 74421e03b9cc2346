"""run and invoke start with a fixed hash seed (R5), and what they start has its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
PROGRAM = f"""
import os, sys
sys.path.insert(0, {str(REPOSITORY)!r})
from agentctl.__main__ import _fix_hash_seed
_fix_hash_seed()
print(hash("x"), sys.argv[1:], os.environ.get("PYTHONHASHSEED"), "_AGENTCTL_SEEDED" in os.environ)
"""


def started(*words: str, flags: tuple[str, ...] = (), **environ: str) -> str:
    ended = subprocess.run(
        [sys.executable, *flags, "-c", PROGRAM, *words],
        env={"PATH": os.environ["PATH"], **environ},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    return ended.stdout


@pytest.mark.parametrize("words", [("run",), ("invoke", "Bot", "a b", "é"), ("-v", "run")])
def test_sets_of_strings_iterate_alike_in_every_run(words: tuple[str, ...]) -> None:
    first, second = started(*words), started(*words)
    assert first == second
    assert first.endswith(f"{list(words)!r} None False\n")


def test_a_seed_that_somebody_chose_stays() -> None:
    assert started("run", PYTHONHASHSEED="7").endswith("['run'] 7 False\n")
    assert started("run", PYTHONHASHSEED="random") == started("run")


def test_other_commands_start_once() -> None:
    assert len({started("inspect", "journal") for _ in range(3)}) > 1


def test_where_python_ignores_the_variable_it_does_not_try_for_ever() -> None:
    assert started("run", flags=("-E",)).endswith("None False\n")
