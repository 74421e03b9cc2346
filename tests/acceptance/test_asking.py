"""Agents that ask agents: the handler there once, the answer here, whoever dies in between."""

from __future__ import annotations

from collections import defaultdict

import pytest

from .desk import (
    events_on_record,
    kill_after,
    make_desk,
    open_gate,
    serve,
    submit,
    until_noted,
    until_state,
)
from .support import Project, Result, Running, wait_until


def check_would_deadlock(told: Result) -> None:
    error = told.expect(1).error_json
    assert error["status"] == "failed"
    assert "WouldDeadlock" in str(error)


def test_g14_an_exclusive_instance_that_asks_itself_would_deadlock(open_desk: Project) -> None:
    told = open_desk.agentctl("invoke", 'Desk("self")', "ask_itself", "--json", timeout=15)
    check_would_deadlock(told)
    caught = open_desk.agentctl("invoke", 'Desk("self")', "ask_or_not", timeout=15).expect(0)
    assert caught.out == '"would deadlock"\n'
    assert open_desk.ledger("add self ") == []
    # Neither of them holds the instance any longer.
    assert open_desk.agentctl("invoke", 'Desk("self")', "add", "1").expect(0).out == "1\n"


def test_g14_a_circle_of_two_would_deadlock(open_desk: Project) -> None:
    told = open_desk.agentctl("invoke", 'Desk("left")', "circle", "right", "--json", timeout=15)
    check_would_deadlock(told)
    assert open_desk.ledger("add left ") == []
    for name in ("left", "right"):
        added = open_desk.agentctl("invoke", f'Desk("{name}")', "add", "1").expect(0)
        assert added.out == "1\n", f"{name} is still held"


def test_g14_a_circle_through_an_agent_without_state_would_deadlock(open_desk: Project) -> None:
    told = open_desk.agentctl("invoke", 'Desk("round")', "roundabout", "--json", timeout=15)
    check_would_deadlock(told)
    assert open_desk.ledger("add round ") == []


def test_g14_one_without_state_that_asks_itself_runs(open_desk: Project) -> None:
    told = open_desk.agentctl("invoke", "Front", "ask_again", "3", timeout=15).expect(0)
    assert told.out == "3\n"


def test_g14_a_circle_across_two_programs_would_deadlock(project: Project) -> None:
    make_desk(project)
    serve(project, "Front", watched="Front")
    serve(project, "Desk", watched="Desk")
    told = project.agentctl("invoke", 'Desk("round")', "roundabout", "--json", timeout=20)
    check_would_deadlock(told)
    assert project.ledger("add round ") == []


def test_the_answer_of_another_agent_is_the_result(open_desk: Project) -> None:
    assert open_desk.agentctl("invoke", "Front", "add", "sum", "5").expect(0).out == "5\n"
    assert open_desk.agentctl("invoke", "Front", "add", "sum", "6").expect(0).out == "11\n"
    assert open_desk.agentctl("invoke", "Desk/sum", "total").expect(0).out == "11\n"
    asked = [str(record["from"]) for record in open_desk.records("Desk") if "from" in record]
    assert len([call for call in asked if "Front-" in call]) >= 2, "it bears no asking call"


def test_the_error_of_another_agent_fails_who_asked(open_desk: Project) -> None:
    told = open_desk.agentctl("invoke", "Front", "ask_refused", "shut").expect_error(1, "is shut")
    assert told.out == ""
    assert len(open_desk.ledger("attempt shut ")) == 1


def test_the_answer_waits_while_the_other_event_is_stuck(open_desk: Project) -> None:
    before = set(events_on_record(open_desk))
    client = open_desk.start_agentctl("invoke", "Front", "ask_buggy", "stuck")
    until_noted(open_desk, "paid stuck ")
    number = next(iter(set(events_on_record(open_desk)) - before))
    until_state(open_desk, f"Clerk#{number}", "stuck")
    assert client.alive
    open_gate(open_desk, "stuck")
    open_desk.agentctl("invocation", "retry", f"Clerk#{number}").expect(0)
    assert client.end().expect(0).out == '"stuck"\n'
    assert len(open_desk.ledger("paid stuck ")) == 1


def test_who_asks_is_waiting_and_holds_no_permit(project: Project) -> None:
    make_desk(project, concurrency=1)
    serve(project)
    address = submit(project, "Front", "ask", "held")
    until_state(project, address, "waiting")
    assert project.agentctl("invoke", "Front", "ask_again", "0", timeout=10).expect(0).out == "0\n"
    open_gate(project, "held")
    until_state(project, address, "completed")


def test_a_query_that_a_handler_asked_is_on_record(project: Project) -> None:
    make_desk(project)
    program = serve(project)
    project.agentctl("invoke", "Desk/q", "add", "1").expect(0)
    submit(project, "Front", "read", "q", "query", "-i", "read")
    until_noted(project, "at query ")
    project.agentctl("invoke", "Desk/q", "add", "2").expect(0)
    program.cut_power()
    serve(project)
    until_noted(project, "at query ", 2)
    open_gate(project, "query")
    told = project.agentctl("invoke", "Front", "read", "q", "query", "-i", "read").expect(0)
    assert told.out == "[1,3]\n" or told.out == "[1, 3]\n"
    assert len(events_on_record(project, "Desk")) <= 2, "a query became an event"


