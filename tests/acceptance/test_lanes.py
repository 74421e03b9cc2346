"""Load: lanes, their permits and their room, beside a real program (R22)."""

from __future__ import annotations

import json
import time

from .desk import make_desk, open_gate, serve, submit, until_noted
from .support import Project, wait_until


def spread(project: Project, names: list[str], priority: str) -> None:
    """Let a handler send an event for each name, each to stand at the gate of its name."""
    words = ("spread", json.dumps(names), priority)
    project.agentctl("invoke", "Clerk", *words).expect(0)


def test_q12_of_ten_events_never_more_than_five_run(project: Project) -> None:
    make_desk(project, "Clerk", concurrency=5)
    serve(project)
    names = [f"n{number}" for number in range(10)]
    spread(project, names, "medium")
    for ended in range(10):
        until_noted(project, "at ", min(10, 5 + ended))
        open_gate(project, names[ended])
        until_noted(project, "end ", ended + 1)
        running = len(project.ledger("begin ")) - len(project.ledger("end "))
        assert running <= 5
    deeds = [deed.split()[:2] for deed in project.ledger() if not deed.startswith("at ")]
    executing = most = 0
    for what, _ in deeds:
        executing += 1 if what == "begin" else -1
        most = max(most, executing)
    assert (most, executing) == (5, 0)
    assert [name for what, name in deeds if what == "begin"] == names, "not in order"


def test_q12_while_the_low_lane_is_full_a_high_event_begins_at_once(project: Project) -> None:
    settings = {"concurrency": 5, "capacity": 1, "permits.low": 2}
    make_desk(project, "Clerk", **settings)
    serve(project)
    spread(project, ["l1", "l2", "l3"], "low")  # a handler's: the third goes in though it is full
    until_noted(project, "at l", 2)
    low = ("invoke", "Clerk", "echo", "x", "--priority", "low")
    told = project.agentctl(*low, "--if-full", "refuse").expect_error(4, "priority low")
    assert told.out == ""
    gives_up = project.start_agentctl(*low, "--timeout", "200ms")
    waits = project.start_agentctl("invoke", "--json", "Clerk", "tally", "w", "--priority", "low")
    gives_up.end(timeout=10).expect(124)
    began = time.monotonic()
    high = project.agentctl("invoke", "Clerk", "echo", "now", "--priority", "high")
    assert (high.expect(0).out, time.monotonic() - began < 5) == ('"now"\n', True)
    assert len(project.ledger("at l")) == 2, "a third low one runs, though it has two permits"
    address = submit(project, "Clerk", "work", "h", "--priority", "high")
    until_noted(project, "at h ")
    shown = project.agentctl("invocation", "show", address, "--json").expect(0).json
    assert (shown["priority"], shown["status"]) == ("high", "running")
    assert waits.process.poll() is None, "it was accepted into a full lane"
    open_gate(project, "l1")
    until_noted(project, "at l3 ")
    assert waits.process.poll() is None, "the low lane has no permit for it"
    open_gate(project, "l2", "l3", "h")
    told = waits.end(timeout=10).expect(0)
    assert told.json["event"] == "Clerk#7", "who gave up waiting was accepted"
    wait_until(lambda: project.ledger("end h "), "the high one to end")
