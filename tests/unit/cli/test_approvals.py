"""What waits for a person: listed, answered once, and who decided. Without a program."""

from __future__ import annotations

import io
import json
import re
import shlex
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from agentctl.cli import table

from .journals import AT, FAR, HEADER, STAMP, write

BOOL = [
    b'{"event":7,"handler":"refund","args":[7],"nonce":"aa","at":%d}' % AT,
    b'{"start":7,"at":%d}' % AT,
    b'{"call":"7-3","fn":"question","text":"refund 900?","type":"bool","at":%d}' % (AT + 2),
    b'{"parked":7}',
]
FIELDS = (
    b'{"title":"Refund","type":"object","properties":{"amount":{"type":"integer"},'
    b'"token":{"type":"string","writeOnly":true}},"required":["amount"]}'
)
STEP = [
    b'{"event":8,"handler":"run","args":[],"of":["eu/7"],"nonce":"ab","at":%d}' % AT,
    b'{"start":8,"at":%d}' % AT,
    b'{"call":"8-1","fn":"step","step":"approval","args":[],"at":%d}' % AT,
    b'{"waiting":"8-1","text":"how much?","type":"Refund","schema":%s,"until":%d,"at":%d}'
    % (FIELDS, FAR, AT + 1),
    b'{"parked":8}',
]
TEXT = [
    b'{"event":9,"handler":"refund","args":[],"key":"order-7","nonce":"ac","at":%d}' % AT,
    b'{"start":9,"at":%d}' % AT,
    b'{"call":"9-1","fn":"question","text":"why?","type":"str","at":%d}' % (AT + 3),
    b'{"call":"9-2","fn":"question","text":"how many?","type":"int","at":%d}' % (AT + 4),
    b'{"parked":9}',
]
ALL = [HEADER, *BOOL, *STEP, *TEXT]
ANA = {"USER": "ana"}


@pytest.fixture
def waiting(command: Any) -> Path:
    return write(command.folder, ALL)


def answers(command: Any) -> list[dict[str, Any]]:
    document = command("inspect", "journal", "Bot", "--kind", "answer", "--json").json
    records = [one["record"] for one in document["agents"][0]["records"]]
    for record in records:
        assert record.pop("at") > AT
    return records


def audited(command: Any) -> list[str]:
    lines = command("inspect", "audit", "Bot").out.splitlines()
    return [line.split(" ", 1)[1] for line in lines if " asked: " in line or " answered: " in line]


def test_everything_that_waits_is_listed_what_waits_longest_first(
    command: Any, waiting: Path
) -> None:
    ran = command("approval", "list")
    assert ran.code == 0
    assert [line.split("\t") for line in ran.out.splitlines()] == [
        [
            *("Bot/eu%2F7-8-1", "Refund", STAMP.replace(".000000Z", ".000001Z")),
            *("2057-08-08T12:40:00.000000Z", "how much?"),
        ],
        ["Bot-7-3", "bool", STAMP.replace(".000000Z", ".000002Z"), "-", "refund 900?"],
        ["Bot-9-1", "str", STAMP.replace(".000000Z", ".000003Z"), "-", "why?"],
        ["Bot-9-2", "int", STAMP.replace(".000000Z", ".000004Z"), "-", "how many?"],
    ]
    assert command("approval", "list", "Bot/eu%2F7").out.count("\n") == 1
    first = command("approval", "list", "--json").json["approvals"][0]
    assert first.pop("schema")["title"] == "Refund"
    assert first == {
        "call": "Bot/eu%2F7-8-1",
        "event": "Bot/eu%2F7#8",
        "handler": "run",
        "step": "approval",
        "question": "how much?",
        "type": "Refund",
        "asked": STAMP.replace(".000000Z", ".000001Z"),
        "until": "2057-08-08T12:40:00.000000Z",
        "status": "waiting",
    }


def test_a_terminal_shows_ages(
    command: Any, waiting: Path, terminal: Callable[..., io.StringIO], pauses: Callable[..., None]
) -> None:
    screen = terminal(90)
    pauses()
    assert command("approval", "list", "--watch").code == 0
    lines = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", screen.getvalue()).splitlines()
    assert lines[0].split() == ["call", "type", "asked", "until", "question"]
    assert re.fullmatch(r"Bot-7-3 +bool +\d+d ago +- +refund 900\? *", lines[2])


def test_nothing_waits(command: Any) -> None:
    write(command.folder, [HEADER])
    ran = command("approval", "list")
    assert (ran.code, ran.out, ran.err) == (0, "", "nothing waits for a person\n")
    assert command("approval", "list", "--json").json["approvals"] == []
    assert command("approval", "approve").code == 3


