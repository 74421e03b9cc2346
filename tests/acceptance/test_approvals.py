"""People in the loop, by the command: who is asked, who answers, and that it is decided once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .desk import cancel, open_gate, submit, until_noted, until_state
from .onboarding import (
    Office,
    document,
    make_onboarding,
    of_kind,
    office_in,
    resume,
    serve_onboarding,
)
from .sailing import Fleet
from .support import Project

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory, fleet: Fleet) -> Iterator[Office]:
    with office_in(tmp_path_factory.mktemp("office"), fleet, "Asker", "Onboard") as office:
        yield office


def ask(project: Project, handler: str, name: str, *args: str, instance: str = "Asker") -> str:
    """Let an event wait for an answer; the call key of its first question."""
    address = submit(project, instance, handler, name, *args)
    until_state(project, address, "waiting")
    return f"{address.replace('#', '-')}-1"


def event_of(call: str) -> str:
    return "#".join(call.split("-")[:2])


def answers(project: Project, call: str) -> list[object]:
    number = call.partition("-")[2]
    records = of_kind(project, "Asker", "answer")
    return [one["value"] for one in records if one["answer"] == number]


def audited(project: Project, call: str, verb: str = "answered") -> list[str]:
    """The audit log's lines with this verb about an event."""
    number = call.split("-")[1]
    lines = [line for line in project.audit("Asker") if f" {verb}: " in line]
    return [line for line in lines if f"#{number} " in f"{line} " or call in line]


@pytest.mark.parametrize(("verb", "outcome"), [("approve", "paid"), ("deny", "refused")])
def test_a_person_decides_from_another_process(office: Office, verb: str, outcome: str) -> None:
    call = ask(office, "refund", f"alone-{verb}", "-i", verb)
    client = office.start_agentctl("invoke", "Asker", "refund", f"alone-{verb}", "-i", verb)
    words = ("approval", verb, call, "--as", "ana", "--note", "it is fine")
    told = document(office.agentctl(*words, "--json"))
    assert {call, event_of(call)} <= set(map(str, told.values()))
    assert client.end().expect(0).out == f'"{outcome}"\n'
    assert answers(office, call) == [verb == "approve"]
    (line,) = audited(office, call)
    assert "ana" in line
    assert "it is fine" in office.journal_path("Asker").read_text(encoding="utf-8")
    assert call not in office.agentctl("approval", "list").expect(0).out


def listed_as(project: Project, call: str) -> dict[str, Any]:
    """What the list says of one call, to a program."""
    rows = document(project.agentctl("approval", "list", "--json"))["approvals"]
    (row,) = [row for row in rows if row["call"] == call]
    assert isinstance(row, dict)
    return row


def test_the_list_has_what_waits_with_its_question_and_its_age(office: Office) -> None:
    refund = ask(office, "refund", "listed")
    word = ask(office, "word", "listed")
    step = submit(office, 'Onboard("listed")', "run")
    until_state(office, step, "waiting")
    text = office.agentctl("approval", "list").expect(0).out
    for call, asked in (
        (refund, "refund listed?"),
        (word, "a word for listed?"),
        (f"{step.replace('#', '-')}-2", "may listed come in?"),
    ):
        (line,) = [line for line in text.splitlines() if call in line.split("\t")]
        assert asked in line
        assert TIME.search(line), "it doesn't say since when"
    found = listed_as(office, refund)
    assert (found["question"], found["type"]) == ("refund listed?", "bool")
    assert TIME.fullmatch(found["asked"])
    assert listed_as(office, word)["type"] == "str"


def test_two_decide_at_once_and_one_wins(office: Office) -> None:
    for round_number in range(3):
        call = ask(office, "refund", f"both-{round_number}")
        verbs = {"approve": "ana", "deny": "bob"}
        clients = {
            verb: office.start_agentctl("approval", verb, call, "--as", who)
            for verb, who in verbs.items()
        }
        told = {verb: client.end() for verb, client in clients.items()}
        (winner,) = [verb for verb, one in told.items() if one.code == 0]
        (loser,) = set(verbs) - {winner}
        told[loser].expect_error(4, "already decided")
        until_state(office, event_of(call), "completed")
        assert answers(office, call) == [winner == "approve"]
        (line,) = audited(office, call)
        assert verbs[winner] in line
        assert verbs[loser] not in line


