"""`invoke` beside a running program: the program does the work, the client only asks and hears."""

from __future__ import annotations

import re
import signal
import subprocess
import time

import pytest

from .desk import (
    events_on_record,
    make_desk,
    open_gate,
    serve,
    submit,
    until_noted,
    until_state,
)
from .support import Project, wait_until


def test_the_result_comes_from_the_program(open_desk: Project) -> None:
    assert open_desk.agentctl("invoke", "Clerk", "tally", "é🙂").expect(0).out == '"é🙂"\n'
    told = open_desk.agentctl("invoke", "--json", "Clerk", "tally", "x", "--timeout", "10s")
    assert re.fullmatch(
        r'\{"schema":"agentctl\.invoke/1","event":"Clerk#\d+","handler":"tally","key":null,'
        r'"status":"completed","result":"x"\}\n',
        told.expect(0).out,
    )
    assert open_desk.agentctl("invoke", "Desk/new", "total").expect(0).out == "0\n"
    assert open_desk.programs[0].alive


def test_a_failure_and_a_bug_reach_the_client_as_without_a_program(open_desk: Project) -> None:
    failed = open_desk.agentctl("invoke", "--json", "Clerk", "refused", "never").expect(1)
    assert failed.out == ""
    error = failed.error_json
    assert (error["status"], error["type"]) == ("failed", "crew.Refused")
    assert "never is shut" in error["error"] + error["detail"]
    stuck = open_desk.agentctl("invoke", "Clerk", "buggy", "never").expect(1)
    assert stuck.out == ""
    assert "KeyError: 'sum'" in stuck.err
    assert "stuck" in stuck.err


def test_a_trigger_prints_the_address_and_does_not_wait(open_desk: Project) -> None:
    words = ("invoke", "-t", "Clerk", "work", "trigger")
    address = open_desk.agentctl(*words).expect(0).out
    assert re.fullmatch(r"Clerk#\d+\n", address)
    until_noted(open_desk, "at trigger ")
    told = open_desk.agentctl("invoke", "--trigger", "--json", "Clerk", "work", "trigger").expect(0)
    assert re.fullmatch(
        r'\{"schema":"agentctl\.invoke/1","event":"Clerk#\d+","handler":"work","key":null,'
        r'"status":"queued"(,"due":null)?\}\n',
        told.out,
    )
    open_gate(open_desk, "trigger")
    until_state(open_desk, address.strip(), "completed")


def test_a_trigger_without_a_program_runs_at_the_next_start(project: Project) -> None:
    make_desk(project, "Clerk")
    assert submit(project, "Clerk", "tally", "later") == "Clerk#1"
    assert project.ledger() == [], "a trigger without a program ran the event"
    project.agentctl("run", "--until-idle").expect(0)
    assert project.ledger() == ["tally later Clerk-1-1"]


def test_what_a_trigger_answered_survives_kill_9(project: Project) -> None:
    make_desk(project, "Clerk")
    addresses = []
    for number in range(3):
        program = serve(project)
        addresses.append(submit(project, "Clerk", "tally", f"n{number}"))
        program.cut_power()
    assert addresses == ["Clerk#1", "Clerk#2", "Clerk#3"]
    project.agentctl("run", "--until-idle").expect(0)
    done = set(project.ledger("tally "))
    assert done == {f"tally n{number} Clerk-{number + 1}-1" for number in range(3)}


def test_after_the_timeout_the_event_goes_on_in_the_program(open_desk: Project) -> None:
    began = time.monotonic()
    words = ("invoke", "Clerk", "work", "slow", "-i", "slow")
    told = open_desk.agentctl(*words, "--timeout", "300ms").expect_error(124)
    assert told.out == ""
    assert time.monotonic() - began < 5
    address = re.search(r"Clerk#\d+", told.err)
    assert address, "the event that goes on isn't named"
    until_noted(open_desk, "at slow ")
    open_gate(open_desk, "slow")
    until_state(open_desk, address[0], "completed")
    assert open_desk.agentctl(*words).expect(0).out == '"SLOW"\n'
    assert len(open_desk.ledger("begin slow ")) == 1


def queue_two(project: Project, *words: str) -> None:
    """Hold the instance, and queue as many events behind it as its lane takes."""
    submit(project, 'Desk("full")', "hold", "full")
    until_noted(project, "at full ")
    for n in ("1", "2"):
        submit(project, 'Desk("full")', "add", n, *words)


