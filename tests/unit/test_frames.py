"""Whose a frame is: the user's, ours, or Python's."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import agentctl
from agentctl.frames import is_users, short_path

PYTHON = Path(os.__file__).parent


@pytest.mark.parametrize(
    ("filename", "users"),
    [
        ("/srv/shop/bot.py", True),
        ("bot.py", True),
        (str(PYTHON / "site-packages" / "shop" / "bot.py"), True),
        (str(PYTHON / "dist-packages" / "shop" / "bot.py"), True),
        ("/srv/shop/.venv/lib/python3.11/site-packages/shop/bot.py", True),
        ("/srv/lib/python3/bot.py", True),
        (json.__file__, False),
        (os.__file__, False),
        (agentctl.__file__, False),
        (str(Path(agentctl.__file__).parent / "engines" / "local" / "run.py"), False),
        (f"{Path(agentctl.__file__).parent}_plugin/bot.py", True),
        ("<frozen importlib._bootstrap>", False),
        ("<string>", False),
    ],
)
def test_a_frame_is_the_users_unless_it_is_ours_or_pythons(filename: str, users: bool) -> None:
    assert is_users(filename) is users


def test_a_path_is_short_within_the_working_folder_and_whole_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop").mkdir()
    monkeypatch.chdir(tmp_path / "shop")
    assert short_path(str(tmp_path / "shop" / "bot.py")) == "bot.py"
    assert short_path(str(tmp_path / "shop" / "..bot" / "x.py")) == f"..bot{os.sep}x.py"
    assert short_path(str(tmp_path / "bot.py")) == str(tmp_path / "bot.py")


def test_a_path_is_whole_where_the_working_folder_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert short_path("/srv/shop/bot.py") == "/srv/shop/bot.py"
    assert short_path("bot.py") == "bot.py"
