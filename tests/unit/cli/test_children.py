"""A stopped program's children: all that is below it ends, and nothing else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from agentctl.cli import children

TREE = """
import os, signal, subprocess, sys, time
if "deaf" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
below = subprocess.Popen(["sleep", "60"])
print("up", flush=True)
print(below.pid, flush=True)
time.sleep(60)
"""

PROGRAM = """
import subprocess, sys
from agentctl.cli import children
tree = subprocess.Popen([sys.executable, "-c", sys.argv[1], *sys.argv[2:]], stdout=subprocess.PIPE)
lines = [tree.stdout.readline(), tree.stdout.readline()]
print(tree.pid, *[int(line) for line in lines if line.strip().isdigit()], flush=True)
children.end_children(0.5)
print(tree.wait(), flush=True)
"""


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[Any]]]:
    """Processes that end with the test."""
    found: list[subprocess.Popen[Any]] = []
    yield found
    for one in found:
        one.kill()
        one.communicate()


@pytest.mark.parametrize(("how", "code"), [("meek", -signal.SIGTERM), ("deaf", -signal.SIGKILL)])
def test_a_whole_tree_ends_also_what_does_not_listen(
    started: list[subprocess.Popen[Any]], how: str, code: int
) -> None:
    bystander = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, TREE, how],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        text=True,
    )
    started += [bystander, program]
    out, _ = program.communicate(timeout=20)
    pids, ended = out.splitlines()
    assert int(ended) == code
    assert len(pids.split()) == 2
    assert not {int(pid) for pid in pids.split()} & children.alive()
    assert bystander.pid in children.alive()


@pytest.mark.parametrize("parents", [children._parents_of_proc, children._parents_of_ps])
def test_both_ways_of_asking_the_system_know_who_started_whom(
    started: list[subprocess.Popen[Any]], parents: Any
) -> None:
    if parents is children._parents_of_proc and not os.path.exists("/proc/self/stat"):
        parents = children._parents_of_ps
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    started.append(child)
    found = parents()
    assert found[child.pid] == os.getpid()
    assert found[os.getpid()] == os.getppid()


def test_who_ended_and_is_not_collected_is_not_alive(
    started: list[subprocess.Popen[Any]],
) -> None:
    child = subprocess.Popen([sys.executable, "-c", "print('up')"], stdout=subprocess.PIPE)
    started.append(child)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert child.pid not in children.alive()
    assert child.pid not in children.below(os.getpid())
