"""Beside a program that was stopped with SIGSTOP, commands say what they wait for."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

import pytest

from .desk import make_desk, open_gate, serve, submit, until_noted, until_state
from .support import Project, Running, wait_until

SAYS = "hasn't answered yet"


@pytest.fixture
def held(project: Project) -> Iterator[tuple[Project, Running]]:
    """A desk whose program stands still, with an event that sleeps and one that is stuck."""
    make_desk(project, "Clerk", "Desk")
    program = serve(project)
    until_state(project, submit(project, "Clerk", "nap", "x"), "sleeping")
    until_state(project, submit(project, "Clerk", "buggy", "never"), "stuck")
    project.agentctl("invoke", "Desk/old", "add", "1").expect(0)
    program.send(signal.SIGSTOP)
    yield project, program
    program.send(signal.SIGCONT)


ASKED = {
    "invoke -t -i k Clerk echo a": 0,
    "invoke -t Clerk echo b --json": 0,
    "invoke Clerk echo c": 0,
    "invocation cancel Clerk#1 --json": 0,
    "invocation retry Clerk#2": 0,
    "agent delete Desk/old --yes": 0,
    "requeue set-aside Clerk": 3,
    "invoke -t Clerk echo d --quiet": 0,
}


def test_each_command_says_once_that_it_waits_and_does_its_work_when_it_can(
    held: tuple[Project, Running],
) -> None:
    project, program = held
    started = {words: project.start_agentctl(*words.split()) for words in ASKED}
    loud = [one for words, one in started.items() if "--quiet" not in words]
    wait_until(lambda: all(SAYS in one.err for one in loud), "every command to say what it does")
    assert all(one.alive for one in started.values()), "a command gave up"
    assert all(one.out == "" for one in started.values())
    for one in loud:
        (line,) = one.err.splitlines()
        assert f"(pid {program.process.pid})" in line
        assert "Ctrl-C is safe" in line
        assert line.endswith(("inspect lock Clerk", "inspect lock Desk"))
    assert "-i" in started["invoke -t Clerk echo b --json"].err
    assert "does nothing twice" in started["invoke -t -i k Clerk echo a"].err
    program.send(signal.SIGCONT)
    for words, code in ASKED.items():
        told = started[words].end().expect(code)
        # A deletion asks twice: first what goes.
        assert told.err.count(SAYS) == ("--quiet" not in words), told.both
        assert told.out.count("\n") == (code == 0), told.both


def test_ctrl_c_is_safe_and_the_same_key_is_accepted_once(held: tuple[Project, Running]) -> None:
    project, program = held
    words = ("invoke", "-t", "-i", "k", "Clerk", "echo", "a")
    for _ in range(2):
        asking = project.start_agentctl(*words)
        wait_until(lambda asking=asking: SAYS in asking.err, "the command to say that it waits")
        asking.send(signal.SIGINT)
        asking.end().expect_error(130, "interrupted")
    program.send(signal.SIGCONT)
    address = project.agentctl(*words).expect(0).out
    assert address == project.agentctl(*words).expect(0).out == "Clerk#3\n"


def test_who_waits_for_an_end_is_told_nothing(project: Project) -> None:
    make_desk(project, "Clerk")
    program = serve(project)
    invoked = project.start_agentctl("invoke", "Clerk", "work", "long")
    until_noted(project, "at long ")
    waiting = project.start_agentctl("invocation", "wait", "Clerk#1")
    following = project.start_agentctl("inspect", "journal", "Clerk", "--follow")
    wait_until(lambda: following.out != "", "the journal to be followed")
    program.send(signal.SIGSTOP)
    time.sleep(2.5)  # as long as a command waits before it says so, and a little longer
    program.send(signal.SIGCONT)
    open_gate(project, "long")
    assert invoked.end().expect(0).err == ""
    assert waiting.end().expect(0).err == ""
    following.send(signal.SIGINT)
    assert SAYS not in following.end().err
