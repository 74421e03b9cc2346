"""What a person sees beside a running program: health, blocked turns, and never a secret."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator

import pytest

from .desk import (
    desk_in,
    make_desk,
    open_gate,
    serve,
    submit,
    until_noted,
    until_state,
)
from .support import Project, find_key, wait_until
from .test_terminal import on_a_terminal

WORD = "hunter2-é"


@pytest.fixture(scope="module")
def open_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A desk in a program, with an event in most states, named so that narrow pipes have a case."""
    with desk_in(tmp_path_factory.mktemp("status")) as project:
        serve(project)
        for handler, state in (("nap", "sleeping"), ("work", "running"), ("buggy", "stuck")):
            name = f"{state}-é🙂"
            until_state(project, submit(project, "Clerk", handler, name, "-i", name), state)
        yield project


def test_h8_a_handler_that_blocks_its_turn_is_named(project: Project) -> None:
    make_desk(project, "Clerk")
    program = serve(project)
    client = project.start_agentctl("invoke", "Clerk", "drowse", "2.5")

    def named_in_status() -> bool:
        status = project.agentctl("status", "--json").expect(0).json
        return any("Clerk#1" in str(warnings) for warnings in find_key(status, "warnings"))

    wait_until(named_in_status, "status to name the handler that blocks")
    assert client.end().expect(0).out == '"awake"\n'
    project.agentctl("invoke", "Clerk", "drowse", "0").expect(0)
    lines = program.err.splitlines()
    told = {n: [line for line in lines if f"Clerk#{n}" in line] for n in (1, 2)}
    assert len(told[1]) > len(told[2]), f"stderr doesn't name it: {program.err}"
    assert len(told[1]) <= len(told[2]) + 2, "it is said again and again"


def test_status_counts_each_state(open_desk: Project) -> None:
    status = open_desk.agentctl("status", "--json").expect(0).json
    assert status["schema"] == "agentctl.status/1"
    clerk = next(agent for agent in status["agents"] if agent["agent"] == "Clerk")
    counted = {state: n for state, n in clerk["events"].items() if n}
    assert counted == {"sleeping": 1, "running": 1, "stuck": 1}
    assert clerk["holder"]["pid"] == open_desk.programs[0].process.pid
    told = open_desk.agentctl("status", "--check", "--fail-on", "stuck")
    assert told.code == 1
    open_desk.agentctl("status", "--check", "--fail-on", "set-aside").expect(0)


def test_status_without_a_program_says_so(project: Project) -> None:
    make_desk(project, "Clerk")
    assert submit(project, "Clerk", "tally", "x") == "Clerk#1"
    clerk = project.agentctl("status", "--json").expect(0).json["agents"][0]
    assert clerk["holder"] is None
    assert clerk["events"]["queued"] == 1


READERS = [
    ("status",),
    ("invocation", "list"),
    ("invocation", "list", "Clerk", "--json"),
    ("invocation", "show", "Clerk#1"),
    ("agent", "list"),
    ("inspect", "journal", "Clerk"),
    ("inspect", "lock"),
]


@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_p14_a_narrow_pipe_never_breaks_it(open_desk: Project, words: tuple[str, ...]) -> None:
    pipe = f"set -o pipefail; {shlex.quote(sys.executable)} -m agentctl {shlex.join(words)} | cat"
    for env in (
        {"PYTHONIOENCODING": "cp1252"},
        {"PYTHONIOENCODING": "ascii", "LANG": "C"},
        {"NO_COLOR": "1", "COLUMNS": "20"},
    ):
        told = open_desk.run_program(("bash", "-c", pipe), env=env).expect(0)
        assert told.out
        assert told.err == ""
        assert "\x1b" not in told.out


def test_p14_a_terminal_of_20_columns(open_desk: Project) -> None:
    for words in READERS:
        code, written = on_a_terminal(open_desk, *words, columns=20)
        assert (code, "Traceback" in written) == (0, False), written
        assert written


def test_p15_a_secret_argument_is_in_no_output(project: Project) -> None:
    make_desk(project, "Clerk", max_starts=1)
    program = serve(project, "-v")
    enter = ("invoke", "Clerk", "enter", WORD, "p15", "-i", "p15")
    client = project.start_agentctl(*enter)
    until_noted(project, "at p15 ")
    seen = [project.agentctl(*words).expect(0) for words in READERS]
    seen.append(project.agentctl("invoke", "Clerk", "enter", WORD).expect(2))
    seen.append(project.agentctl("invoke", "Clerk", "enter", WORD, "other", "-i", "p15").expect(4))
    seen.append(project.agentctl("invoke", "Clerk", "enter", WORD, "p15", "p15").expect(2))
    open_gate(project, "p15")  # a ValueError with the secret in its text
    seen.append(client.end().expect(1))
    seen.append(project.agentctl("invoke", "--json", *enter[1:]).expect(1))
    seen += [project.agentctl(*words).expect(0) for words in READERS]
    program.cut_power()
    seen.append(project.agentctl("run", "--until-idle", "-v", "--log-format", "json"))
    project.until_set_aside(1, "Clerk")
    for words in (("status",), ("inspect", "set-aside"), ("inspect", "audit"), ("inspect", "lock")):
        for form in ((), ("--json",)):
            seen.append(project.agentctl(*words, *form).expect(0))
    for told in seen:
        assert "hunter2" not in told.both, told
    assert "hunter2" not in program.out + program.err
    assert "hunter2" not in "\n".join(project.audit("Clerk"))
    assert "hunter2" not in (project.folder("Clerk") / "lock").read_text()
    shown = project.agentctl("inspect", "set-aside", "--show-secrets").expect(0)
    assert "hunter2" in shown.out, "the secret isn't kept: this test would show nothing"


def test_p15_a_secret_of_an_invoke_without_a_program(project: Project) -> None:
    make_desk(project, "Clerk")
    client = project.start_agentctl("invoke", "-v", "Clerk", "enter", WORD, "alone")
    until_noted(project, "at alone ")
    for words in (("status",), ("inspect", "lock"), ("invocation", "list"), ("inspect", "journal")):
        assert "hunter2" not in project.agentctl(*words).expect(0).both
    assert "hunter2" not in (project.folder("Clerk") / "lock").read_text()
    open_gate(project, "alone", "alone-mended")
    told = client.end().expect(0)
    assert told.out == '"in"\n'
    assert "hunter2" not in told.both