def test_a_question_that_is_cancelled_or_answered_waits_no_more(command: Any) -> None:
    cancelled = b'{"cancel":7,"at":%d}' % (AT + 5)
    answer = b'{"answer":"9-1","value":"so","at":%d}' % (AT + 5)
    write(command.folder, [*ALL, cancelled, answer])
    listed = command("approval", "list").out.splitlines()
    assert [line.split("\t")[0] for line in listed] == ["Bot/eu%2F7-8-1", "Bot-9-2"]


def test_watching_in_a_pipe_writes_what_is_new(
    command: Any, waiting: Path, pauses: Callable[..., None]
) -> None:
    more = b'{"call":"9-3","fn":"question","text":"and?","type":"str","at":%d}' % (AT + 9)
    pauses(lambda: write(command.folder, [*ALL, more]))
    ran = command("approval", "list", "--watch")
    assert [line.split("\t")[0] for line in ran.out.splitlines()[-2:]] == ["Bot-9-2", "Bot-9-3"]
    assert ran.out.count("\n") == 5


@pytest.mark.parametrize(
    ("verb", "word", "value"), [("approve", "approved", True), ("deny", "denied", False)]
)
def test_a_decision_is_on_record_with_who_made_it(
    command: Any, waiting: Path, verb: str, word: str, value: bool
) -> None:
    ran = command("approval", verb, "Bot-7-3", "--note", "as agreed", env=ANA)
    assert (ran.code, ran.out) == (0, f"{word} Bot-7-3\n")
    assert ran.err == "goes on with the next start: agentctl run Bot\n"
    assert answers(command) == [{"answer": "7-3", "value": value, "by": "ana", "note": "as agreed"}]
    assert audited(command)[-1] == (
        f"Bot answered: Bot-7-3 by ana: {json.dumps(value)} (as agreed)"
    )


def test_it_is_decided_once_and_the_second_is_told_so(command: Any, waiting: Path) -> None:
    assert command("approval", "approve", "Bot#7", "--as", "ana").code == 0
    for verb in ("approve", "deny"):
        ran = command("approval", verb, "Bot-7-3", "--as", "bob")
        assert (ran.code, ran.out) == (4, "")
        assert "Bot-7-3 is already decided: by ana" in ran.err
    assert [one["by"] for one in answers(command)] == ["ana"]
    shown = command("invocation", "show", "Bot#7").out.splitlines()[-1].split("\t")
    assert (shown[2], shown[3], shown[5]) == ("question refund 900?", "answered", "true (by ana)")


def test_who_decides_is_the_systems_user_if_nobody_says(command: Any, waiting: Path) -> None:
    document = command("approval", "approve", "Bot-7-3", "--json").json
    assert document.pop("by")
    assert document == {
        "schema": "agentctl.approval/1",
        "call": "Bot-7-3",
        "event": "Bot#7",
        "approved": True,
        "note": "",
    }
    assert command("approval", "approve", "Bot-9-1", "--as", " ").code == 2


def test_the_only_one_needs_no_name(command: Any) -> None:
    write(command.folder, [HEADER, *BOOL])
    assert command("approval", "approve").out == "approved Bot-7-3\n"
    assert command("approval", "approve").code == 3


def test_of_several_one_must_be_named(command: Any, waiting: Path) -> None:
    ran = command("approval", "deny")
    assert ran.code == 2
    for said in ("4 questions wait", "Bot-7-3 (bool): refund 900?", "Bot-9-1 (str): why?"):
        assert said in ran.err
    ran = command("invocation", "resume", "Bot", "order-7", "--input", "x")
    assert ran.code == 2
    assert "Bot-9-1, Bot-9-2" in ran.err
    assert answers(command) == []


@pytest.mark.parametrize(
    ("call", "said"),
    [("Bot-9-1", "which takes str"), ("Bot/eu%2F7-8-1", '{"amount": int, "token": str}')],
)
def test_what_asks_for_something_else_is_refused_with_the_line_to_use(
    command: Any, waiting: Path, call: str, said: str
) -> None:
    ran = command("approval", "approve", call)
    assert ran.code == 2
    assert f"hint: agentctl invocation resume {call} --input JSON" in ran.err
    assert said in ran.err
    assert answers(command) == []


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (("Bot-9-1", "--input", "on Monday"), "on Monday"),
        (("Bot-9-1", "--input", '"on Monday"'), "on Monday"),
        (("Bot-9-2", "--input", "5"), 5),
        (("Bot-9-2", "--input=-5"), -5),
        (("Bot-7-3", "--input", "false"), False),
        (("Bot#7", "--input", "false"), False),
        (('Bot("eu/7")-8-1', "--input", '{"amount":5}'), {"amount": 5}),
    ],
)
def test_an_input_is_given(command: Any, waiting: Path, words: tuple[str, ...], value: Any) -> None:
    ran = command("invocation", "resume", *words, env=ANA)
    assert (ran.code, ran.out[:8]) == (0, "resumed "), ran.err
    (record,) = answers(command)
    assert (record["value"], record["by"]) == (value, "ana")


