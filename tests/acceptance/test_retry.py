"""Retrying by a person, and waiting: same number, recorded calls kept, the failing one again."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from .desk import (
    desk_in,
    make_desk,
    open_gate,
    serve,
    submit,
    until_noted,
    until_state,
)
from .support import Project, find_key


@pytest.fixture(scope="module")
def open_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A desk in a program; its tests use names of their own."""
    with desk_in(tmp_path_factory.mktemp("retry"), "Clerk", "Desk") as project:
        serve(project)
        yield project


def retry(project: Project, *words: str) -> None:
    project.agentctl("invocation", "retry", *words).expect(0)


def test_a_stuck_event_that_is_retried_keeps_its_number_and_its_calls(open_desk: Project) -> None:
    words = ("invoke", "--json", "Clerk", "buggy", "bug", "-i", "bug")
    address = open_desk.agentctl(*words).expect(1).error_json["event"]
    retry(open_desk, address)  # nothing was mended: it is stuck again
    until_state(open_desk, address, "stuck")
    open_gate(open_desk, "bug")
    retry(open_desk, "Clerk", "bug")
    until_state(open_desk, address, "completed")
    joined = open_desk.agentctl(*words).expect(0)
    assert (joined.json["event"], joined.json["result"]) == (address, "bug")
    assert len(open_desk.ledger("paid bug ")) == 1, "a recorded call was made again"


def test_a_failed_event_that_is_retried_makes_the_failing_call_again(open_desk: Project) -> None:
    words = ("invoke", "--json", "Clerk", "refused", "shut", "-i", "shut")
    address = open_desk.agentctl(*words).expect(1).error_json["event"]
    retry(open_desk, address)
    until_noted(open_desk, "attempt shut ", 2)
    until_state(open_desk, address, "failed")
    open_gate(open_desk, "shut")
    retry(open_desk, "Clerk", "shut")
    until_state(open_desk, address, "completed")
    joined = open_desk.agentctl(*words).expect(0).json
    assert (joined["event"], joined["result"]) == (address, "shut")
    assert len(open_desk.ledger("paid shut ")) == 1, "a recorded call was made again"
    attempts = open_desk.ledger("attempt shut ")
    assert len(attempts) == 3
    assert len(set(attempts)) == 1, "the failing call came under another key"


@pytest.mark.parametrize("handler", ["buggy", "refused"])
def test_a_retry_without_a_program_is_on_record_and_runs_at_the_next_start(
    project: Project, handler: str
) -> None:
    make_desk(project, "Clerk")
    project.agentctl("invoke", "Clerk", handler, "later", "-i", "later").expect(1)
    open_gate(project, "later")
    retry(project, "Clerk", "later")
    project.agentctl("run", "--until-idle").expect(0)
    told = project.agentctl("invoke", "--json", "Clerk", handler, "later", "-i", "later")
    assert told.expect(0).json["event"] == "Clerk#1"
    assert project.ledger("paid later ") == ["paid later Clerk-1-1"]


@pytest.mark.parametrize("handler", ["buggy", "refused"])
def test_a_retry_that_was_answered_survives_kill_9(project: Project, handler: str) -> None:
    make_desk(project, "Clerk")
    program = serve(project)
    words = ("invoke", "--json", "Clerk", handler, "kill", "-i", "kill")
    project.agentctl(*words).expect(1)
    open_gate(project, "kill")
    retry(project, "Clerk", "kill")
    program.cut_power()
    project.agentctl("run", "--until-idle").expect(0)
    told = project.agentctl(*words).expect(0).json
    assert (told["event"], told["result"]) == ("Clerk#1", "kill")
    assert project.ledger("paid kill ") == ["paid kill Clerk-1-1"]


def test_a_persons_retries_do_not_count_as_starts(project: Project) -> None:
    make_desk(project, "Clerk", max_starts=2)
    serve(project)
    project.agentctl("invoke", "Clerk", "buggy", "often", "-i", "often").expect(1)
    for _ in range(4):
        retry(project, "Clerk#1")
        until_state(project, "Clerk#1", "stuck")
    assert project.set_aside("Clerk") == []
    assert sum(record.get("again") == 1 for record in project.records("Clerk")) == 0


def test_a_retried_event_sees_the_state_as_it_then_is(open_desk: Project) -> None:
    desk = 'Desk("state")'
    stuck = ("invoke", "--json", desk, "add_or_bug", "10", "state")
    address = open_desk.agentctl(*stuck).expect(1).error_json["event"]
    assert open_desk.agentctl("invoke", desk, "add", "1").expect(0).out == "1\n"
    open_gate(open_desk, "state")
    retry(open_desk, address)
    until_state(open_desk, address, "completed")
    assert open_desk.agentctl("invoke", desk, "total").expect(0).out == "11\n"


