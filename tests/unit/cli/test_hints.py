"""Hints that can be followed where they are read: with a project or without, beside a program."""

from __future__ import annotations

from typing import Any

import pytest

from agentctl.cli.failures import failure_of_end
from agentctl.engines.changes import CancelAnswer, Cancelled, Retried, State
from agentctl.engines.port import Ended
from agentctl.names import Address

from .conftest import FakeHolder, Invoked
from .journals import AT, HEADER, STAMP, write

EVENT = Address("Bot", (), 1)
CALL = b'{"call":"1-1","fn":"Shop.pay","args":[7],"at":%d}' % AT
TIMER = b'{"call":"1-1","fn":"timer","until":%d,"at":%d}' % (AT, AT)


def _lines(*behind: bytes) -> list[bytes]:
    event = b'{"event":1,"handler":"request","args":[7],"at":%d}' % AT
    return [HEADER, event, b'{"start":1,"at":%d}' % AT, *behind]


def test_beside_a_program_a_stuck_event_is_not_for_another_run() -> None:
    end = Ended(EVENT, "request", "stuck", text="KeyError: 'total'")
    assert "agentctl run Bot --until-idle" in failure_of_end(end).hint
    hint = failure_of_end(end, beside=True).hint
    assert "agentctl run" not in hint
    assert "agentctl invocation retry Bot#1" in hint


def test_a_stuck_event_of_another_program_is_told_so(command: Any, desk: Any, code: None) -> None:
    desk.holder_here = FakeHolder(
        Invoked("Bot#1"), Ended(EVENT, "request", "stuck", text="KeyError: 1")
    )
    ran = command("invoke", "Bot", "request", "7")
    assert ran.code == 1
    assert "agentctl invocation retry Bot#1" in ran.err.splitlines()[-1]


@pytest.mark.parametrize("project", [True, False])
def test_what_needs_a_program_says_how_to_start_one(
    command: Any, desk: Any, monkeypatch: pytest.MonkeyPatch, project: bool
) -> None:
    if not project:
        (command.folder / "kavach.toml").unlink()
    desk.answer = Retried("Bot#1", State.STUCK, ())
    ran = command("--root", ".", "invocation", "retry", "Bot#1")
    said = "agentctl run Bot" if project else "start your program again"
    assert ran.err == f"runs with the next start: {said}\n"


def test_without_a_project_nobody_is_sent_to_run(command: Any) -> None:
    write(command.folder, _lines(CALL))
    (command.folder / "kavach.toml").unlink()
    listed, status = command("--root", ".", "invocation", "list"), command("--root", ".", "status")
    assert listed.out.endswith("\tneeds a program: start your program again\n")
    assert status.err.endswith("1 event is open: start your program again\n")


def test_an_overdue_event_without_a_program_says_what_it_lacks(command: Any) -> None:
    write(command.folder, _lines(TIMER, b'{"parked":1}'))
    told = command("invocation", "list").out.split("\t")[-1]
    assert told == f"was due {STAMP}; needs a program: agentctl run Bot\n"


@pytest.mark.parametrize(
    ("record", "name", "said"),
    [
        (b'{"failed":1,"type":"builtins.OSError","text":"no route","at":1}', "error", "OSError"),
        (b'{"cancelled":1,"by":"ana","reason":"wrong order","at":1}', "reason", "wrong order"),
        (b'{"done":1,"value":"r7","at":1}', "result", '"r7"'),
        (b'{"bug":1,"text":"KeyError: 1","at":1}', "next", "KeyError"),
    ],
)
def test_what_is_said_of_an_event_has_its_true_name(
    command: Any, record: bytes, name: str, said: str
) -> None:
    write(command.folder, _lines(record))
    rows = dict(
        line.split("\t", 1) for line in command("invocation", "show", "Bot#1").out.splitlines()
    )
    assert said in rows[name]
    assert "builtins." not in rows[name]


def test_pythons_own_errors_are_called_as_python_calls_them(command: Any) -> None:
    error = b'{"error":"1-1","type":"builtins.OSError","text":"no route","at":%d}' % AT
    failed = b'{"failed":1,"type":"builtins.OSError","text":"no route","calls":["1-1"],"at":1}'
    write(command.folder, _lines(CALL, error, failed))
    for words in (("invocation", "show", "Bot#1"), ("inspect", "journal"), ("invocation", "list")):
        out = command(*words).out
        assert "OSError: no route" in out
        assert "builtins" not in out
    end = Ended(EVENT, "request", "failed", type="builtins.OSError", text="no route")
    assert failure_of_end(end).detail == "OSError: no route"


def test_an_unknown_event_is_written_as_an_address(command: Any, desk: Any) -> None:
    desk.answer = Cancelled(CancelAnswer.UNKNOWN)
    assert command("invocation", "cancel", "Bot#99").out == "unknown Bot#99\n"
    assert command("invocation", "cancel", "Bot", "k").out == "unknown Bot k\n"