def test_g15_b_in_none_waits_until_somebody_runs_it(project: Project) -> None:
    make_desk(project)
    front = serve(project, "Front", watched="Front")
    client = project.start_agentctl("invoke", "--json", "Front", "ask_tally", "none", "-i", "none")
    wait_until(lambda: project.journal_path("Clerk").exists(), "the event to be accepted there")
    wait_until(lambda: events_on_record(project) == [1], "the event to be on record there")
    address = submit(project, "Front", "ask_tally", "none", "-i", "none")
    until_state(project, address, "waiting")
    until_state(project, "Clerk#1", "queued")
    assert project.ledger() == [], "the handler ran although nobody runs its agent"
    project.agentctl("run", "Clerk", "--until-idle").expect(0)
    assert client.end().expect(0).json["result"] == "none"
    assert project.ledger() == ["tally none Clerk-1-1", f"heard none none Front-{address[6:]}-2"]
    assert front.alive


def test_g15_b_in_none_and_a_dies_while_b_answers(project: Project) -> None:
    make_desk(project)
    front = serve(project, "Front", watched="Front")
    address = submit(project, "Front", "ask_tally", "gone")
    wait_until(
        lambda: project.journal_path("Clerk").exists() and events_on_record(project) == [1],
        "the event to be on record there",
    )
    front.cut_power()
    project.agentctl("run", "Clerk", "--until-idle").expect(0)
    assert project.ledger() == ["tally gone Clerk-1-1"]
    serve(project, "Front", watched="Front")
    until_state(project, address, "completed")
    until_noted(project, "heard gone gone ")
    assert len(project.ledger("tally")) == 1, "what was asked ran again"


SUBMIT = """
import asyncio
import sys

from agentctl import Host, bind
from crew import Clerk, Front, Real
from ledger import note

AGENTS = {"Clerk": Clerk, "Front": Front}


async def main() -> None:
    async with Host(*(bind(AGENTS[name], world=Real()) for name in sys.argv[2:])):
        asks = [Front.ref().ask_tally(str(number)) for number in range(int(sys.argv[1]))]
        tasks = [asyncio.ensure_future(ask) for ask in asks]
        note("submitted")
        await asyncio.gather(*tasks)


asyncio.run(main())
"""


def check_each_ran_once(project: Project, count: int) -> None:
    """A call that a kill cut off comes again under its own key; no event comes twice."""
    for beginning in ("tally", "heard"):
        keys = defaultdict(set)
        for line in project.ledger(beginning):
            keys[line.split()[1]].add(line.split()[-1])
        assert sorted(keys, key=int) == [str(number) for number in range(count)]
        assert all(len(found) == 1 for found in keys.values()), keys
    for line in project.ledger("heard"):
        assert line.split()[1] == line.split()[2], f"the answer to another question: {line}"


ASKS = 12


def submit_asks(project: Project, *agents: str) -> Running:
    """Accept the asking events in a program of these agents, which goes on to run them."""
    project.environment["SLOW"] = "0.02"
    project.write("submit.py", SUBMIT)
    program = project.start_python("submit.py", str(ASKS), *agents)
    wait_until(
        lambda: (
            len(events_on_record(project, "Front")) == ASKS
            if project.journal_path("Front").exists()
            else False
        ),
        "the asking events to be on record",
    )
    return program


def all_heard(project: Project) -> bool:
    return len({line.split()[1] for line in project.ledger("heard")}) == ASKS


@pytest.mark.parametrize("step", [1, 3, 7, 12])
def test_g15_kill_9_of_the_one_program_in_every_gap(project: Project, step: int) -> None:
    make_desk(project, "Front", "Clerk", max_starts=100)
    submit_asks(project, "Front", "Clerk").cut_power()
    for number in range(8):
        if all_heard(project):
            break
        kill_after(project, project.start_agentctl("run"), step + number % 3, "Front", "Clerk")
    project.agentctl("run", "--until-idle").expect(0)
    check_each_ran_once(project, ASKS)


@pytest.mark.parametrize("first", ["Front", "Clerk"])
def test_g15_kill_9_of_one_of_two_programs_in_every_gap(project: Project, first: str) -> None:
    make_desk(project, "Front", "Clerk", max_starts=100)
    submit_asks(project, "Front").cut_power()
    other = {"Front": "Clerk", "Clerk": "Front"}[first]
    running = {name: project.start_agentctl("run", name) for name in ("Front", "Clerk")}
    for number in range(10):
        if all_heard(project):
            break
        victim = first if number % 3 else other
        kill_after(project, running[victim], 1 + number % 4, "Front", "Clerk")
        running[victim] = project.start_agentctl("run", victim)
    wait_until(lambda: all_heard(project), "every answer to have come", timeout=30)
    check_each_ran_once(project, ASKS)
