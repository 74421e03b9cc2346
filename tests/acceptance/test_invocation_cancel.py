"""Cancelling as the handler and its callers see it: clean-up runs, state is dropped, one end."""

from __future__ import annotations

import signal

import pytest

from .desk import (
    cancel,
    ends_on_record,
    kill_after,
    make_desk,
    open_gate,
    serve,
    submit,
    until_noted,
    until_state,
)
from .support import Project, wait_until


def deeds(project: Project, name: str) -> list[str]:
    return [line.split()[0] for line in project.ledger() if line.split()[1] == name]


def test_g1_keys_of_a_busy_instance_are_cancelled_one_by_one(open_desk: Project) -> None:
    desk = 'Desk("g1")'
    finished = open_desk.agentctl("invoke", desk, "add", "1", "-i", "key1").expect(0)
    assert finished.out == "1\n"
    submit(open_desk, desk, "hold", "g1")
    until_noted(open_desk, "at g1 ")
    second = submit(open_desk, desk, "add", "10", "-i", "key2")
    third = submit(open_desk, desk, "add", "100", "-i", "key3")
    first_told = cancel(open_desk, desk, "key1").expect(4)
    assert first_told.out.startswith("finished Desk")
    assert first_told.out.endswith(" (completed)\n")
    assert cancel(open_desk, desk, "key2").expect(0).out == f"cancelled {second}\n"
    assert cancel(open_desk, desk, "key4").expect(3).out.startswith("unknown Desk")
    open_gate(open_desk, "g1")
    until_state(open_desk, third, "completed")
    assert [line.split()[2] for line in open_desk.ledger("add g1 ")] == ["1", "100"]
    assert open_desk.agentctl("invoke", desk, "total").expect(0).out == "102\n"


@pytest.mark.parametrize("where", ["gate", "asleep"])
@pytest.mark.parametrize("beside", [True, False], ids=["beside", "alone"])
def test_what_swallows_every_cancel_is_got_rid_of(
    project: Project, where: str, *, beside: bool
) -> None:
    make_desk(project, "Clerk")
    program = serve(project)
    address = submit(project, "Clerk", "deaf", "it", where)
    state = "running" if where == "gate" else "sleeping"
    until_state(project, address, state)
    if where == "gate":
        refused = project.agentctl("agent", "delete", "Clerk", "-y").expect(4)
        assert "cancel it first, and then delete again" in refused.err
    assert cancel(project, address, "--running").expect(0).out == f"cancelled {address}\n"
    until_noted(project, "swallowed it")
    until_state(project, address, state)
    for words in (("show", address), ("list", "Clerk")):
        assert "cancelling: " in project.agentctl("invocation", *words).expect(0).out
    assert project.agentctl("invocation", "show", address, "--json").json["cancelling"] is True
    warned = f"cancelled, and not at an end yet: {address}"
    assert warned in project.agentctl("status").expect(0).err
    if not beside:
        program.cut_power()
    made = project.ledger()
    told = project.agentctl("agent", "delete", "Clerk", "-y").expect(0)
    assert f"cancelled {address}" in told.err
    until_state(project, address, "cancelled")
    assert ends_on_record(project, 1) == ["cancelled"]
    assert warned not in project.agentctl("status").expect(0).err
    if beside:
        assert project.agentctl("invoke", "Clerk", "echo", "on").expect(0).out == '"on"\n'
        program.send(signal.SIGTERM)
        program.end().expect(0)
    project.agentctl("run", "--until-idle").expect(0)
    assert project.ledger() == made


@pytest.mark.parametrize("where", ["gate", "task", "asleep"])
def test_what_swallows_everything_holds_up_neither_its_deletion_nor_a_stop(
    project: Project, where: str
) -> None:
    make_desk(project, "Clerk")
    program = serve(project)
    states = {"gate": "running"}
    first = submit(project, "Clerk", "stone_deaf", "it", where)
    until_state(project, first, states.get(where, "sleeping"))
    cancel(project, first, "--running").expect(0)
    project.agentctl("agent", "delete", "Clerk", "-y").expect(0)
    until_state(project, first, "cancelled")
    second = submit(project, "Clerk", "stone_deaf", "it", where)
    until_state(project, second, states.get(where, "sleeping"))
    program.send(signal.SIGTERM)
    program.end().expect(0)
    assert ends_on_record(project, 2) == []


def test_h9_a_cancel_is_not_swallowed_by_except_exception(open_desk: Project) -> None:
    address = submit(open_desk, "Clerk", "guarded", "h9")
    until_noted(open_desk, "at h9 ")
    assert cancel(open_desk, address, "--running").expect(0).out == f"cancelled {address}\n"
    until_state(open_desk, address, "cancelled")
    open_gate(open_desk, "h9")
    assert deeds(open_desk, "h9") == ["at"], "the cancel came as an Exception, or the call went on"
    assert ends_on_record(open_desk, int(address.partition("#")[2])) == ["cancelled"]


def test_h9_who_swallows_the_cancel_ends_cancelled_all_the_same(open_desk: Project) -> None:
    client = open_desk.start_agentctl("invoke", "Clerk", "stubborn", "h9b", "-i", "h9b")
    until_wait = ("invocation", "wait", "Clerk", "h9b", "--for", "sleeping", "--timeout", "10s")
    wait_until(lambda: open_desk.agentctl(*until_wait).code == 0, "the event to sleep")
    cancel(open_desk, "Clerk", "h9b").expect(0)
    told = client.end().expect_error(1, "cancelled")
    assert told.out == ""
    assert deeds(open_desk, "h9b") == ["swallowed"]
    assert cancel(open_desk, "Clerk", "h9b").expect(0).out.startswith("already cancelled Clerk#")