def test_q15_answered_twice_unknown_and_what_does_not_wait(office: Office) -> None:
    call = ask(office, "refund", "twice")
    office.agentctl("approval", "approve", call, "--as", "ana").expect(0)
    for again in (("approval", "deny", call), ("approval", "approve", call)):
        office.agentctl(*again).expect_error(4, "already decided")
    until_state(office, event_of(call), "completed")
    resume(office, call, value=False).expect_error(4, "already decided")
    assert answers(office, call) == [True]
    resume(office, "Asker-9999-1", value=True).expect_error(3, "9999")
    resume(office, "Nobody-1-1", value=True).expect_error(3, "Nobody")
    office.agentctl("approval", "approve", "Asker-9999-1").expect_error(3, "9999")
    resume(office, "Asker", "no-such-key", value=True).expect_error(3, "no-such-key")
    running = submit(office, "Asker", "work", "busy")
    until_noted(office, "at busy ")
    resume(office, running, value=True).expect_error(4)
    resume(office, f"{running.replace('#', '-')}-1", value=True).expect_error(4)
    open_gate(office, "busy")
    words = ("invocation", "resume", call, "--input", "true", "--json")
    assert office.agentctl(*words).expect(4).error_json["code"] == 4


def test_q15_a_wrong_type_is_refused_and_the_question_stays(office: Office) -> None:
    call = ask(office, "refund", "typed")
    for words in (('"yes"',), ("1",), ("null",), ("yes",)):
        told = office.agentctl("invocation", "resume", call, "--input", *words)
        told.expect_error(2)
    assert answers(office, call) == []
    until_state(office, event_of(call), "waiting")
    told = office.agentctl("invocation", "resume", call, "--input", "true", "--json")
    assert document(told)
    until_state(office, event_of(call), "completed")


def test_approving_what_asks_for_no_yes_or_no_names_the_line_to_use(office: Office) -> None:
    call = ask(office, "word", "other")
    told = office.agentctl("approval", "approve", call).expect_error(2)
    assert f"agentctl invocation resume {call} --input" in told.err
    assert answers(office, call) == []
    resume(office, call, value="hé🙂").expect(0)
    until_state(office, event_of(call), "completed")
    assert answers(office, call) == ["hé🙂"]


def test_q15_two_questions_open_and_the_command_asks_which(office: Office) -> None:
    first = ask(office, "two", "pair")
    event, second = event_of(first), first[:-1] + "2"
    told = resume(office, event, value="x").expect_error(2)
    assert first in told.err
    assert second in told.err
    office.agentctl("approval", "approve", second, "--as", "ana").expect(0)
    resume(office, event, value="x").expect(0)
    until_state(office, event, "completed")
    assert (answers(office, first), answers(office, second)) == (["x"], [True])


def test_q15_an_answer_before_the_handler_waits_is_kept_also_over_kill_9(
    project: Project,
) -> None:
    make_onboarding(project, "Asker")
    program = serve_onboarding(project, watched="Asker")
    address = submit(project, "Asker", "early", "early")
    until_noted(project, "at early ")
    assert [line.split()[2] for line in project.ledger("posted ")] == ["Asker-1-1"]
    resume(project, "Asker-1-1", value="kept").expect(0)
    program.cut_power()
    resume(project, "Asker-1-1", value="other").expect_error(4, "already decided")
    open_gate(project, "early")
    project.agentctl("run", "--until-idle").expect(0)
    until_state(project, address, "completed")
    done = project.agentctl("invocation", "show", address, "--json").expect(0).json
    assert done["result"] == "kept"
    assert answers(project, "Asker-1-1") in (["kept"], [])


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory, fleet: Fleet) -> Iterator[Office]:
    """Four questions, and a step that waits, of a program that was killed."""
    with office_in(tmp_path_factory.mktemp("left"), fleet, "Asker", "Onboard") as project:
        for name in ("a", "b", "c"):
            ask(project, "refund", name)
        ask(project, "word", "d")
        until_state(project, submit(project, 'Onboard("x")', "run"), "waiting")
        project.programs[0].cut_power()
        yield project


