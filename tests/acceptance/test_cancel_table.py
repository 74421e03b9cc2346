"""`invocation cancel`, cell by cell of the table of states: one word and one exit code each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from .desk import (
    cancel,
    closing,
    desk_in,
    make_desk,
    open_gate,
    serve,
    submit,
    until_noted,
    until_state,
)
from .support import Project

FLAGS = {"plain": (), "running": ("--running",)}
STATES = ("queued", "running", "sleeping", "waiting", "stuck", "completed", "failed", "cancelled")
AGENTS = {"queued": "Desk", "waiting": "Front"}

# The word, what follows the address, the exit code.
CANCELLED = ("cancelled", "", 0)
CELLS = {
    "queued": CANCELLED,
    "sleeping": CANCELLED,
    "waiting": CANCELLED,
    "stuck": CANCELLED,
    "completed": ("finished", " (completed)", 4),
    "failed": ("finished", " (failed)", 4),
    "cancelled": ("already cancelled", "", 0),
    "set-aside": ("finished", " (set aside)", 4),
}
BESIDE = {
    **{(state, flag): cell for state, cell in CELLS.items() for flag in FLAGS},
    ("running", "plain"): ("running", "", 4),
    ("running", "running"): CANCELLED,
}
ALONE = {**BESIDE, ("running", "plain"): CANCELLED}  # without a program it counts as queued


@dataclass
class Office:
    """A project with one event for each cell: its instance, and its address as `invoke -t` told."""

    project: Project
    addresses: dict[str, str]

    def who(self, name: str) -> tuple[str, str]:
        """The words of the command after which the event is named by its key."""
        agent = AGENTS.get(name.rpartition("-")[0], "Clerk")
        return (f'Desk("{name}")' if agent == "Desk" else agent), name


def bring_about(project: Project, state: str, flag: str) -> str:
    """Make an event that is in this state, with a key that says so; its address."""
    name = f"{state}-{flag}"
    key = ("-i", name)
    if state == "queued":
        submit(project, f'Desk("{name}")', "hold", f"{name}-before")
        until_noted(project, f"at {name}-before ")
        return submit(project, f'Desk("{name}")', "add", "1", *key)
    if state == "waiting":
        address = submit(project, "Front", "ask", name, *key)
        until_noted(project, f"at {name} ")
        return address
    handler = {"running": "work", "sleeping": "nap", "stuck": "buggy", "completed": "echo"}.get(
        state, "refused" if state == "failed" else "nap"
    )
    address = submit(project, "Clerk", handler, name, *key)
    if state == "cancelled":
        until_state(project, address, "sleeping")
        cancel(project, address).expect(0)
    if state == "running":
        until_noted(project, f"at {name} ")
    else:
        until_state(project, address, state)
    return address


@pytest.fixture(scope="module")
def left_office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """Every state, in a project whose program was killed."""
    with desk_in(tmp_path_factory.mktemp("office")) as project:
        project.agentctl("invoke", "Clerk", "buggy", "aside", "-i", "set-aside").expect(1)
        project.until_set_aside(1, "Clerk")
        addresses = {"set-aside": "Clerk#1"}
        program = serve(project)
        for state in STATES:
            for flag in FLAGS:
                addresses[f"{state}-{flag}"] = bring_about(project, state, flag)
        program.cut_power()
        yield Office(project, addresses)


@pytest.fixture(scope="module")
def open_office(left_office: Office, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """The same in a program: what was cut off runs again, each event is back in its state."""
    with closing(left_office.project.copy_to(tmp_path_factory.mktemp("open"))) as twin:
        before = {flag: len(twin.ledger(f"at running-{flag} ")) for flag in FLAGS}
        serve(twin)
        for flag, count in before.items():
            until_noted(twin, f"at running-{flag} ", count + 1)
            for state in ("sleeping", "stuck", "waiting"):
                until_state(twin, left_office.addresses[f"{state}-{flag}"], state)
        yield Office(twin, left_office.addresses)


def check_cell(office: Office, state: str, flag: str, cell: tuple[str, str, int]) -> None:
    name = state if state == "set-aside" else f"{state}-{flag}"
    word, about, code = cell
    told = cancel(office.project, *office.who(name), *FLAGS[flag]).expect(code)
    assert told.out == f"{word} {office.addresses[name]}{about}\n"
    if cell == CANCELLED:
        again = cancel(office.project, office.addresses[name], *FLAGS[flag]).expect(0)
        assert again.out == f"already cancelled {office.addresses[name]}\n"


@pytest.mark.parametrize(("state", "flag"), BESIDE, ids=map("-".join, BESIDE))
def test_r8_cancel_beside_a_program(open_office: Office, state: str, flag: str) -> None:
    check_cell(open_office, state, flag, BESIDE[state, flag])
    if BESIDE[state, flag] == CANCELLED:
        until_state(open_office.project, open_office.addresses[f"{state}-{flag}"], "cancelled")
    assert open_office.project.ledger(f"end {state}-{flag}") == []


@pytest.mark.parametrize(("state", "flag"), ALONE, ids=map("-".join, ALONE))
def test_r8_cancel_without_a_program(
    left_office: Office, tmp_path: Path, state: str, flag: str
) -> None:
    twin = left_office.project.copy_to(tmp_path)
    before = twin.ledger()
    check_cell(Office(twin, left_office.addresses), state, flag, ALONE[state, flag])
    assert twin.ledger() == before, "cancelling ran the user's code"


@pytest.mark.parametrize("flag", FLAGS)
def test_r8_cancel_an_unknown_key(
    open_office: Office, left_office: Office, tmp_path: Path, flag: str
) -> None:
    for project in (open_office.project, left_office.project.copy_to(tmp_path)):
        told = cancel(project, "Clerk", "no-such-key", *FLAGS[flag]).expect(3)
        assert told.out == "unknown Clerk no-such-key\n"
        beyond = cancel(project, "Clerk#9999", *FLAGS[flag]).expect(3)
        assert beyond.out.startswith("unknown Clerk")


def test_r8_the_five_answers_in_json(left_office: Office, tmp_path: Path) -> None:
    twin = left_office.project.copy_to(tmp_path)
    addresses = left_office.addresses
    asleep, completed = "sleeping-plain", "completed-plain"
    schema = '{"schema":"agentctl.cancel/1","answer":'
    for words, code, rest in (
        (("Clerk", asleep), 0, f'"cancelled","event":"{addresses[asleep]}"'),
        (("Clerk", asleep), 0, f'"already_cancelled","event":"{addresses[asleep]}"'),
        (("Clerk", completed), 4, f'"finished","event":"{addresses[completed]}"'),
    ):
        told = cancel(twin, *words, "--json").expect(code)
        status = '"completed"' if code else "null"
        assert told.out == f'{schema}{rest},"key":"{words[1]}","status":{status}}}\n'
    aside = cancel(twin, "Clerk", "set-aside", "--json").expect(4).json
    assert (aside["answer"], aside["status"]) == ("finished", "set_aside")
    unknown = cancel(twin, "Clerk", "nobody", "--json").expect(3).json
    assert (unknown["answer"], unknown["event"], unknown["key"]) == ("unknown", None, "nobody")


def test_r8_running_in_json(open_office: Office) -> None:
    address = submit(open_office.project, "Clerk", "work", "json")
    until_noted(open_office.project, "at json ")
    told = cancel(open_office.project, address, "--json").expect(4)
    assert told.json["answer"] == "running"
    assert told.json["event"] == address


def test_r20_cancelled_twice_where_no_program_ever_ran(project: Project) -> None:
    make_desk(project, "Clerk")
    address = submit(project, "Clerk", "tally", "never")
    assert cancel(project, address).expect(0).out == f"cancelled {address}\n"
    assert cancel(project, address).expect(0).out == f"already cancelled {address}\n"
    told = project.agentctl("invocation", "list", "Clerk").expect(0).out
    assert told.startswith(f"{address}\tcancelled\t"), told


def test_r20_cancelled_without_a_program_cleans_up_at_the_next_start(
    left_office: Office, tmp_path: Path
) -> None:
    names = [f"{state}-plain" for state in ("queued", "running", "sleeping", "waiting", "stuck")]
    with closing(left_office.project.copy_to(tmp_path)) as twin:
        for name in names:
            cancel(twin, left_office.addresses[name]).expect(0)
        open_gate(twin, *names, *(f"{name}-before" for name in names))
        serve(twin)
        for name in names:
            until_state(twin, left_office.addresses[name], "cancelled")
        until_noted(twin, "at running-running ", 2)
        assert [line.split()[0] for line in twin.ledger() if "sleeping-plain" in line] == [
            "begin", "undo", "undone",
        ]  # fmt: skip
        for name in ("running-plain", "sleeping-plain"):
            assert twin.ledger(f"end {name} ") == []
        assert twin.ledger("heard waiting-plain ") == []
        assert twin.ledger("add queued-plain ") == []
