"""Idempotency keys: one event for a key, whoever asks, how often, at the same moment or later."""

from __future__ import annotations

import re

import pytest

from .desk import (
    cancel,
    events_on_record,
    make_desk,
    open_gate,
    serve,
    submit,
    until_noted,
    until_state,
)
from .support import Project, Running


def tally(project: Project, key: str, *words: str) -> str:
    """Do a deed under a key; the result."""
    return project.agentctl("invoke", "Clerk", "tally", key, "-i", key, *words).expect(0).out


def test_g6_one_key_twice_is_one_event_also_after_a_restart(project: Project) -> None:
    make_desk(project, "Clerk")
    assert tally(project, "g6") == '"g6"\n', "without a program"
    assert tally(project, "g6") == '"g6"\n', "without a program, again"
    program = serve(project)
    assert tally(project, "g6") == '"g6"\n', "beside a program"
    program.cut_power()
    assert tally(project, "g6") == '"g6"\n', "after a crash"
    assert project.ledger("tally g6 ") == ["tally g6 Clerk-1-1"]
    assert events_on_record(project) in ([1], [])
    other = project.agentctl("invoke", "Clerk", "echo", "x", "--json").expect(0)
    assert other.json["event"] == "Clerk#2", "a repeated key took a number"


def test_g6_the_json_form_names_the_first_event_and_the_key(open_desk: Project) -> None:
    words = ("invoke", "Clerk", "tally", "form", "-i", "form", "--json")
    first = open_desk.agentctl(*words).expect(0)
    again = open_desk.agentctl(*words).expect(0)
    assert again.out == first.out
    assert re.fullmatch(
        r'\{"schema":"agentctl\.invoke/1","event":"Clerk#\d+","handler":"tally","key":"form",'
        r'"status":"completed","result":"form"\}\n',
        first.out,
    )


def test_g6_triggered_twice_both_hear_the_same_address(open_desk: Project) -> None:
    first = submit(open_desk, "Clerk", "work", "twice", "-i", "twice")
    until_noted(open_desk, "at twice ")
    assert submit(open_desk, "Clerk", "work", "twice", "-i", "twice") == first
    open_gate(open_desk, "twice")
    until_state(open_desk, first, "completed")
    assert submit(open_desk, "Clerk", "work", "twice", "-i", "twice") == first
    joined = open_desk.agentctl("invoke", "Clerk", "work", "twice", "-i", "twice").expect(0)
    assert joined.out == '"TWICE"\n'
    assert len(open_desk.ledger("begin twice ")) == 1


def test_g6_a_failed_outcome_is_told_again_and_nothing_runs(open_desk: Project) -> None:
    words = ("invoke", "Clerk", "refused", "no", "-i", "no")
    first = open_desk.agentctl(*words).expect_error(1, "no is shut")
    open_gate(open_desk, "no")
    again = open_desk.agentctl(*words).expect_error(1, "no is shut")
    assert (first.out, again.out) == ("", "")
    assert len(open_desk.ledger("attempt no ")) == 1


def test_g6_a_stuck_event_tells_its_error_and_does_not_run(open_desk: Project) -> None:
    words = ("invoke", "--json", "Clerk", "buggy", "bug", "-i", "bug")
    first = open_desk.agentctl(*words).expect(1).error_json
    again = open_desk.agentctl(*words).expect(1).error_json
    assert first["event"] == again["event"]
    assert (first["status"], again["status"]) == ("stuck", "stuck")
    assert "KeyError" in again["error"] + again["detail"]
    assert len(open_desk.ledger("paid bug ")) == 1


def test_g6_a_key_belongs_to_its_instance(open_desk: Project) -> None:
    for name, total in (("one", "1\n"), ("two", "1\n"), ("one", "1\n")):
        told = open_desk.agentctl("invoke", f'Desk("{name}")', "add", "1", "-i", "same")
        assert told.expect(0).out == total
    assert open_desk.agentctl("invoke", "Desk/one", "total").expect(0).out == "1\n"


@pytest.mark.parametrize("beside", [True, False], ids=["beside", "alone"])
def test_g7_a_key_with_other_arguments_is_refused_with_the_firsts_facts(
    project: Project, beside: bool
) -> None:
    make_desk(project, "Clerk")
    if beside:
        serve(project)
    tally(project, "g7")
    for words in (("tally", "other"), ("echo", "g7")):
        told = project.agentctl("invoke", "Clerk", *words, "-i", "g7")
        told.expect_error(4, "g7", "Clerk#1", "tally")
        assert told.out == ""
    told = project.agentctl("invoke", "-t", "--json", "Clerk", "tally", "other", "-i", "g7")
    error = told.expect(4).error_json
    assert (error["code"], error["event"]) == (4, "Clerk#1")
    assert tally(project, "g7") == '"g7"\n'
    assert [line.split()[1] for line in project.ledger("tally")] == ["g7"]


def test_g7_the_same_arguments_written_otherwise_are_the_same(open_desk: Project) -> None:
    for words in (("same",), ("name=same",), ("--args", '["same"]'), ("--args", '{"name":"same"}')):
        told = open_desk.agentctl("invoke", "Clerk", "tally", *words, "-i", "written")
        assert told.expect(0).out == '"same"\n'
    assert len(open_desk.ledger("tally same ")) == 1


