"""The examples in the help of commands that need no code do what they say."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from agentctl.cli import table

from .journals import AT, FAR, HEADER, write
from .workflows import ONBOARD

REPOSITORY = Path(__file__).resolve().parents[3]
LOOKS = frozenset(
    [
        *("status", "invocation list", "invocation show", "agent list", "agent show"),
        *("inspect journal", "inspect lock", "backup", "schema", "completion"),
        *("workflow list", "workflow show", "workflow cancel", "why"),
        *("schedule list", "schedule show", "schedule preview", "inspect schedules"),
        *("schedule pause", "schedule unpause", "schedule trigger", "schedule cancel"),
    ]
)
EXAMPLES = [
    example
    for command in table.COMMANDS
    if command.name in LOOKS
    for example, _ in import_module(command.module).EXAMPLES
]
NOT_THERE = {"stuck,set-aside", "bug", "Bot#7"}
"""What is asked for and isn't in these journals; that is no error."""
SHELL = f"""
set -e
agentctl() {{ {shlex.quote(sys.executable)} -m agentctl "$@"; }}
"""
BOT = [
    HEADER,
    b'{"state":{"count":3}}',
    b'{"event":1,"handler":"request","args":[7],"key":"order-7","at":%d}' % AT,
    b'{"schedule":"report","handler":"request","args":[7],"due":%d,"period":86400000000}' % FAR,
]
POLLER = [
    HEADER.replace(b"Bot", b"Poller"),
    b'{"state":{"count":3},"of":["eu"]}',
    b'{"schedule":"tick","of":["eu"],"handler":"poll","due":%d,"cron":"0 9 * * *","tz":"UTC"}'
    % FAR,
]


@pytest.fixture
def folder(command: Any) -> Path:
    write(command.folder, BOT)
    write(command.folder, ONBOARD, "Onboard")
    write(command.folder, POLLER, "Poller")
    return command.folder


@pytest.mark.parametrize("example", [one for one in EXAMPLES if one.startswith("agentctl ")])
def test_an_example_is_done(
    command: Any, folder: Path, pauses: Callable[..., None], example: str
) -> None:
    pauses()  # whoever watches stops watching
    _, *words = shlex.split(example)
    ran = command(*(words[: words.index(">")] if ">" in words else words))
    assert ran.code == 0, ran.err
    assert bool(ran.out) is not bool(NOT_THERE & set(words))


@pytest.mark.parametrize("example", [one for one in EXAMPLES if not one.startswith("agentctl ")])
def test_an_example_for_a_shell_is_done(folder: Path, example: str) -> None:
    environ = {"PYTHONPATH": str(REPOSITORY), "PATH": os.environ["PATH"]}
    before = "agentctl backup agents.tar.gz; " if "agents.tar.gz" in example else ""
    subprocess.run(
        ["bash", "--norc", "-c", f"{SHELL}{before}{example}"],
        cwd=folder,
        env=environ,
        check=True,
        capture_output=True,
        timeout=60,
    )
    if before:
        restored = (folder / "other" / "agents" / "Bot" / "journal").read_bytes()
        assert restored == (folder / "agents" / "Bot" / "journal").read_bytes()