def test_k10_without_a_program_an_answer_is_on_record_and_heard_at_the_next_start(
    left: Office, tmp_path: Path
) -> None:
    twin = left.copy_to(tmp_path)
    before = twin.ledger()
    twin.agentctl("approval", "approve", "Asker-1-1", "--as", "ana").expect(0)
    twin.agentctl("approval", "deny", "Asker-2-1", "--as", "bob").expect(0)
    twin.agentctl("approval", "approve", "Asker-2-1").expect_error(4, "already decided")
    resume(twin, "Onboard/x", "run", value="eve").expect(0)
    resume(twin, "Asker#3", value=4).expect_error(2)
    resume(twin, "Asker-9-1", value=True).expect_error(3)
    assert twin.ledger() == before, "answering ran the user's code"
    (line,) = audited(twin, "Asker-2-1")
    assert "bob" in line
    waiting = twin.agentctl("approval", "list").expect(0).out
    assert ("Asker-3-1" in waiting, "Asker-2-1" in waiting) == (True, False)
    twin.agentctl("run", "--until-idle").expect(0)
    heard = [line.split()[1:3] for line in twin.ledger("heard ")]
    assert sorted(heard) == [["a", "True"], ["b", "False"]]
    until_state(twin, "Asker#3", "waiting")
    until_state(twin, "Asker#4", "waiting")
    again = twin.agentctl("invoke", 'Onboard("x")', "run").expect(0)
    assert again.out == '"c-x by eve"\n'


def test_two_decide_at_once_where_no_program_runs(left: Office, tmp_path: Path) -> None:
    twin = left.copy_to(tmp_path)
    try:
        clients = [
            twin.start_agentctl("approval", "approve", "Asker-3-1", "--as", who)
            for who in ("ana", "bob")
        ]
        told = [client.end() for client in clients]
    finally:
        twin.close()
    assert sorted(one.code for one in told) == [0, 4], told
    next(one for one in told if one.code == 4).expect_error(4, "already decided")
    assert answers(twin, "Asker-3-1") == [True]


def test_status_tells_what_waits_and_for_how_long(left: Office) -> None:
    told = document(left.agentctl("status", "--json"))
    counts = {one["agent"]: one["events"]["waiting"] for one in told["agents"]}
    assert counts == {"Asker": 4, "Onboard": 1}
    first, second = (one["longest_wait_s"] for one in told["agents"])
    assert 0 < second < first < 120
    longest = [one["waits_longest"] for one in told["agents"]]
    assert longest == ["Asker-1-1", "Onboard/x-1-2"]
    later = document(left.agentctl("status", "Asker", "--json"))["agents"][0]["longest_wait_s"]
    assert later > first, "nothing waits any longer"
    text = left.agentctl("status").expect(0).out
    assert re.search(r"^Asker\t.*\t4\t.*\tAsker-1-1$", text, re.MULTILINE), text


def test_a_question_whose_event_was_cancelled_is_gone(office: Office) -> None:
    call = ask(office, "refund", "gone")
    cancel(office, event_of(call)).expect(0)
    until_state(office, event_of(call), "cancelled")
    assert call not in office.agentctl("approval", "list").expect(0).out
    office.agentctl("approval", "approve", call).expect_error(4)
    assert answers(office, call) == []


def test_p14_what_asks_in_another_script_breaks_no_narrow_pipe(office: Office) -> None:
    call = ask(office, "word", "é🙂")
    env = {"PYTHONIOENCODING": "ascii", "LANG": "C", "COLUMNS": "20"}
    for words in (("approval", "list"), ("why", event_of(call))):
        told = office.agentctl(*words, env=env).expect(0)
        assert call in told.out
        assert told.err == ""
