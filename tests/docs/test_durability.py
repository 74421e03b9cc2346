"""docs/durability.md names tests that exist, and a test for each of its steps."""

from __future__ import annotations

import re

from .pages import REPOSITORY

PAGE = (REPOSITORY / "docs" / "durability.md").read_text(encoding="utf-8")


def names_of_tests() -> set[str]:
    found: set[str] = set()
    for path in (REPOSITORY / "tests").rglob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        found |= set(re.findall(r"^\s*(?:async )?def (test_\w+)", text, re.MULTILINE))
    return found


def test_every_test_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert len(named) > 20
    assert sorted(named - names_of_tests()) == []


def test_every_step_names_a_test() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and "---" not in line]
    steps = [row for row in rows if not row.startswith("| step |")]
    assert steps
    assert [row for row in steps if "`test_" not in row] == []
