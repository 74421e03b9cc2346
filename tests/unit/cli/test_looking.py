"""The commands that look at agents: their exact forms in a pipe, for a program, on a terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentctl.storage.files.folder import FilesStore
from agentctl.storage.files.holding import this_program
from agentctl.times import SystemClock

from .journals import AT, FAR, HEADER, LINES, SECRET, STAMP, write


def test_events_in_a_pipe_are_parted_by_tabs_the_newest_last(command: Any, bot: Path) -> None:
    ran = command("invocation", "list")
    assert ran.code == 0
    rows = [line.split("\t") for line in ran.out.splitlines()]
    assert rows == [
        ["Bot/eu#1", "completed", "request", "old", "-", '"***"'],
        ["Bot/eu#2", "sleeping", "request", "k", STAMP, "goes on 2057-08-08T12:40:00.000000Z"],
        ["Bot#3", "scheduled", "later", "-", STAMP, "due 2057-08-08T12:40:00.000000Z"],
        [
            *("Bot/us#4", "stuck", "request", "-", STAMP),
            "runs again at the next start: KeyError: 'total'",
        ],
        ["Bot/xx#5", "queued", "request", "-", STAMP, "needs a program: agentctl run Bot"],
    ]


@pytest.mark.parametrize(
    ("words", "events"),
    [
        (("--status", "stuck,sleeping"), ["Bot/eu#2", "Bot/us#4"]),
        (("--status", "stuck", "--status", "set-aside"), ["Bot/us#4"]),
        (("--status", "completed"), ["Bot/eu#1"]),
        (("-n", "1"), ["Bot/xx#5"]),
        (("-n", "0"), []),
        (("Bot/eu",), ["Bot/eu#1", "Bot/eu#2"]),
        (("Bot#3",), ["Bot#3"]),
    ],
    ids=" ".join,
)
def test_which_events_are_listed_can_be_chosen(
    command: Any, bot: Path, words: tuple[str, ...], events: list[str]
) -> None:
    ran = command("invocation", "list", *words)
    assert [line.split("\t")[0] for line in ran.out.splitlines()] == events


def test_a_state_that_nobody_knows_is_refused_with_the_nearest(command: Any, bot: Path) -> None:
    ran = command("invocation", "list", "--status", "stcuk")
    assert ran.code == 2
    assert "did you mean stuck?" in ran.err


def test_events_for_a_program_are_one_document(command: Any, bot: Path) -> None:
    document = command("invocation", "list", "Bot/us", "--json").json
    assert document == {
        "schema": "agentctl.invocations/1",
        "invocations": [
            {
                "event": "Bot/us#4",
                "status": "stuck",
                "handler": "request",
                "key": None,
                "accepted": STAMP,
                "ended": None,
                "next": None,
                "waits_for": None,
                "text": "KeyError: 'total'",
                "cancelling": False,
                "schedule": None,
                "due": None,
                "attempt": None,
                "asks": None,
            }
        ],
    }


def test_one_event_shows_its_calls(command: Any, bot: Path) -> None:
    ran = command("invocation", "show", "Bot/eu#2")
    assert ran.code == 0
    rows = [line.split("\t") for line in ran.out.splitlines()]
    assert dict(row for row in rows if len(row) == 2)["arguments"] == '[7,"***"]'
    assert [row[1:] for row in rows if row[0] == "call"] == [
        ["Bot/eu-2-1", 'Shop.pay ["***"]', "ok", STAMP, '{"id":"***"}'],
        ["Bot/eu-2-2", "timer until 2057-08-08T12:40:00.000000Z", "open", STAMP, "-"],
    ]


@pytest.mark.parametrize("words", [("Bot/eu", "k"), ("Bot#2",), ("Bot:2",)], ids=" ".join)
def test_an_event_is_named_by_its_number_or_its_key(
    command: Any, bot: Path, words: tuple[str, ...]
) -> None:
    document = command("invocation", "show", *words, "--json").json
    assert (document["schema"], document["event"]) == ("agentctl.invocation/1", "Bot/eu#2")
    assert document["calls"][0]["outcome"] == '{"id":"***"}'


def test_a_key_that_was_used_anew_names_the_newest_event(command: Any) -> None:
    event = b'{"event":%d,"handler":"request","args":[],"key":"k","at":1}'
    lines = [HEADER, event % 1, b'{"cancelled":1,"at":2}', event % 2]
    write(command.folder, lines)
    assert command("invocation", "show", "Bot", "k", "--json").json["event"] == "Bot#2"
    assert command("invocation", "show", "Bot#1", "--json").json["status"] == "cancelled"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("Bot#99",), 3),
        (("Bot", "nobody"), 3),
        (("Bot", "k"), 3),
        (("Bto#1",), 3),
        (("Bot",), 2),
        (("Bot#1", "k"), 2),
    ],
    ids=str,
)
def test_who_is_not_known_is_said(
    command: Any, bot: Path, words: tuple[str, ...], code: int
) -> None:
    ran = command("invocation", "show", *words)
    assert ran.code == code
    assert ran.out == ""
    assert ran.err.count("\n") == 3


LOOKS = [
    ("invocation", "list"),
    ("invocation", "show", "Bot#2"),
    ("invocation", "show", "Bot#1"),
    ("agent", "list"),
    ("agent", "show", "Bot/eu"),
    ("status",),
    ("inspect", "lock"),
    ("schedule", "list"),
]


@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
@pytest.mark.parametrize("form", [(), ("--json",), ("--format", "jsonl")], ids=str)
def test_p15_no_secret_is_shown(
    command: Any, bot: Path, words: tuple[str, ...], form: tuple[str, ...]
) -> None:
    ran = command(*words, *form)
    assert ran.code == 0
    assert "hunter2" not in ran.out + ran.err


@pytest.mark.parametrize("words", [LOOKS[1], LOOKS[4]], ids=" ".join)
@pytest.mark.parametrize("form", [(), ("--json",)], ids=str)
def test_who_asks_for_secrets_gets_them(
    command: Any, bot: Path, words: tuple[str, ...], form: tuple[str, ...]
) -> None:
    assert "hunter2" in command(*words, "--show-secrets", *form).out


@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
@pytest.mark.parametrize("width", [20, 40, 80])
def test_p14_any_width_will_do(
    command: Any, bot: Path, terminal: Callable[..., Any], words: tuple[str, ...], width: int
) -> None:
    stream = terminal(width)
    assert command(*words).code == 0
    lines = re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue()).splitlines()
    assert lines
    assert max(map(len, lines)) <= width
    assert not any("\t" in line for line in lines)


def test_on_a_terminal_columns_line_up_and_times_are_relative(
    command: Any, bot: Path, terminal: Callable[..., Any]
) -> None:
    stream = terminal(120)
    assert command("invocation", "list", env={"NO_COLOR": "1"}).code == 0
    title, *rows = stream.getvalue().splitlines()
    assert title.split() == [
        "event",
        "state",
        "handler",
        "key",
        *"accepted next, or outcome".split(),
    ]
    begin = title.index("state")
    assert all(row[begin - 1] == " " and row[begin] != " " for row in rows)
    assert re.search(r"\d+d ago +goes on in \d+d$", rows[1].rstrip())


def test_instances_are_listed_with_what_is_kept(command: Any, bot: Path) -> None:
    ran = command("agent", "list")
    far = "2057-08-08T12:40:00.000000Z"
    assert ran.out.splitlines() == [
        f"Bot\t0\t1\t{far}",
        f"Bot/eu\t41\t1\t{far}",
        "Bot/us\t0\t1\t-",
        "Bot/xx\t0\t1\t-",
    ]
    document = command("agent", "list", "Bot/eu", "--json").json
    assert document["agents"] == [
        {
            "agent": "Bot",
            "instances": [
                {"instance": "Bot/eu", "state_bytes": 41, "open": 1, "next_due": far},
            ],
        }
    ]


def test_one_instance_shows_state_keys_and_open_events(command: Any, bot: Path) -> None:
    document = command("agent", "show", "Bot/eu", "--json").json
    assert document["state"] == {"count": 3, "token": "***"}
    assert document["keys"] == [
        {"key": "k", "event": "Bot/eu#2", "status": "sleeping"},
        {"key": "old", "event": "Bot/eu#1", "status": "completed"},
    ]
    assert [one["event"] for one in document["events"]] == ["Bot/eu#2"]
    assert command("agent", "show", "Bot/nobody").code == 3
    assert command("agent", "show", "Bot/eu#2").code == 2


def test_status_is_the_document_that_is_promised(command: Any, bot: Path) -> None:
    ran = command("status", "--json")
    assert ran.code == 0
    assert ran.json == {
        "schema": "agentctl.status/1",
        "healthy": False,
        "agents": [
            {
                "agent": "Bot",
                "holder": None,
                "events": {
                    "scheduled": 1,
                    "queued": 1,
                    "running": 0,
                    "sleeping": 1,
                    "waiting": 0,
                    "stuck": 1,
                },
                "set_aside": 0,
                "next_due": "2057-08-08T12:40:00.000000Z",
                "journal_bytes": (bot / "journal").stat().st_size,
                "late_s": 0.0,
                "warnings": ["no program runs it, and 4 events are open: agentctl run Bot"],
                "longest_wait_s": 0.0,
                "waits_longest": None,
            }
        ],
    }


ASIDE = b'{"aside":4,"handler":"request","starts":3,"nonce":"ab","at":1}'


@pytest.mark.parametrize(
    ("lines", "words", "wrong"),
    [
        (LINES, (), "1 event is stuck"),
        (LINES, ("--fail-on", "late,set-aside"), None),
        ([*LINES[:-2], ASIDE], (), "1 event is set aside"),
        ([*LINES[:-2], ASIDE], ("--fail-on", "stuck"), None),
        ([HEADER, LINES[4].replace(b"%d" % FAR, b"%d" % AT)], (), "s late"),
        ([HEADER, LINES[4].replace(b"%d" % FAR, b"%d" % AT)], ("--fail-on", ""), None),
        ([HEADER, HEADER], ("--fail-on", ""), "the journal is damaged at line 2"),
        ([HEADER], (), None),
    ],
)
def test_a_check_fails_on_what_is_not_well(
    command: Any, lines: list[bytes], words: tuple[str, ...], wrong: str | None
) -> None:
    write(command.folder, lines)
    ran = command("status", "--check", *words)
    assert ran.code == (0 if wrong is None else 1)
    assert (wrong or "") in ran.err
    assert command("status", *words, "--json").json["healthy"] is (wrong is None)
    assert command("status").code == 0


def test_a_word_that_fail_on_does_not_know_is_refused(command: Any, bot: Path) -> None:
    ran = command("status", "--check", "--fail-on", "stuk")
    assert ran.code == 2
    assert "did you mean stuck?" in ran.err


def test_many_records_are_warned_of(command: Any) -> None:
    many = [b'{"call":"1-%d","fn":"Shop.pay","at":1}' % n for n in range(1, 10_001)]
    event = b'{"event":1,"handler":"request","args":[],"at":1}'
    write(command.folder, [HEADER, event, b'{"start":1,"at":1}', *many])
    ran = command("status")
    assert "Bot#1 has more than 10000 records" in ran.err


def test_a_damaged_journal_is_listed_as_far_as_it_goes(command: Any) -> None:
    write(command.folder, [*LINES, HEADER])
    ran = command("invocation", "list")
    assert ran.code == 6
    assert len(ran.out.splitlines()) == 5
    assert f"line {len(LINES) + 1}" in ran.err
    assert command("agent", "list").code == 6


def test_the_lock_tells_its_note_and_whether_it_is_held(command: Any, bot: Path) -> None:
    assert command("inspect", "lock").out == "Bot\tfree\t-\t-\t-\t-\n"
    note = {"pid": 41, "host": "h", "command": "agentctl run", "since": STAMP}
    (bot / "lock").write_text(json.dumps(note))
    assert command("inspect", "lock").out == f"Bot\tfree\t41\th\t{STAMP}\tagentctl run\n"
    document = command("inspect", "lock", "--json").json
    assert document["agents"] == [
        {"agent": "Bot", "path": f"{bot}/lock", "held": False, "note": note}
    ]


def test_a_holder_is_shown_with_what_runs(command: Any, bot: Path) -> None:
    store = FilesStore(command.folder, "Bot")
    store.lock(this_program("agentctl run", SystemClock()), 0.0)
    try:
        ran = command("status")
        holder = command("status", "--json").json["agents"][0]["holder"]
    finally:
        store.close()
    assert ran.out.split("\t")[1].endswith(" agentctl run")
    assert holder["command"] == "agentctl run"
    assert "no program" not in ran.err


def test_calls_that_concern_other_events_say_which(command: Any) -> None:
    calls = (
        b'"ask","args":["lamp"],"to":"Stock/eu","handler":"reserve"',
        b'"schedule","args":[7],"to":"Bot","handler":"request","timing":{"name":"t","due_us":9}',
        b'"cancel","to":"Bot#7"',
        b'"schedules"',
        b'"result","to":"Bot my tick 9","handler":"request"',
        b'"Shop.pay","args":[],"kwargs":{"order":7,"card":%s}' % SECRET,
    )
    begun = (b'{"event":1,"handler":"request","args":[7],"at":1}', b'{"start":1,"at":1}')
    lines = [b'{"call":"1-%d","fn":%b,"at":1}' % one for one in enumerate(calls, 1)]
    write(command.folder, [HEADER, *begun, *lines])
    out = command("invocation", "show", "Bot#1").out
    shown = [line.split("\t")[2] for line in out.splitlines() if "\tBot-1-" in line]
    assert shown == [
        'ask Stock/eu.reserve ["lamp"]',
        "schedule Bot.request [7]",
        "cancel Bot#7",
        "schedules",
        "result Bot my tick",
        'Shop.pay [] order=7 card="***"',
    ]
    seen = command("invocation", "show", "Bot#1", "--json").json["calls"]
    about = [one["about"] for one in seen]
    assert about == ["Stock/eu.reserve", "Bot.request", "Bot#7", None, "Bot my tick", None]
    assert [one["kwargs"] for one in seen[-2:]] == [None, {"order": 7, "card": "***"}]


def test_what_a_person_changed_is_told_in_words(command: Any) -> None:
    lines = [
        HEADER,
        *(b'{"event":%d,"handler":"request","args":[7],"at":%d}' % (n, AT) for n in (1, 2, 3)),
        b'{"start":1,"at":%d}' % AT,
        b'{"call":"1-1","fn":"ask","to":"Stock/eu","handler":"reserve","args":["lamp"],"at":1}',
        b'{"cancel":1,"by":"ana","reason":"wrong order","at":%d}' % AT,
        b'{"cancelled":1,"ran":true,"at":%d}' % AT,
        b'{"cancelled":2,"by":"ana","at":%d}' % AT,
        b'{"start":3,"at":%d}' % AT,
        b'{"call":"3-1","fn":"Shop.pay","args":[7],"at":%d}' % AT,
        b'{"error":"3-1","type":"builtins.OSError","text":"no route","at":%d}' % AT,
        b'{"failed":3,"type":"builtins.OSError","text":"no route","calls":["3-1"],"at":%d}' % AT,
        b'{"retry":3,"by":"ana","undo":["3-1"],"at":%d}' % AT,
        b'{"answered":"0f","do":"retry","value":{"event":"Bot#3"},"at":%d}' % AT,
        b'{"deleted":["eu","a"],"by":"ana","at":%d}' % AT,
    ]
    write(command.folder, lines)
    ran = command("inspect", "journal", "Bot")
    told = [line.split("\t")[3:] for line in ran.out.splitlines()]
    assert ["call", 'Bot-1-1 ask Stock/eu.reserve ["lamp"]'] in told
    assert ["cancel", "by ana: wrong order"] in told
    assert ["cancelled", "its clean-up is done"] in told
    assert ["cancelled", "by ana"] in told
    assert ["retry", "by ana; made again: 3-1"] in told
    assert ["answered", 'retry: {"event":"Bot#3"}'] in told
    assert ["deleted", "eu/a by ana"] in told
