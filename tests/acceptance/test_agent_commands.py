"""Instances and set-aside events, looked at and put away beside a running program."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .desk import (
    closing,
    desk_in,
    make_desk,
    open_gate,
    serve,
    submit,
    until_noted,
    until_state,
)
from .support import Project, find_key


def test_list_and_show_tell_of_each_instance(open_desk: Project) -> None:
    for name in ("list-a", "list-b"):
        open_desk.agentctl("invoke", f"Desk/{name}", "add", "3").expect(0)
    submit(open_desk, "Desk/list-a", "hold", "list")
    until_noted(open_desk, "at list ")
    listed = open_desk.agentctl("agent", "list").expect(0).out
    assert "list-a" in listed
    assert "list-b" in listed
    shown = open_desk.agentctl("agent", "show", "Desk/list-a", "--json").expect(0).json
    assert shown["schema"].startswith("agentctl.")
    assert "list-a" in str(shown)
    open_desk.agentctl("agent", "show", "Desk/list-c").expect_error(3, "list-c")
    open_gate(open_desk, "list")


@pytest.mark.parametrize("beside", [True, False], ids=["beside", "alone"])
def test_delete_says_what_it_drops_and_asks(project: Project, beside: bool) -> None:
    make_desk(project, "Desk")
    program = serve(project, watched="Desk")
    project.agentctl("invoke", "Desk/gone", "add", "5", "-i", "used").expect(0)
    project.agentctl("invoke", "Desk/kept", "add", "7").expect(0)
    address = submit(project, "Desk/gone", "nap", "gone")
    until_state(project, address, "sleeping")
    if not beside:
        program.cut_power()
    asked = project.agentctl("agent", "delete", "Desk/gone").expect(2)
    assert "--yes" in asked.err or "-y" in asked.err
    assert "gone" in asked.err
    assert "1" in asked.err, "how many open events would be dropped isn't said"
    if beside:
        assert project.agentctl("invoke", "Desk/kept", "total").expect(0).out == "7\n"
    project.agentctl("agent", "delete", "Desk/gone", "-y").expect(0)
    if not beside:
        program = serve(project, watched="Desk")
    assert project.agentctl("invoke", "Desk/gone", "total").expect(0).out == "0\n"
    assert project.agentctl("invoke", "Desk/kept", "total").expect(0).out == "7\n"
    # The instance is new: its keys too, but no number is used again.
    told = project.agentctl("invoke", "--json", "Desk/gone", "add", "2", "-i", "used").expect(0)
    assert told.json["result"] == 2
    assert told.json["event"].endswith("#4")
    program.cut_power()
    assert project.agentctl("invoke", "Desk/gone", "total").expect(0).out == "2\n"


def test_delete_an_instance_that_nobody_knows(open_desk: Project) -> None:
    open_desk.agentctl("agent", "delete", "Desk/nobody", "-y").expect_error(3, "nobody")


@pytest.fixture(scope="module")
def aside_master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Event 1 of Clerk is set aside."""
    with desk_in(tmp_path_factory.mktemp("aside"), "Clerk", max_starts=1) as project:
        project.agentctl("invoke", "Clerk", "buggy", "aside", "-i", "aside").expect(1)
        project.until_set_aside(1, "Clerk")
        yield project


@pytest.fixture
def aside(aside_master: Project, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """The same, in a running program."""
    with closing(aside_master.copy_to(tmp_path_factory.mktemp("twin"))) as twin:
        serve(twin)
        yield twin


def test_requeue_beside_a_program_runs_it_there(aside: Project) -> None:
    open_gate(aside, "aside")
    told = aside.agentctl("requeue", "set-aside", "Clerk").expect(0)
    assert told.out == "requeued Clerk#1\n"
    until_state(aside, "Clerk#1", "completed")
    assert aside.set_aside("Clerk") == []
    assert aside.ledger("paid aside ") == ["paid aside Clerk-1-1"], "it was paid twice"
    aside.agentctl("requeue", "set-aside", "Clerk").expect(3)
    words = ("invoke", "Clerk", "buggy", "aside", "-i", "aside")
    assert aside.agentctl(*words).expect(0).out == '"aside"\n'


def test_requeue_fresh_beside_a_program_is_a_new_event(aside: Project) -> None:
    open_gate(aside, "aside", "other")
    words = ("requeue", "set-aside", "Clerk", "1", "--fresh", "--args")
    aside.agentctl(*words, "[7]").expect_error(2, "name")
    told = aside.agentctl(*words, '["other"]').expect(0)
    assert told.out == "requeued Clerk#2\n"
    until_state(aside, "Clerk#2", "completed")
    assert aside.ledger("paid other ") == ["paid other Clerk-2-1"]


def test_requeue_beside_a_program_dry_run_changes_nothing(aside: Project) -> None:
    before = aside.set_aside("Clerk")
    aside.agentctl("requeue", "set-aside", "Clerk", "--all", "--dry-run").expect(0)
    assert aside.set_aside("Clerk") == before
    assert [record for record in aside.records("Clerk") if "requeued" in record] == []


def test_drop_beside_a_program_is_for_good(aside: Project) -> None:
    words = ("set-aside", "drop", "Clerk", "1", "--reason", "paid by hand", "-y")
    aside.agentctl(*words).expect(0)
    assert aside.set_aside("Clerk") == []
    assert any(line.startswith("Clerk dropped: ") for line in aside.audit("Clerk"))
    assert "paid by hand" in "\n".join(aside.audit("Clerk"))
    aside.agentctl("requeue", "set-aside", "Clerk").expect(3)
    aside.programs[0].cut_power()
    open_gate(aside, "aside")
    aside.agentctl("run", "--until-idle").expect(0)
    assert len(aside.ledger("paid aside ")) == 1
    told = aside.agentctl("invoke", "--json", "Clerk", "echo", "next").expect(0)
    assert told.json["event"] == "Clerk#2", "a number was used again"


def test_two_requeues_at_once_put_it_back_once(aside: Project) -> None:
    open_gate(aside, "aside")
    clients = [aside.start_agentctl("requeue", "set-aside", "Clerk") for _ in range(2)]
    codes = sorted(client.end().code for client in clients)
    assert codes == [0, 3]
    until_state(aside, "Clerk#1", "completed")
    assert len(aside.ledger("paid aside ")) == 1


def test_inspect_and_status_agree_beside_a_program(aside: Project) -> None:
    status = aside.agentctl("status", "--json").expect(0).json
    assert find_key(status, "set_aside") == [1]
    holder = find_key(status, "holder")[0]
    assert holder["pid"] == aside.programs[0].process.pid
    lock = aside.agentctl("inspect", "lock", "Clerk").expect(0)
    assert str(aside.programs[0].process.pid) in lock.out