def test_an_input_may_come_from_stdin(
    command: Any, waiting: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("grüß\ndich\r\n".encode())))
    ran = command("invocation", "resume", "Bot-9-1", "--input", "-", "--json", env=ANA)
    assert ran.json == {
        "schema": "agentctl.resume/1",
        "call": "Bot-9-1",
        "event": "Bot#9",
        "by": "ana",
        "note": "",
    }
    assert answers(command)[0]["value"] == "grüß\ndich"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("Bot-9-2", "--input", "five"), 2, 'answer: expected int, got "five"'),
        (("Bot/eu%2F7-8-1", "--input", '{"amount":"5"}'), 2, "answer.amount: expected int"),
        (("Bot-9-2", "--input", "[" * 600 + "]" * 600), 2, "nested too deeply"),
        (("Bot-9-2",), 2, "--input"),
        (("Bot", "--input", "5"), 2, "neither a call nor an event"),
        (("Bot#9", "order-7", "--input", "5"), 2, "leave one of them out"),
        (("Bot#10", "--input", "5"), 3, "Bot#10"),
        (("Bot-9-7", "--input", "5"), 3, "Bot-9-7"),
        (("Bat-9-2", "--input", "5"), 3, "did you mean Bot?"),
    ],
)
def test_what_makes_no_sense_is_refused(
    command: Any, waiting: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    ran = command("invocation", "resume", *words)
    assert ran.code == code
    assert said in ran.err
    assert answers(command) == []


def test_p15_a_secret_input_is_recorded_as_one_and_shown_nowhere(
    command: Any, waiting: Path
) -> None:
    refused = command(
        *("invocation", "resume", "Bot/eu%2F7-8-1"),
        *("--input", '{"amount":5,"token":["hunter2"]}'),
    )
    assert refused.code == 2
    given = '{"amount":5,"token":"hunter2"}'
    command("invocation", "resume", "Bot/eu%2F7-8-1", "--input", given, env=ANA)
    assert b'"token":{"$secret":"hunter2"}' in (waiting / "journal").read_bytes()
    shown = [
        command("inspect", "journal"),
        command("inspect", "audit"),
        command("invocation", "show", "Bot/eu%2F7#8"),
        command("invocation", "show", "Bot/eu%2F7#8", "--json"),
    ]
    for ran in (refused, *shown):
        assert "hunter2" not in ran.out + ran.err
    assert audited(command)[-1] == (
        'Bot/eu%2F7 answered: Bot/eu%2F7-8-1 by ana: {"amount":5,"token":"***"}'
    )
    assert '{"amount":5,"token":"***"} (by ana)' in shown[2].out


def test_where_events_are_listed_the_question_is_told(command: Any, waiting: Path) -> None:
    listed = [line.split("\t") for line in command("invocation", "list").out.splitlines()]
    assert [line[-1] for line in listed] == [
        "Bot-7-3 asks: refund 900? (bool)",
        "Bot/eu%2F7-8-1 asks: how much? (Refund)",
        "Bot-9-1 asks: why? (str)",
    ]
    assert {line[1] for line in listed} == {"waiting"}
    shown = command("invocation", "show", "Bot/eu%2F7#8").out
    assert "step approval []: how much?\topen" in shown


def test_what_is_damaged_is_said(command: Any) -> None:
    write(command.folder, [HEADER, *BOOL, b'{"answer":"9-1","value":true}', *TEXT])
    ran = command("approval", "list")
    assert ran.code == 6
    assert "line 6" in ran.err
    assert "nothing waits" not in ran.err


EXAMPLES = [
    example
    for one in table.COMMANDS
    if one.words[0] == "approval" or one.name == "invocation resume"
    for example, _ in import_module(one.module).EXAMPLES
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_done(
    command: Any,
    pauses: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    example: str,
) -> None:
    pauses()
    text = TEXT[:3] if "Monday" in example else [TEXT[0], TEXT[1], TEXT[3]]
    seven = b"\n".join(text).replace(b"9-2", b"9-1").replace(b'9,"', b'7,"').replace(b'"9-', b'"7-')
    lines = BOOL if "7-3" in example or "approval" in example else seven.split(b"\n")
    if "order-7" not in example and "--input 5" in example:
        lines = [line.replace(b'"bool"', b'"int"') for line in BOOL]
    write(command.folder, [HEADER, *lines])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"true\n")))
    _, *words = shlex.split(example.partition(" < ")[0])
    ran = command(*words)
    assert ran.code == 0, ran.err
    assert ran.out
