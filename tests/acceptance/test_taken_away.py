"""What others do to the folders of a program that runs: it ends, and says what is true."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from .desk import events_on_record, make_desk, serve, submit
from .support import Project, Running


def idle(project: Project) -> Running:
    """A program that has done an event, and has nothing more to do."""
    make_desk(project, "Clerk", "Desk")
    program = serve(project)
    project.agentctl("invoke", "Clerk", "echo", "first").expect(0)
    return program


def remove(project: Project) -> None:
    shutil.rmtree(project.root / "agents")


def move(project: Project) -> None:
    (project.root / "agents").rename(project.root / "elsewhere")


def replace(project: Project) -> None:
    move(project)
    shutil.copytree(
        project.root / "elsewhere", project.root / "agents", ignore=lambda *_: ["control"]
    )


@pytest.mark.parametrize("take_away", [remove, move, replace])
def test_a_program_without_work_ends_by_itself_when_its_folders_are_taken_away(
    project: Project, take_away: Callable[[Project], None]
) -> None:
    program = idle(project)
    take_away(project)
    told = program.end(timeout=15).expect_error(74, "no longer there", "put it back")
    assert "nothing acknowledged is lost" not in told.err


def test_its_events_are_in_the_folder_that_was_moved_and_go_on_there(project: Project) -> None:
    program = idle(project)
    submit(project, "Clerk", "nap", "night")
    move(project)
    program.end(timeout=15).expect(74)
    (project.root / "elsewhere").rename(project.root / "agents")
    assert events_on_record(project) == [1, 2]
    assert project.agentctl("invoke", "Clerk", "echo", "on").expect(0).out == '"on"\n'


@pytest.mark.parametrize("idly", [True, False], ids=["idle", "asked"])
def test_a_journal_that_was_emptied_in_place_takes_no_more_events(
    project: Project, idly: bool
) -> None:
    program = idle(project)
    project.journal_path("Clerk").write_bytes(b"")
    if not idly:
        asked = project.agentctl("invoke", "-t", "Clerk", "echo", "second", timeout=20)
        assert (asked.out, asked.code) == ("", 74), asked.both
    told = program.end(timeout=15).expect_error(74, "cut off by somebody else", "backup")
    assert "nothing acknowledged is lost" not in told.err


def test_a_key_of_an_event_that_was_cut_off_is_not_answered_for(project: Project) -> None:
    program = idle(project)
    words = ("invoke", "-t", "-i", "k", "Clerk", "echo", "second")
    assert project.agentctl(*words).expect(0).out == "Clerk#2\n"
    with project.journal_path("Clerk").open("r+b") as journal:
        journal.truncate(10)
    asked = project.agentctl(*words, timeout=20)
    assert (asked.out, asked.code) == ("", 74), asked.both
    assert program.end(timeout=15).code == 74