def test_a_full_lane_refuses_or_lets_wait(project: Project) -> None:
    make_desk(project, "Desk", capacity=2)
    serve(project, watched="Desk")
    queue_two(project)
    before = events_on_record(project, "Desk")
    third = ("invoke", 'Desk("full")', "add", "4")
    for words in ((*third, "--if-full", "refuse"), (*third, "-t", "--if-full", "refuse")):
        told = project.agentctl(*words).expect_error(4, "full")
        assert told.out == ""
    assert events_on_record(project, "Desk") == before, "a refused event was accepted"
    waiter = project.start_agentctl(*third, "--if-full", "wait")
    with pytest.raises(subprocess.TimeoutExpired):
        waiter.process.wait(0.5)
    assert events_on_record(project, "Desk") == before
    open_gate(project, "full")
    assert waiter.end().expect(0).out == "8\n"


@pytest.mark.parametrize("beside", [True, False], ids=["beside", "alone"])
def test_p17_ctrl_c_during_invoke_then_the_same_key_again(project: Project, beside: bool) -> None:
    make_desk(project, "Clerk")
    if beside:
        serve(project)
    words = ("invoke", "Clerk", "work", "p17", "-i", "p17")
    client = project.start_agentctl(*words)
    until_noted(project, "at p17 ")
    client.send(signal.SIGINT)
    assert client.end(timeout=8).expect(130).out == ""
    again = project.start_agentctl(*words)
    if not beside:
        until_noted(project, "at p17 ", 2)
    open_gate(project, "p17")
    assert again.end().expect(0).out == '"P17"\n', "the second one doesn't join"
    assert project.agentctl(*words).expect(0).out == '"P17"\n', "the third isn't given the result"
    assert project.ledger("begin ") == ["begin p17 Clerk-1-1"]
    assert project.ledger("end ") == ["end p17 Clerk-1-3"]
    assert len(project.ledger("at ")) == (1 if beside else 2)


def test_p17_ctrl_c_ends_the_client_not_the_program(open_desk: Project) -> None:
    client = open_desk.start_agentctl("invoke", "Clerk", "work", "ctrl")
    until_noted(open_desk, "at ctrl ")
    client.send(signal.SIGINT)
    client.end(timeout=8).expect(130)
    open_gate(open_desk, "ctrl")
    until_noted(open_desk, "end ctrl ")
    assert len(open_desk.ledger("begin ctrl ")) == 1
    assert open_desk.programs[0].alive


WRONG = [
    (("echo",), 2, "text"),
    (("echo", "a", "b"), 2, "echo"),
    (("nap", "x", "soon"), 2, "seconds"),
    (("nap", "x", "second=1"), 2, "seconds"),
    (("nap", "x", "1", "name=y"), 2, "name"),
    (("ecko", "a"), 3, "echo"),
    (("echo", "--args", "[1]"), 2, "text"),
    (("echo", "--args", "{"), 2, "args"),
]


@pytest.mark.parametrize("beside", [True, False], ids=["beside", "alone"])
def test_g13_what_does_not_fit_is_refused_and_nothing_is_accepted(
    project: Project, beside: bool
) -> None:
    make_desk(project, "Clerk")
    if beside:
        serve(project)
    project.agentctl("invoke", "Clerk", "echo", "first").expect(0)
    before = events_on_record(project)
    for number, (words, code, word) in enumerate(WRONG):
        flags = ("-t", "-i", f"g13-{number}") if number % 2 else ()
        told = project.agentctl("invoke", *flags, "Clerk", *words).expect_error(code, word)
        assert told.out == ""
    assert set(events_on_record(project)) <= set(before), "something was accepted"
    # The refused keys stand for nothing, and no number was taken.
    told = project.agentctl("invoke", "--json", "Clerk", "echo", "a", "-i", "g13-1").expect(0)
    assert told.json["event"] == "Clerk#2"


def test_g13_identity_that_does_not_fit_is_refused(open_desk: Project) -> None:
    open_desk.agentctl("invoke", "Desk/g13", "add", "1").expect(0)
    before = events_on_record(open_desk, "Desk")
    for words in (("Desk", "add"), ('Desk("a", "b")', "add"), ('Clerk("a")', "echo")):
        told = open_desk.agentctl("invoke", *words, "1")
        assert told.code in (2, 3), told.both
        told.expect_error(told.code)
    open_desk.agentctl("invoke", "Clark", "echo", "a").expect_error(3, "Clerk")
    assert events_on_record(open_desk, "Desk") == before


