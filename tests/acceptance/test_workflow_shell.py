"""Workflows by the command: run, resumed, retried, listed, cancelled; and programs that die."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

import pytest

from .desk import ends_on_record, open_gate, submit, until_noted, until_state
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
from .support import Project, Result, find_key


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory, fleet: Fleet) -> Iterator[Office]:
    with office_in(tmp_path_factory.mktemp("office"), fleet) as office:
        yield office


def number_of(address: str) -> int:
    return int(address.partition("#")[2])


def deeds(project: Project, name: str) -> list[str]:
    """What was done for this workflow, in order, without keys and attempts."""
    deeds = [line.split() for line in project.ledger()]
    return [" ".join(words[:-2]) for words in deeds if words[1].partition("-")[0] == name]


def cancel_workflow(project: Project, address: str) -> Result:
    return project.agentctl("workflow", "cancel", address)


def test_q4_the_third_step_runs_once_the_middle_one_was_resumed(office: Office) -> None:
    address = submit(office, 'Onboard("q4")', "run")
    until_state(office, address, "waiting")
    assert deeds(office, "q4") == ["create q4", "approval q4"]
    number = number_of(address)
    resume(office, f"Onboard/q4-{number}-2", value="ana").expect(0)
    until_state(office, address, "completed")
    assert deeds(office, "q4") == ["create q4", "approval q4", "approval q4", "welcome q4"]
    again = office.agentctl("invoke", "--json", 'Onboard("q4")', "run").expect(0).json
    assert (again["event"], again["result"]) == (address, "c-q4 by ana")
    assert len(office.ledger("welcome q4 ")) == 1
    refused = resume(office, address, value="bob")
    refused.expect_error(4)


def test_q5_run_again_while_it_waits_is_the_same_event(office: Office) -> None:
    address = submit(office, 'Onboard("q5")', "run")
    until_state(office, address, "waiting")
    assert submit(office, 'Onboard("q5")', "run") == address
    client = office.start_agentctl("invoke", 'Onboard("q5")', "run")
    resume(office, "Onboard/q5", "run", value="bob").expect(0)
    assert client.end().expect(0).out == '"c-q5 by bob"\n'
    assert deeds(office, "q5")[:3] == ["create q5", "approval q5", "approval q5"]
    assert submit(office, 'Onboard("q5")', "run") == address
    assert ends_on_record(office, number_of(address), "Onboard") in (["done"], [])


def test_q6_two_runs_at_once_run_the_body_once(office: Office) -> None:
    open_gate(office, "q6-ship")
    clients = [office.start_agentctl("invoke", 'Order("q6")', "run") for _ in range(2)]
    until_noted(office, "at q6-pack ")
    open_gate(office, "q6-pack")
    assert [client.end().expect(0).out for client in clients] == ['"q6"\n'] * 2
    assert deeds(office, "q6") == ["at q6-pack", "packed q6", "need q6-ship", "billed q6"]


def test_q7_while_a_step_runs_it_ends_and_the_next_does_not_run(office: Office) -> None:
    client = office.start_agentctl("invoke", "--json", 'Order("q7")', "run")
    until_noted(office, "at q7-pack ")
    told = office.agentctl("workflow", "cancel", "Order/q7").expect(0)
    address = told.out.split()[1]
    assert told.out == f"cancelled {address}\n"
    assert address.startswith("Order/q7#")
    again = office.agentctl("invocation", "cancel", address).expect(0)
    assert again.out == f"already cancelled {address}\n"
    assert client.alive, "it ended before its attempt"
    open_gate(office, "q7-pack", "q7-ship")
    assert client.end().expect(1).error_json["status"] == "cancelled"
    assert deeds(office, "q7") == ["at q7-pack", "packed q7"]
    assert ends_on_record(office, number_of(address), "Order") == ["cancelled"]
    assert len(of_kind(office, "Order", "cancel")) >= 1


def test_q7_with_running_the_attempt_is_cut_off(office: Office) -> None:
    address = submit(office, 'Order("cut")', "run")
    until_noted(office, "at cut-pack ")
    told = office.agentctl("invocation", "cancel", address, "--running").expect(0)
    assert told.out == f"cancelled {address}\n"
    until_state(office, address, "cancelled")
    open_gate(office, "cut-pack", "cut-ship")
    again = office.agentctl("workflow", "cancel", "Order/cut").expect(0)
    assert again.out == f"already cancelled {address}\n"
    assert deeds(office, "cut") == ["at cut-pack"]
    assert ends_on_record(office, number_of(address), "Order") == ["cancelled"]


def test_q7_while_a_step_waits_and_then_the_answer_is_refused(office: Office) -> None:
    address = submit(office, 'Onboard("q7w")', "run")
    until_state(office, address, "waiting")
    told = office.agentctl("invocation", "cancel", "Onboard/q7w", "run").expect(0)
    assert told.out == f"cancelled {address}\n"
    until_state(office, address, "cancelled")
    resume(office, address, value="ana").expect_error(4)
    assert deeds(office, "q7w") == ["create q7w", "approval q7w"]


def test_q7_one_that_completed_is_finished(office: Office) -> None:
    open_gate(office, "q7c-pack", "q7c-ship")
    told = office.agentctl("invoke", "--json", 'Order("q7c")', "run").expect(0).json
    late = office.agentctl("workflow", "cancel", "Order/q7c").expect(4)
    assert late.out == f"finished {told['event']} (completed)\n"


def test_q7_one_that_never_ran_never_starts(project: Project) -> None:
    make_onboarding(project, "Order")
    open_gate(project, "never-pack", "never-ship")
    address = submit(project, 'Order("never")', "run")
    assert cancel_workflow(project, "Order/never").expect(0).out == f"cancelled {address}\n"
    project.agentctl("run", "--until-idle").expect(0)
    assert project.ledger() == []
    until_state(project, address, "cancelled")
    unknown = project.agentctl("workflow", "cancel", "Order/nobody").expect(3)
    assert unknown.out.startswith("unknown Order")


@pytest.mark.parametrize("cancelled", [True, False], ids=["q7-cancelled", "q9-not"])
def test_q7_q9_died_between_two_steps(project: Project, *, cancelled: bool) -> None:
    """What a program leaves that is killed right after the end of the first step is on record."""
    make_onboarding(project, "Order")
    open_gate(project, "x-pack", "x-ship")
    project.agentctl("invoke", 'Order("x")', "run").expect(0)
    path = project.journal_path("Order")
    lines = path.read_bytes().splitlines(keepends=True)
    ended = next(number for number, line in enumerate(lines) if b'{"ok":"1-1"' in line)
    path.write_bytes(b"".join(lines[: ended + 1]))
    project.ledger_path.write_text("")
    if cancelled:
        cancel_workflow(project, "Order/x").expect(0)
    project.agentctl("run", "--until-idle").expect(0)
    assert deeds(project, "x") == ([] if cancelled else ["need x-ship", "billed x"])
    until_state(project, "Order/x#1", "cancelled" if cancelled else "completed")


def test_a_failed_workflow_goes_on_at_the_failed_step(office: Office) -> None:
    open_gate(office, "again-pack")
    failed = office.agentctl("invoke", "--json", 'Order("again")', "run").expect(1).error_json
    assert failed["status"] == "failed"
    assert "again-ship is down" in str(failed)
    recorded = office.agentctl("invoke", "--json", 'Order("again")', "run").expect(1).error_json
    assert recorded["event"] == failed["event"]
    assert len(office.ledger("need again-ship ")) == 1, "a recorded failure was made again"
    open_gate(office, "again-ship")
    office.agentctl("invocation", "retry", failed["event"]).expect(0)
    until_state(office, failed["event"], "completed")
    told = office.agentctl("invoke", 'Order("again")', "run").expect(0)
    assert told.out == '"again"\n'
    assert deeds(office, "again") == [
        "at again-pack", "packed again", "need again-ship", "need again-ship", "billed again",
    ]  # fmt: skip
    keys = {line.split()[-2] for line in office.ledger("need again-ship ")}
    assert len(keys) == 1, "the failed step came under another key"


def test_the_outcome_is_kept_until_the_instance_is_deleted(office: Office) -> None:
    open_gate(office, "kept-pack", "kept-ship")
    first = office.agentctl("invoke", "--json", 'Order("kept")', "run").expect(0).json["event"]
    office.agentctl("agent", "delete", "Order/kept", "-y").expect(0)
    again = office.agentctl("invoke", "--json", 'Order("kept")', "run").expect(0).json["event"]
    assert again != first
    assert len(office.ledger("billed kept ")) == 2


def test_list_and_show_tell_steps_and_attempts(office: Office) -> None:
    open_gate(office, "seen-pack", "seen-ship")
    office.agentctl("invoke", 'Order("seen")', "run").expect(0)
    waiting = submit(office, 'Onboard("seen")', "run")
    until_state(office, waiting, "waiting")
    backing_off = submit(office, 'Mail("seen")', "run")
    until_state(office, backing_off, "sleeping")
    listed = document(office.agentctl("workflow", "list", "--json"))
    events = find_key(listed, "event")
    assert {waiting, backing_off} <= set(events)
    assert not any(str(event).startswith(("Asker", "Clerk")) for event in events)
    text = office.agentctl("workflow", "list").expect(0).out
    for line, words in ((waiting, "waiting"), (backing_off, "sleeping")):
        assert any(line in one and words in one for one in text.splitlines()), text
    shown = document(office.agentctl("workflow", "show", "Order/seen", "--json"))
    assert "completed" in find_key(shown, "status")
    table = office.agentctl("workflow", "show", "Order/seen").expect(0).out
    assert table.index("pack") < table.index("ship") < table.index("bill")
    asked = office.agentctl("workflow", "show", "Onboard/seen").expect(0).out
    assert "may seen come in?" in asked
    tried = office.agentctl("workflow", "show", "Mail/seen").expect(0).out
    assert "seen-mail is down" in tried
    office.agentctl("workflow", "show", "Order/nobody").expect_error(3, "nobody")
    office.agentctl("workflow", "list", "Nobody").expect_error(3, "Nobody")


def test_q14_kill_9_among_the_undoings(project: Project) -> None:
    make_onboarding(project, "Trip")
    project.environment["SLOW"] = "0.2"
    program = serve_onboarding(project, watched="Trip")
    submit(project, 'Trip("x")', "run")
    until_noted(project, "unbook x flight ")
    program.cut_power()
    project.agentctl("run", "--until-idle")
    until_state(project, "Trip/x#1", "failed")
    undone = list(project.ledger("unbooked "))
    assert [line.split()[2] for line in undone] == ["hotel", "flight"]
    assert len(project.ledger("unbook x hotel ")) == 1
    assert len(set(project.ledger("unbook x flight "))) == 1, "made again under another key"
    assert len(project.ledger("book ")) == 2
    assert ends_on_record(project, 1, "Trip") in (["failed"], [])


# A program whose clock says how much time passed before it began; ends itself as `kill -9` does.
FAKE_HOURS = """
import asyncio
import os
import signal
import sys
from dataclasses import replace

