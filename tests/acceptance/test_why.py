"""`why`: one sentence on why an event is where it is, and what happens next and when."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from .desk import open_gate, submit, until_noted, until_state
from .onboarding import document, onboarding_in, serve_onboarding
from .support import Project, Result

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Project, dict[str, str]]]:
    """An event in most states, and their addresses; the program that they were in was killed."""
    folder = tmp_path_factory.mktemp("why")
    agents = ("Onboard", "Mail", "Asker", "Clerk", "Desk")
    with onboarding_in(folder, *agents, max_starts=2) as project:
        project.agentctl("invoke", "Clerk", "buggy", "aside").expect(1)
        project.until_set_aside(1, "Clerk")
        program = serve_onboarding(project)
        holding = submit(project, 'Desk("d")', "hold", "never")
        until_noted(project, "at never ")
        found = {
            "set-aside": "Clerk#1",
            "holding": holding,
            "queued": submit(project, 'Desk("d")', "add", "1"),
            "sleeping": submit(project, "Clerk", "nap", "n", "7200"),
            "backing-off": submit(project, 'Mail("m")', "run"),
            "waiting": submit(project, "Asker", "refund", "900"),
            "step": submit(project, 'Onboard("o")', "run"),
            "stuck": submit(project, "Clerk", "buggy", "s"),
            "failed": submit(project, "Clerk", "refused", "f"),
            "running": submit(project, "Clerk", "work", "w"),
        }
        open_gate(project, "c")
        found["completed"] = submit(project, "Clerk", "work", "c")
        for name in ("sleeping", "waiting", "stuck", "failed", "running", "completed"):
            until_state(project, found[name], name)
        until_state(project, found["backing-off"], "sleeping")
        until_state(project, found["step"], "waiting")
        program.cut_power()
        yield project, found


@pytest.fixture(scope="module")
def beside(
    left: tuple[Project, dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Project, dict[str, str]]]:
    """The same in a program that runs."""
    twin = left[0].copy_to(tmp_path_factory.mktemp("why-beside"))
    try:
        at = len(twin.ledger("at "))
        serve_onboarding(twin)
        until_noted(twin, "at ", at + 2)
        until_state(twin, left[1]["stuck"], "stuck")
        yield twin, left[1]
    finally:
        twin.close()


def one_sentence(told: Result) -> str:
    """What stands on stdout: one line, in which a line of the journal is named."""
    told.expect(0)
    assert told.out.count("\n") == 1, told.out
    assert "Traceback" not in told.both
    return told.out


WORDS: dict[str, tuple[str, ...]] = {
    "sleeping": ("sleep",),
    "backing-off": ("send", "m-mail is down", "attempt"),
    "waiting": ("refund 900?", "Asker-1-1"),
    "step": ("may o come in?", "Onboard/o-1-2"),
    "stuck": ("KeyError", "retry"),
    "failed": ("f is shut", "retry"),
    "set-aside": ("set aside", "requeue"),
    "completed": ("completed",),
}


@pytest.mark.parametrize("state", WORDS)
@pytest.mark.parametrize("with_program", [True, False], ids=["beside", "alone"])
def test_why_names_the_reason_and_what_is_next(
    request: pytest.FixtureRequest, state: str, *, with_program: bool
) -> None:
    project, found = request.getfixturevalue("beside" if with_program else "left")
    address = found[state]
    told = one_sentence(project.agentctl("why", address))
    assert address in told
    for word in WORDS[state]:
        assert word.lower() in told.lower(), told
    if state in ("sleeping", "backing-off"):
        assert TIME.search(told), f"it doesn't say when: {told}"
    assert re.search(r"line \d+|journal:\d+|set-aside", told), f"no line of the journal: {told}"


def test_why_of_what_is_queued_names_who_holds_it_up(
    beside: tuple[Project, dict[str, str]],
) -> None:
    project, found = beside
    told = one_sentence(project.agentctl("why", found["queued"]))
    assert "queued" in told
    assert found["holding"] in told, "it doesn't say who holds the instance"
    running = one_sentence(project.agentctl("why", found["running"]))
    assert "gate" in running or "running" in running, running


def test_why_without_a_program_says_that_none_runs(left: tuple[Project, dict[str, str]]) -> None:
    project, found = left
    before = project.tree()
    for state in ("queued", "sleeping", "running"):
        told = one_sentence(project.agentctl("why", found[state]))
        assert "program" in told or "agentctl run" in told, told
    assert project.tree() == before, "a reading command changed something"


def test_why_in_json_and_of_nobody(left: tuple[Project, dict[str, str]]) -> None:
    project, found = left
    for state in ("waiting", "failed", "set-aside"):
        told = document(project.agentctl("why", found[state], "--json"))
        assert told["event"] == found[state]
    project.agentctl("why", "Clerk#9999").expect_error(3, "9999")
    project.agentctl("why", "Clark#1").expect_error(3, "Clark", "Clerk")
    failed = project.agentctl("why", "Clerk#9999", "--json").expect(3)
    assert failed.error_json["code"] == 3