def test_g13_the_program_decides_by_its_own_code_and_no_client_imports_it(
    project: Project,
) -> None:
    make_desk(project, "Clerk")
    project.environment["COUNT_IMPORTS"] = "1"
    program = serve(project)
    assert len(project.ledger("imported by")) == 1
    newer = "async def echo(self, text: str, times: int)"
    project.edit("crew.py", "async def echo(self, text: str)", newer)
    project.agentctl("invoke", "Clerk", "echo", "7", "3").expect_error(2, "echo")
    assert project.agentctl("invoke", "Clerk", "echo", "7").expect(0).out == '"7"\n'
    project.edit("crew.py", newer, "async def newer(self, text: str)")
    project.agentctl("invoke", "Clerk", "newer", "7").expect_error(3, "newer")
    project.write("crew.py", "this is no Python\n")
    assert project.agentctl("invoke", "Clerk", "echo", "7").expect(0).out == '"7"\n'
    address = submit(project, "Clerk", "nap", "old")
    until_state(project, address, "sleeping")
    project.agentctl("invocation", "cancel", address).expect(0)
    until_state(project, address, "cancelled")
    project.agentctl("status").expect(0)
    assert len(project.ledger("imported by")) == 1, "a client imported the user's code"
    assert program.alive


def test_an_invoke_without_a_program_serves_who_comes_meanwhile(project: Project) -> None:
    make_desk(project, "Clerk")
    first = project.start_agentctl("invoke", "Clerk", "work", "first")
    until_noted(project, "at first ")
    joined = project.start_agentctl("invoke", "Clerk", "work", "second")
    until_noted(project, "at second ")
    open_gate(project, "first")
    wait_until(lambda: project.ledger("end first "), "the first event to end")
    open_gate(project, "second")
    assert joined.end().expect(0).out == '"SECOND"\n'
    assert first.end().expect(0).out == '"FIRST"\n'
    assert project.ledger("begin second ") == ["begin second Clerk-2-1"]


def test_a_program_that_stops_tells_its_clients_or_hands_them_on(project: Project) -> None:
    make_desk(project, "Clerk")
    program = serve(project)
    client = project.start_agentctl("invoke", "Clerk", "work", "handed", "-i", "handed")
    until_noted(project, "at handed ")
    program.send(signal.SIGTERM)
    program.end(timeout=8).expect(0)
    open_gate(project, "handed")
    ended = client.end(timeout=20)
    again = project.agentctl("invoke", "Clerk", "work", "handed", "-i", "handed").expect(0)
    assert again.out == '"HANDED"\n'
    assert ended.out in ("", again.out), "the client heard another result"
    assert (ended.code == 0) == (ended.out != "")
    assert len(project.ledger("begin handed ")) == 1


def test_a_timeout_passes_also_where_the_program_hangs(project: Project) -> None:
    make_desk(project, "Clerk")
    program = serve(project)
    project.agentctl("invoke", "Clerk", "echo", "is it served?").expect(0)
    program.send(signal.SIGSTOP)
    try:
        words = ("invoke", "Clerk", "echo", "x", "--timeout", "300ms")
        client = project.start_agentctl(*words)
        late = client.end(timeout=10).expect_error(124, "doesn't answer", "may accept")
        assert late.out == ""
    finally:
        program.send(signal.SIGCONT)
    assert project.agentctl("invoke", "Clerk", "echo", "y").expect(0).out == '"y"\n'


def test_what_is_no_utf8_is_refused_beside_a_program_too(open_desk: Project) -> None:
    noise = "\udcff"  # the byte 0xff
    open_desk.agentctl("invoke", "Clerk", "echo", noise).expect_error(2, "UTF-8")
    open_desk.agentctl("invoke", "-i", noise, "Clerk", "echo", "x").expect_error(2, "UTF-8")
    open_desk.agentctl("invocation", "cancel", "Clerk", noise).expect_error(2, "UTF-8")
    open_desk.agentctl("invoke", 'Desk("\\ud800")', "add", "1").expect_error(2, "no address")
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    told = open_desk.agentctl("invoke", "Clerk", "echo", "é", env=plain).expect(0)
    assert told.out in ('"é"\n', '"\\u00e9"\n')
