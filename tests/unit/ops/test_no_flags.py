"""The use cases know no flags: a page or another program has none."""

from __future__ import annotations

import ast
import re
from datetime import timedelta
from pathlib import Path

import pytest

import agentctl
from agentctl import AgentSettings
from agentctl.ops.programs import Overrides

OPS = sorted((Path(agentctl.__file__).parent / "ops").glob("*.py"))


@pytest.mark.parametrize("path", OPS, ids=lambda path: path.stem)
def test_no_text_of_a_use_case_names_a_flag(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert [text for text in texts if re.search(r"(?<!\S)--[a-z]", text)] == []


def test_a_grace_that_nobody_gave_is_the_projects_and_none_has_no_limit() -> None:
    settings = AgentSettings(grace=timedelta(seconds=7))
    assert Overrides().on(settings).grace == timedelta(seconds=7)
    assert Overrides(grace=None).on(settings).grace is None
    assert Overrides(grace=timedelta(0)).on(settings).grace == timedelta(0)