def eight_at_once(project: Project) -> list[Running]:
    words = ("invoke", "--json", "Clerk", "work", "q13", "-i", "q13")
    return [project.start_agentctl(*words) for _ in range(8)]


@pytest.mark.parametrize("beside", [True, False], ids=["beside", "alone"])
def test_q13_eight_invocations_of_one_key_at_once_are_one_run(
    project: Project, beside: bool
) -> None:
    make_desk(project, "Clerk")
    if beside:
        serve(project)
    clients = eight_at_once(project)
    until_noted(project, "at q13 ")
    open_gate(project, "q13")
    answers = [client.end().expect(0).json for client in clients]
    assert answers[0]["result"] == "Q13"
    assert answers == [answers[0]] * 8
    assert project.ledger() == ["begin q13 Clerk-1-1", "at q13 Clerk-1-2", "end q13 Clerk-1-3"]


def test_q13_two_at_the_same_moment_many_times(open_desk: Project) -> None:
    for number in range(5):
        words = ("invoke", "Clerk", "tally", f"pair{number}", "-i", f"pair{number}")
        pair = [open_desk.start_agentctl(*words) for _ in range(2)]
        assert [client.end().expect(0).out for client in pair] == [f'"pair{number}"\n'] * 2
        assert len(open_desk.ledger(f"tally pair{number} ")) == 1


def test_a_key_that_is_made_goes_to_stderr_and_works(open_desk: Project) -> None:
    made = open_desk.agentctl("invoke", "Clerk", "tally", "made", "-i", "-").expect(0)
    assert made.out == '"made"\n'
    line = re.search(r"^idempotency key: (\S+)$", made.err, re.MULTILINE)
    assert line, made.err
    again = open_desk.agentctl("invoke", "Clerk", "tally", "made", "-i", line[1]).expect(0)
    assert again.out == '"made"\n'
    assert len(open_desk.ledger("tally made ")) == 1
    other = open_desk.agentctl("invoke", "Clerk", "tally", "made", "-i", "-").expect(0)
    assert f"idempotency key: {line[1]}\n" not in other.err
    assert len(open_desk.ledger("tally made ")) == 2


@pytest.mark.parametrize("beside", [True, False], ids=["beside", "alone"])
def test_a_cancelled_key_may_be_used_anew(project: Project, beside: bool) -> None:
    make_desk(project, "Clerk")
    program = serve(project)
    first = submit(project, "Clerk", "nap", "anew", "-i", "anew")
    until_state(project, first, "sleeping")
    cancel(project, "Clerk", "anew").expect(0)
    until_state(project, first, "cancelled")
    if not beside:
        program.cut_power()
    assert cancel(project, "Clerk", "anew").expect(0).out == f"already cancelled {first}\n"
    told = project.agentctl("invoke", "--json", "Clerk", "echo", "new", "-i", "anew").expect(0)
    assert told.json["result"] == "new"
    assert told.json["event"] == "Clerk#2"
    assert cancel(project, "Clerk", "anew").expect(4).out == "finished Clerk#2 (completed)\n"


@pytest.mark.parametrize("beside", [True, False], ids=["beside", "alone"])
def test_the_key_of_a_set_aside_event_is_refused_and_nothing_runs(
    project: Project, beside: bool
) -> None:
    make_desk(project, "Clerk", max_starts=1)
    words = ("invoke", "Clerk", "buggy", "aside", "-i", "aside")
    project.agentctl(*words).expect(1)
    project.until_set_aside(1, "Clerk")
    if beside:
        serve(project)
    told = project.agentctl(*words).expect_error(4, "set aside", "Clerk#1", "requeue")
    assert told.out == ""
    assert len(project.ledger("paid aside ")) == 1


def test_a_cancelled_event_tells_who_joins_that_it_is_cancelled(open_desk: Project) -> None:
    words = ("invoke", "--json", "Clerk", "nap", "joined", "-i", "joined")
    clients = [open_desk.start_agentctl(*words) for _ in range(2)]
    until_noted(open_desk, "begin joined ")
    until_state(open_desk, "Clerk joined", "sleeping")
    cancel(open_desk, "Clerk", "joined").expect(0)
    for client in clients:
        error = client.end().expect(1).error_json
        assert error["status"] == "cancelled"
    assert len(open_desk.ledger("begin joined ")) == 1


def test_an_open_event_is_joined_by_its_key_after_a_restart(project: Project) -> None:
    make_desk(project, "Clerk")
    first = serve(project)
    address = submit(project, "Clerk", "work", "over", "-i", "over")
    until_noted(project, "at over ")
    first.cut_power()
    client = project.start_agentctl("invoke", "--json", "Clerk", "work", "over", "-i", "over")
    until_noted(project, "at over ", 2)
    open_gate(project, "over")
    told = client.end().expect(0).json
    assert (told["event"], told["result"]) == (address, "OVER")
    assert project.ledger("begin over ") == ["begin over Clerk-1-1"]
