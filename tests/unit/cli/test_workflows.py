"""The commands that look at workflows, and cancel one, over a journal that is written by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .journals import STAMP, write
from .workflows import ONBOARD

FAR_STAMP = "2057-08-08T12:40:00.000000Z"


@pytest.fixture
def onboard(command: Any) -> Path:
    (command.folder / "kavach.toml").write_text('[agents.Onboard]\nclass = "shop.bot:Onboard"\n')
    return write(command.folder, ONBOARD, "Onboard")


def cells(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines()]


def test_workflows_are_listed_with_their_last_step(command: Any, onboard: Path) -> None:
    ran = command("workflow", "list")
    assert ran.code == 0
    assert cells(ran.out) == [
        [
            *("Onboard/ana#1", "sleeping", "charge", STAMP),
            f"backing off, attempt 3 at {FAR_STAMP}",
        ],
        ["Onboard/bob#2", "waiting", "approve", STAMP, "Onboard/bob-2-2 asks: may bob? (bool)"],
        ["Onboard/cid#3", "failed", "ship", STAMP, "shop.Declined: no"],
        ["Onboard/dora#4", "completed", "-", "-", '"hi"'],
        ["Onboard/eve#5", "queued", "charge", STAMP, "needs a program: agentctl run Onboard"],
    ]
    listed = command("workflow", "list", "--status", "waiting", "--json").json
    assert listed == {
        "schema": "agentctl.workflow-list/1",
        "workflows": [
            {
                "workflow": "Onboard/bob",
                "event": "Onboard/bob#2",
                "status": "waiting",
                "step": "approve",
                "step_state": "waiting",
                "steps": 2,
                "accepted": STAMP,
                "ended": None,
                "next": None,
                "asks": "may bob?",
                "text": None,
            }
        ],
    }
    last = command("workflow", "list", "Onboard", "-n", "1")
    assert [row[0] for row in cells(last.out)] == ["Onboard/eve#5"]


def test_no_workflow_is_no_error(command: Any, bot: Path) -> None:
    ran = command("workflow", "list")
    assert (ran.code, ran.out) == (0, "")
    assert "no such workflow is known" in ran.err


@pytest.mark.parametrize(
    ("who", "steps"),
    [
        (
            "Onboard/ana",
            [
                ["Onboard/ana-1-1", "create", "1", "done", STAMP, '"***"'],
                ["Onboard/ana-1-2", "charge", "1", "failed", STAMP, "OSError: down"],
                [
                    *("Onboard/ana-1-2", "charge", "2", "backing off"),
                    STAMP.replace(":20.", ":21."),
                    f"OSError: still down; attempt 3 at {FAR_STAMP}",
                ],
            ],
        ),
        (
            'Onboard("cid")',
            [
                ["Onboard/cid-3-1", "create", "1", "undone", STAMP, '"***"'],
                ["Onboard/cid-3-2", "ship", "1", "failed", STAMP, "shop.Declined: no"],
                ["Onboard/cid-3-3", "undo create", "1", "done", STAMP, "null"],
            ],
        ),
        (
            "Onboard#5",
            [
                ["Onboard/eve-5-1", "create", "1", "done", STAMP, '"***"'],
                ["Onboard/eve-5-2", "charge", "1", "queued", STAMP, "-"],
            ],
        ),
        ("Onboard/dora", []),
    ],
)
def test_a_workflow_shows_each_attempt_of_each_step(
    command: Any, onboard: Path, who: str, steps: list[list[str]]
) -> None:
    ran = command("workflow", "show", who)
    assert ran.code == 0
    rows = cells(ran.out)
    assert [row[1:] for row in rows if row[0] == "step"] == steps
    assert len(command("workflow", "show", who, "--json").json["steps"]) == len(
        {key for key, *_ in steps}
    )


def test_a_step_for_a_program(command: Any, onboard: Path) -> None:
    document = command("workflow", "show", "Onboard/ana", "--json").json
    assert (document["workflow"], document["status"]) == ("Onboard/ana", "sleeping")
    charge = document["steps"][1]
    attempts = charge.pop("attempts")
    assert charge == {
        "name": "charge",
        "key": "Onboard/ana-1-2",
        "state": "backing_off",
        "attempt": 2,
        "next": FAR_STAMP,
        "error": "builtins.OSError: still down",
        "result": None,
        "asks": None,
    }
    assert [(one["attempt"], one["error"]) for one in attempts] == [
        (1, "builtins.OSError: down"),
        (2, "builtins.OSError: still down"),
    ]
    secret = command("workflow", "show", "Onboard/ana", "--json", "--show-secrets").json
    assert secret["steps"][0]["result"] == {"$secret": "hunter2"}
    shown = command("invocation", "show", "Onboard#1", "--json").json
    assert shown["calls"][1]["attempts"] == attempts
    assert shown["calls"][1]["next"] == FAR_STAMP
    assert [step["state"] for step in shown["steps"]] == ["done", "backing_off"]


def test_invocations_say_what_they_wait_for(command: Any, onboard: Path) -> None:
    events = command("invocation", "list", "Onboard", "--json").json["invocations"]
    said = {one["event"]: (one["status"], one["attempt"], one["asks"]) for one in events}
    assert said["Onboard/ana#1"] == ("sleeping", 3, None)
    assert said["Onboard/bob#2"] == ("waiting", None, "may bob?")
    row = cells(command("invocation", "show", "Onboard#1").out)[-1]
    assert row[-1] == f"attempt 2 failed (OSError: still down); attempt 3 at {FAR_STAMP}"


@pytest.mark.parametrize(
    ("who", "code", "out"),
    [
        ("Onboard/ana", 0, "cancelled Onboard/ana#1\n"),
        ("Onboard#5", 0, "cancelled Onboard/eve#5\n"),
        ("Onboard/cid", 4, "finished Onboard/cid#3 (failed)\n"),
        ("Onboard/dora", 4, "finished Onboard/dora#4 (completed)\n"),
        ("Onboard/nobody", 3, "unknown Onboard/nobody\n"),
    ],
)
def test_cancelling_one_answers_as_cancelling_an_event(
    command: Any, onboard: Path, who: str, code: int, out: str
) -> None:
    ran = command("workflow", "cancel", who, "--reason", "left us")
    assert (ran.code, ran.out) == (code, out)
    if code == 0:
        again = command("workflow", "cancel", who, "--json")
        assert (again.code, again.json["answer"]) == (0, "already_cancelled")
        record = b'"reason":"left us"'
        assert record in (onboard / "journal").read_bytes()
    if code == 3:
        assert "hint: agentctl workflow list shows which there are" in ran.err


@pytest.mark.parametrize("verb", ["show", "cancel"])
def test_what_is_no_workflow_is_refused(command: Any, onboard: Path, verb: str) -> None:
    before = (onboard / "journal").read_bytes()
    ran = command("workflow", verb, "Onboard#6")
    assert ran.code == 3
    assert "agentctl invocation show Onboard/fay#6" in ran.err
    assert command("workflow", verb, "Nobody/x").code == 3
    assert (onboard / "journal").read_bytes() == before
    nobody = command("workflow", "show", "Onboard/nobody")
    assert (nobody.code, nobody.out) == (3, "")
    assert "agentctl workflow list Onboard" in nobody.err


def test_status_says_how_long_what_waits_has_waited(
    command: Any, onboard: Path, terminal: Any
) -> None:
    agent = command("status", "--json").json["agents"][0]
    assert agent["events"]["waiting"] == 1
    assert agent["events"]["sleeping"] == 1  # the one that backs off
    assert agent["longest_wait_s"] > 86_400
    *_, waited_s, call = cells(command("status").out)[0]
    assert float(waited_s) >= agent["longest_wait_s"]
    assert call == agent["waits_longest"] == "Onboard/bob-2-2"
    screen = terminal(100)
    command("status")
    assert "1 waiting (longest Onboard/bob-2-2, " in screen.getvalue()