from agentctl import Host, bind
from agentctl.testing import FakeClock
from ledger import noted
from people import Mail, Real


async def rest(host):
    for _ in range(40):  # what is synced in a thread takes real time
        await asyncio.sleep(0.002)
        while not host.engine.quiet:
            await asyncio.sleep(0.001)


async def main(before: float, *passing: float) -> None:
    clock = FakeClock()
    clock.advance(before)
    options = lambda base: replace(base, clock=clock)
    async with Host(bind(Mail, world=Real()), options=options) as host:
        if before == 0:
            asyncio.ensure_future(Mail.ref("x").run())
        await rest(host)
        print(len(noted()), flush=True)
        for seconds in passing:
            clock.advance(seconds)
            await rest(host)
            print(len(noted()), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)


asyncio.run(main(*map(float, sys.argv[1:])))
"""


def test_q8_kill_9_during_a_backoff_leaves_the_rest_of_it(project: Project) -> None:
    make_onboarding(project, "Mail")
    project.write("hours.py", FAKE_HOURS)
    assert project.python("hours.py", "0").expect(-signal.SIGKILL).out == "1\n"
    later = project.python("hours.py", "600", str(49 * 60), "60")
    assert later.expect(-signal.SIGKILL).out == "1\n1\n2\n"
    open_gate(project, "x-mail")
    last = project.python("hours.py", "3600", "3599", "1")
    assert last.expect(-signal.SIGKILL).out == "2\n2\n3\n"
    lines = project.ledger("need x-mail ")
    assert [line.split()[-1] for line in lines] == ["1", "2", "3"]
    assert len({line.split()[-2] for line in lines}) == 1
    until_state(project, "Mail/x#1", "completed")


def test_an_idle_program_knows_that_a_backoff_is_due(project: Project) -> None:
    """A backoff is a kind of sleeping: `--until-idle` doesn't wait for an hour."""
    make_onboarding(project, "Mail")
    submit(project, 'Mail("x")', "run")
    began = time.monotonic()
    project.agentctl("run", "--until-idle").expect(0)
    assert time.monotonic() - began < 10
    assert len(project.ledger("need x-mail ")) == 1
    shown = project.agentctl("invocation", "show", "Mail/x#1", "--json").expect(0).json
    assert shown["status"] == "sleeping"
    assert shown["next"] is not None
