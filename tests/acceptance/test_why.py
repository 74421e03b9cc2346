"""`why`: one sentence on why an event is where it is, and what happens next and when."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from .desk import submit, until_noted, until_state
from .onboarding import document, office_in, serve_onboarding
from .sailing import Fleet
from .support import Project

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")


@dataclass
class Case:
    """A project with an event in most states, and their addresses."""

    project: Project
    events: dict[str, str]


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory, fleet: Fleet) -> Iterator[Case]:
    """The program that they were in was killed."""
    agents = ("Clerk", "Onboard", "Mail", "Asker", "Desk")
    with office_in(tmp_path_factory.mktemp("why"), fleet, *agents, max_starts=2) as project:
        holding = submit(project, 'Desk("d")', "hold", "never")
        until_noted(project, "at never ")
        found = {
            "holding": holding,
            "queued": submit(project, 'Desk("d")', "add", "1"),
            "sleeping": submit(project, "Clerk", "nap", "n", "7200"),
            "backing-off": submit(project, 'Mail("m")', "run"),
            "waiting": submit(project, "Asker", "refund", "900"),
            "step": submit(project, 'Onboard("o")', "run"),
            "stuck": submit(project, "Clerk", "buggy", "s"),
            "failed": submit(project, "Clerk", "refused", "f"),
            "running": submit(project, "Clerk", "work", "w"),
            "completed": submit(project, "Clerk", "echo", "c"),
        }
        for name in ("sleeping", "waiting", "stuck", "failed", "running", "completed"):
            until_state(project, found[name], name)
        until_state(project, found["backing-off"], "sleeping")
        until_state(project, found["step"], "waiting")
        project.programs[0].cut_power()
        yield Case(project, found)


@pytest.fixture(scope="module")
def beside(left: Case, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    """The same in a program that runs."""
    twin = left.project.copy_to(tmp_path_factory.mktemp("why-beside"))
    try:
        at = len(twin.ledger("at "))
        serve_onboarding(twin)
        until_noted(twin, "at ", at + 2)
        until_state(twin, left.events["stuck"], "stuck")
        yield Case(twin, left.events)
    finally:
        twin.close()


def ask_why(case: Case, state: str) -> str:
    """What stands on stdout: one sentence, on one line."""
    told = case.project.agentctl("why", case.events[state]).expect(0)
    assert told.out.count("\n") == 1, told.out
    assert case.events[state] in told.out
    return told.out


WORDS: dict[str, tuple[str, ...]] = {
    "sleeping": ("sleep",),
    "backing-off": ("send", "m-mail is down", "attempt"),
    "waiting": ("refund 900?", "Asker-1-1"),
    "step": ("may o come in?", "Onboard/o-1-2"),
    "stuck": ("KeyError", "retry"),
    "failed": ("f is shut", "retry"),
    "completed": ("completed",),
}


@pytest.mark.parametrize("state", WORDS)
@pytest.mark.parametrize("where", ["beside", "left"])
def test_why_names_the_reason_and_what_is_next(
    request: pytest.FixtureRequest, state: str, where: str
) -> None:
    told = ask_why(request.getfixturevalue(where), state)
    for word in WORDS[state]:
        assert word.lower() in told.lower(), told
    if state in ("sleeping", "backing-off"):
        assert TIME.search(told), f"it doesn't say when: {told}"
    assert re.search(r"line \d+|journal:\d+", told), f"no line of the journal: {told}"


def test_why_of_what_is_queued_names_who_holds_it_up(beside: Case) -> None:
    told = ask_why(beside, "queued")
    assert "queued" in told
    assert beside.events["holding"] in told, "it doesn't say who holds the instance"
    assert "running" in ask_why(beside, "running")


def test_why_without_a_program_says_that_none_runs(left: Case) -> None:
    before = left.project.tree()
    for state in ("queued", "sleeping", "running", "waiting"):
        assert "agentctl run" in ask_why(left, state)
    assert left.project.tree() == before, "a reading command changed something"


def test_why_of_what_was_set_aside(one_aside: Project) -> None:
    told = one_aside.agentctl("why", "Bot#1").expect(0).out
    for word in ("Bot#1", "set aside", "agentctl requeue set-aside"):
        assert word in told
    assert document(one_aside.agentctl("why", "Bot#1", "--json"))["event"] == "Bot#1"


def test_why_in_json_and_of_nobody(left: Case) -> None:
    for state in ("waiting", "failed"):
        told = document(left.project.agentctl("why", left.events[state], "--json"))
        assert told["event"] == left.events[state]
    left.project.agentctl("why", "Clerk#9999").expect_error(3, "9999")
    left.project.agentctl("why", "Clark#1").expect_error(3, "Clark", "Clerk")
    failed = left.project.agentctl("why", "Clerk#9999", "--json").expect(3)
    assert failed.error_json["code"] == 3