def test_what_is_neither_stuck_nor_failed_is_not_retried(open_desk: Project) -> None:
    words = ("invocation", "retry")
    done = open_desk.agentctl("invoke", "--json", "Clerk", "tally", "done").expect(0).json["event"]
    open_desk.agentctl(*words, done).expect_error(4, "completed")
    running = submit(open_desk, "Clerk", "work", "busy")
    until_noted(open_desk, "at busy ")
    open_desk.agentctl(*words, running).expect_error(4, "running")
    open_desk.agentctl(*words, "Clerk", "nobody").expect_error(3, "nobody")
    open_desk.agentctl(*words, "Clerk#9999").expect_error(3, "9999")
    assert len(open_desk.ledger("tally done ")) == 1
    assert len(open_desk.ledger("begin busy ")) == 1


@pytest.mark.parametrize(("handler", "state"), [("buggy", "stuck"), ("refused", "failed")])
def test_a_requeue_of_what_only_needs_a_retry_names_it(
    open_desk: Project, handler: str, state: str
) -> None:
    words = ("invoke", "--json", "Clerk", handler, f"no-{state}")
    address = open_desk.agentctl(*words).expect(1).error_json["event"]
    number = address.partition("#")[2]
    told = open_desk.agentctl("requeue", "set-aside", "Clerk", number).expect_error(3, state)
    assert f"agentctl invocation retry {address}" in told.err


@pytest.mark.parametrize("beside", [True, False], ids=["beside", "alone"])
def test_accept_divergence_keeps_the_record_up_to_the_differing_call(
    project: Project, beside: bool
) -> None:
    make_desk(project, "Clerk")
    program = serve(project)
    submit(project, "Clerk", "work", "old", "-i", "old")
    until_noted(project, "at old ")
    program.cut_power()
    project.edit(
        "crew.py",
        'await self.world.gate(name)\n        await self.world.mark(f"end {name}")',
        'await self.world.mark(f"instead {name}")',
    )
    project.agentctl("run", "--until-idle").expect(1)
    until_state(project, "Clerk#1", "stuck")
    assert project.ledger("instead ") == []
    if beside:
        serve(project)
        until_state(project, "Clerk#1", "stuck")
    retry(project, "Clerk", "old", "--accept-divergence")
    if not beside:
        project.agentctl("run", "--until-idle").expect(0)
    until_state(project, "Clerk#1", "completed")
    assert project.ledger("begin ") == ["begin old Clerk-1-1"]
    assert project.ledger("instead ") == ["instead old Clerk-1-2"]


def test_wait_gives_up_with_124_and_the_event_goes_on(open_desk: Project) -> None:
    address = submit(open_desk, "Clerk", "work", "slow", "-i", "slow")
    until_noted(open_desk, "at slow ")
    began = time.monotonic()
    wait = ("invocation", "wait")
    open_desk.agentctl(*wait, "Clerk", "slow", "--timeout", "200ms").expect_error(124, address)
    forever = (*wait, address, "--for", "completed", "--timeout", "200ms")
    open_desk.agentctl(*forever).expect_error(124, address)
    assert 0.4 <= time.monotonic() - began < 8
    waiter = open_desk.start_agentctl(*wait, address, "--for", "completed", "--timeout", "15s")
    until_state(open_desk, address, "running")
    assert waiter.alive
    open_gate(open_desk, "slow")
    waiter.end().expect(0)
    until_state(open_desk, address, "completed")


def test_wait_for_a_state_that_cannot_come_any_more_says_so(open_desk: Project) -> None:
    address = submit(open_desk, "Clerk", "echo", "x")
    until_state(open_desk, address, "completed")
    began = time.monotonic()
    told = open_desk.agentctl(
        "invocation", "wait", address, "--for", "cancelled", "--timeout", "20s"
    )
    assert told.code not in (0, 124), "an event that is over was waited for"
    assert time.monotonic() - began < 10
    assert "completed" in told.both
    open_desk.agentctl("invocation", "wait", "Clerk", "nobody").expect_error(3, "nobody")
    open_desk.agentctl("invocation", "wait", address, "--for", "happy").expect_error(2, "happy")


def test_show_and_list_tell_what_the_table_calls_it(open_desk: Project) -> None:
    address = submit(open_desk, "Clerk", "work", "shown", "-i", "shown")
    until_noted(open_desk, "at shown ")
    shown = open_desk.agentctl("invocation", "show", "Clerk", "shown", "--json").expect(0).json
    assert "running" in find_key(shown, "status")
    assert address in find_key(shown, "event")
    text = open_desk.agentctl("invocation", "show", address).expect(0).out
    assert "World.gate" in text
    listed = open_desk.agentctl("invocation", "list", "Clerk", "--status", "running").expect(0)
    assert any(address in line for line in listed.out.splitlines())
    asleep = open_desk.agentctl("invocation", "list", "Clerk", "--status", "sleeping").expect(0)
    assert address not in asleep.out