def test_a_sleeper_that_is_cancelled_cleans_up_and_its_calls_are_recorded(
    open_desk: Project,
) -> None:
    address = submit(open_desk, "Clerk", "nap", "clean")
    until_state(open_desk, address, "sleeping")
    cancel(open_desk, address, "--reason", "no longer needed").expect(0)
    until_state(open_desk, address, "cancelled")
    assert deeds(open_desk, "clean") == ["begin", "undo", "undone"]
    number = address.partition("#")[2]
    calls = [
        record["call"]
        for record in open_desk.records("Clerk")
        if record.get("fn") == "World.mark" and record["call"].startswith(f"{number}-")
    ]
    assert len(calls) == 3
    assert ends_on_record(open_desk, int(number)) == ["cancelled"]
    said = [line for line in open_desk.audit("Clerk") if f"event #{number} " in line]
    assert any(line.startswith("Clerk cancelled: ") for line in said), said
    kept = open_desk.journal_path("Clerk").read_text() + "\n".join(said)
    assert "no longer needed" in kept, "the reason isn't kept"


def test_what_a_cancelled_event_changed_in_the_state_is_dropped(open_desk: Project) -> None:
    desk = 'Desk("drop")'
    open_desk.agentctl("invoke", desk, "add", "5").expect(0)
    address = submit(open_desk, desk, "nap", "drop")
    until_state(open_desk, address, "sleeping")
    cancel(open_desk, address).expect(0)
    assert open_desk.agentctl("invoke", desk, "add", "1").expect(0).out == "6\n"
    assert len(open_desk.ledger("undo drop ")) == 1


def test_a_cancelled_clean_up_is_not_made_again_after_a_restart(project: Project) -> None:
    make_desk(project, "Clerk")
    program = serve(project)
    address = submit(project, "Clerk", "nap", "once")
    until_state(project, address, "sleeping")
    cancel(project, address).expect(0)
    until_noted(project, "undo once ")
    program.cut_power()
    project.agentctl("run", "--until-idle").expect(0)
    # A call that the kill cut off is made again, under its own key; none comes under another.
    marks = project.ledger("undo once ") + project.ledger("undone once ")
    assert set(marks) == {"undo once Clerk-1-3", "undone once Clerk-1-4"}
    assert project.ledger("end once ") == []
    assert ends_on_record(project, 1) in (["cancelled"], [])  # the start may have left it out
    assert cancel(project, address).expect(0).out == "already cancelled Clerk#1\n"


def test_r20_kill_9_at_any_moment_around_a_cancel_leaves_one_end(project: Project) -> None:
    make_desk(project, "Clerk", max_starts=100)
    project.environment["SLOW"] = "0.01"
    names = [f"moment-{number}" for number in range(8)]
    for number, name in enumerate(names):
        program = serve(project)
        address = submit(project, "Clerk", "nap", name, "-i", name)
        until_state(project, address, "sleeping")
        client = project.start_agentctl("invocation", "cancel", "Clerk", name)
        kill_after(project, program, number, "Clerk")
        told = client.end().expect(0)  # the program's answer, or without it its own
        assert told.out in (f"cancelled {address}\n", f"already cancelled {address}\n")
    project.agentctl("run", "--until-idle").expect(0)
    assert project.ledger("end ") == []
    for name in names:
        assert cancel(project, "Clerk", name).expect(0).out.startswith("already cancelled ")
        for deed in ("undo", "undone"):
            assert len(set(project.ledger(f"{deed} {name} "))) == 1, project.ledger(deed)


def test_a_running_call_is_cut_off_and_the_event_never_completes(open_desk: Project) -> None:
    client = open_desk.start_agentctl("invoke", "--json", "Clerk", "work", "cut", "-i", "cut")
    until_noted(open_desk, "at cut ")
    told = cancel(open_desk, "Clerk", "cut").expect(4)
    assert told.out.startswith("running Clerk#")
    assert "--running" in told.err, "the way to cancel it all the same isn't said"
    cancel(open_desk, "Clerk", "cut", "--running").expect(0)
    open_gate(open_desk, "cut")
    ended = client.end().expect(1)
    assert ended.out == ""
    assert ended.error_json["status"] == "cancelled"
    assert deeds(open_desk, "cut") == ["begin", "at"]


def test_two_cancels_at_once_give_one_end(open_desk: Project) -> None:
    address = submit(open_desk, "Clerk", "nap", "two")
    until_state(open_desk, address, "sleeping")
    words = ("invocation", "cancel", address)
    clients = [open_desk.start_agentctl(*words) for _ in range(3)]
    told = sorted(client.end().expect(0).out for client in clients)
    assert told == [f"already cancelled {address}\n"] * 2 + [f"cancelled {address}\n"]
    until_state(open_desk, address, "cancelled")
    assert deeds(open_desk, "two") == ["begin", "undo", "undone"]
    assert ends_on_record(open_desk, int(address.partition("#")[2])) == ["cancelled"]


def test_cancelling_who_asks_leaves_the_asked_event_alone_and_answers(open_desk: Project) -> None:
    client = open_desk.start_agentctl("invoke", "Front", "ask", "asked", "-i", "asked")
    until_noted(open_desk, "at asked ")
    until_state(open_desk, "Front asked", "waiting")
    cancel(open_desk, "Front", "asked").expect(0)
    client.end().expect_error(1, "cancelled")
    open_gate(open_desk, "asked")
    until_noted(open_desk, "end asked ")
    assert open_desk.ledger("heard asked ") == []


def test_cancel_by_a_wrong_address_suggests_and_changes_nothing(open_desk: Project) -> None:
    cancel(open_desk, "Clark", "key").expect_error(3, "Clark", "Clerk")
    cancel(open_desk, "Clerk").expect_error(2)
