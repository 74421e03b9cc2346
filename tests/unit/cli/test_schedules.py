"""The commands about schedules: what they ask of the desk, and their exact forms."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from agentctl.core.lifecycle import Cancellation
from agentctl.engines.changes import Accepted, Cancelled, Invoked, State
from agentctl.engines.schedules import (
    FireRequest,
    Paused,
    PauseRequest,
    Scheduled,
    Unscheduled,
    UnscheduleRequest,
)
from agentctl.engines.views import EventView
from agentctl.names import Address

from .desks import HOUR_US, FakeHolder, view
from .journals import AT, FAR, HEADER, STAMP, write

FAR_STAMP = "2057-08-08T12:40:00.000000Z"


@pytest.fixture
def some(desk: Any) -> Any:
    """A desk with schedules of each kind, and a scheduled event with a key."""
    desk.kept = {Address("Bot"): b"null"}
    desk.scheduled = [
        view("hourly"),
        view("nine", cron="0 9 * * 1-5", tz="Europe/Berlin", period_us=None, due_us=FAR - 1),
        view("still", paused=True, due_us=AT, source="file"),
    ]
    desk.events = [
        EventView(
            Address("Bot", (), 4), "request", State.SCHEDULED, b"[8]", key="late", next_us=FAR + 1
        ),
        EventView(Address("Bot", (), 3), "request", State.QUEUED),
    ]
    return desk


def test_what_is_to_come_is_listed_next_due_first(command: Any, some: Any) -> None:
    ran = command("schedule", "list")
    assert ran.code == 0, ran.err
    assert [line.split("\t") for line in ran.out.splitlines()] == [
        [
            *("Bot", "nine", "request", "2057-08-08T12:39:59.999999Z"),
            *("cron 0 9 * * 1-5 Europe/Berlin", "shell", "-"),
        ],
        ["Bot", "hourly", "request", FAR_STAMP, "every 1h", "shell", "-"],
        ["Bot", "Bot#4 late", "request", "2057-08-08T12:40:00.000001Z", "once", "-", "-"],
        ["Bot", "still", "request", STAMP, "every 1h", "file", "paused"],
    ]


def test_the_list_for_a_program_is_one_document(command: Any, some: Any) -> None:
    some.scheduled = []
    assert json.loads(command("schedule", "list", "Bot", "--json").out) == {
        "schema": "agentctl.schedule-list/1",
        "schedules": [
            {
                "agent": "Bot",
                "instance": "Bot",
                "name": None,
                "event": "Bot#4",
                "key": "late",
                "handler": "request",
                "args": [8],
                "due": "2057-08-08T12:40:00.000001Z",
                "period_s": None,
                "cron": None,
                "tz": None,
                "source": None,
                "paused": False,
            }
        ],
    }


def test_nothing_to_come_is_said_on_the_side(command: Any, desk: Any) -> None:
    ran = command("schedule", "list")
    assert (ran.code, ran.out, ran.err) == (0, "", "nothing is scheduled\n")


@pytest.mark.parametrize("width", [80, 40, 20])
def test_a_terminal_of_any_width_shows_when_it_is_due(
    command: Any, some: Any, terminal: Callable[..., Any], width: int
) -> None:
    stream = terminal(width)
    for words in (
        ("schedule", "list"),
        ("schedule", "show", "Bot", "nine"),
        ("agent", "show", "Bot"),
    ):
        assert command(*words, "--color", "never").code == 0
    assert command("inspect", "schedules", "--color", "never").code == 0
    shown = stream.getvalue()
    assert max(map(len, shown.splitlines())) <= width
    assert "every 1h, shell" in shown
    assert FAR_STAMP not in shown, "times are relative there"


def test_all_that_is_on_record_is_shown(command: Any, some: Any) -> None:
    some.scheduled = [view(jitter_us=5_000_000, late_us=HOUR_US, kwargs=b'{"a":1}')]
    rows = [line.split("\t") for line in command("inspect", "schedules").out.splitlines()]
    assert rows == [
        [
            *("Bot", "report", "request", FAR_STAMP, "every 1h", "shell", "-", STAMP),
            *("missed=coalesce overlap=skip jitter=5s max-late=1h", '[7] {"a":1}'),
        ]
    ]
    document = json.loads(command("inspect", "schedules", "--json").out)
    assert (document["schema"], document["agents"][0]["agent"]) == ("agentctl.schedules/1", "Bot")
    (kept,) = document["agents"][0]["schedules"]
    assert (kept["period_s"], kept["jitter_s"], kept["max_late_s"]) == (3600.0, 5.0, 3600.0)
    assert (kept["args"], kept["kwargs"]) == ([7], {"a": 1})


def test_one_schedule_shows_its_next_five_due_times(command: Any, some: Any) -> None:
    ran = command("schedule", "show", "Bot", "nine")
    rows = [line.split("\t") for line in ran.out.splitlines()]
    about = dict(row for row in rows if len(row) == 2)
    assert about["how"] == "cron 0 9 * * 1-5 Europe/Berlin"
    assert about["missed"] == "coalesce"
    due = [row[1:] for row in rows if row[0] == "next"]
    assert len(due) == 5
    assert all(row[1][11:19] == "09:00:00" for row in due[1:])


def test_a_zone_that_this_machine_does_not_know_hides_nothing_else(command: Any, some: Any) -> None:
    some.scheduled = [view(cron="0 9 * * *", tz="Mars/Base", period_us=None)]
    ran = command("schedule", "show", "Bot", "report")
    assert ran.code == 0
    assert "how\tcron 0 9 * * * Mars/Base\n" in ran.out
    assert "can't be told here: there is no time zone 'Mars/Base'" in ran.err
    assert command("schedule", "list").code == 0


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("hourli", "did you mean hourly?"),
        ("late", "is a single event: agentctl invocation show Bot#4"),
    ],
)
@pytest.mark.parametrize("verb", ["show", "pause", "unpause", "trigger"])
def test_an_unknown_name_says_what_comes_near(
    command: Any, some: Any, verb: str, name: str, hint: str
) -> None:
    ran = command("schedule", verb, "Bot", name)
    assert (ran.code, ran.out, some.requests) == (3, "", [])
    assert hint in ran.err


def test_an_event_is_no_schedule_and_the_hint_is_the_right_command(command: Any, some: Any) -> None:
    ran = command("schedule", "cancel", "Bot#4", "x")
    assert ran.code == 2
    assert "agentctl invocation cancel Bot#4" in ran.err


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        (Cancellation.CANCELLED, 0, "cancelled Bot report"),
        (Cancellation.ALREADY_CANCELLED, 0, "already cancelled Bot report"),
        (Cancellation.UNKNOWN, 3, "unknown Bot report"),
        (Cancellation.FINISHED, 4, "finished Bot report"),
    ],
)
def test_a_cancellation_is_answered_with_a_word(
    command: Any, desk: Any, answer: Cancellation, code: int, said: str
) -> None:
    desk.answer = Unscheduled(answer, "Bot", "report")
    ran = command("schedule", "cancel", "Bot", "report", env={"USER": "ana"})
    assert (ran.code, ran.out) == (code, f"{said}\n")
    assert bool(ran.err) == bool(code)
    (asked,) = desk.requests
    assert asked == UnscheduleRequest("Bot", asked.id, "report", by="ana")
    assert asked.id
    document = json.loads(command("schedule", "cancel", "Bot", "report", "--json").out)
    assert document == {
        "schema": "agentctl.schedule-cancel/1",
        "answer": answer.value,
        "instance": "Bot",
        "name": "report",
    }


def test_who_cancels_by_a_key_is_sent_to_the_event(command: Any, some: Any) -> None:
    some.answer = Unscheduled(Cancellation.UNKNOWN, "Bot", "late")
    ran = command("schedule", "cancel", "Bot", "late")
    assert ran.err.endswith("agentctl invocation cancel Bot#4\n")


@pytest.mark.parametrize(
    ("verb", "answer", "out", "err"),
    [
        ("pause", Paused("Bot", "hourly", True, True, FAR), "paused Bot hourly\n", ""),
        ("pause", Paused("Bot", "hourly", True, False, FAR), "already paused Bot hourly\n", ""),
        (
            *("unpause", Paused("Bot", "hourly", False, True, FAR, 3), "unpaused Bot hourly\n"),
            f"3 due times passed while it was paused; due {FAR_STAMP}\n",
        ),
        (
            *("unpause", Paused("Bot", "hourly", False, False, FAR)),
            *("already unpaused Bot hourly\n", f"due {FAR_STAMP}\n"),
        ),
    ],
)
def test_pausing_is_told(
    command: Any, some: Any, verb: str, answer: Paused, out: str, err: str
) -> None:
    some.answer = answer
    ran = command("schedule", verb, "Bot", "hourly")
    assert (ran.code, ran.out, ran.err) == (0, out, err)
    (asked,) = some.requests
    assert asked == PauseRequest("Bot", asked.id, "hourly", pause=verb == "pause")
    document = json.loads(command("schedule", verb, "Bot", "hourly", "--json").out)
    assert document["due"] == (None if answer.paused else FAR_STAMP)
    assert (document["changed"], document["skipped"]) == (answer.changed, answer.skipped)


def test_a_trigger_prints_the_new_events_address(command: Any, some: Any) -> None:
    some.answer = Accepted("Bot#9")
    ran = command("schedule", "trigger", "Bot", "still")
    assert (ran.code, ran.out) == (0, "Bot#9\n")
    assert "agentctl run Bot" in ran.err
    (asked,) = some.requests
    assert asked == FireRequest("Bot", asked.id, "still")
    some.holder_here = FakeHolder(Invoked("Bot#9"))
    ran = command("schedule", "trigger", "Bot", "still", "--json")
    assert ran.err == ""
    assert ran.json == {
        "schema": "agentctl.invoke/1",
        "event": "Bot#9",
        "handler": "request",
        "key": None,
        "status": "queued",
    }


def test_who_cancels_a_schedule_as_an_invocation_is_told_how(command: Any, some: Any) -> None:
    some.answer = Cancelled(Cancellation.UNKNOWN, key="hourly")
    ran = command("invocation", "cancel", "Bot", "hourly")
    assert ran.code == 3
    assert "agentctl schedule cancel Bot hourly" in ran.err


def test_instances_and_agents_tell_when_a_schedule_is_due(command: Any) -> None:
    hourly = b'{"schedule":"hourly","of":["eu"],"handler":"request","due":%d,"period":3600000000}'
    still = b'{"schedule":"still","handler":"request","due":1,"period":1000,"paused":true}'
    write(command.folder, [HEADER, hourly % FAR, still])
    listed = [line.split("\t") for line in command("agent", "list").out.splitlines()]
    assert listed == [["Bot", "0", "0", "-"], ["Bot/eu", "0", "0", FAR_STAMP]]
    status = command("status", "--json").json["agents"][0]
    assert status["next_due"] == FAR_STAMP
    assert status["warnings"] == ["no program runs it, and 1 schedule is set: agentctl run Bot"]
    assert command("status", "--check", "-q").code == 0
    write(command.folder, [HEADER, hourly % AT])
    ran = command("status", "--check", "-q")
    assert ran.code == 1, "nobody runs what is due"
    assert "Bot: a schedule is " in ran.err
    assert "look closer: agentctl schedule list\n" in ran.err


def test_an_instance_shows_its_schedules(command: Any, some: Any) -> None:
    out = command("agent", "show", "Bot").out.splitlines()
    assert f"schedule\thourly\trequest\t{FAR_STAMP}\tevery 1h\t-" in out
    document = command("agent", "show", "Bot", "--json").json
    assert [one["name"] for one in document["schedules"]] == ["hourly", "nine", "still"]


def test_secrets_are_hidden_unless_they_are_asked_for(command: Any, some: Any) -> None:
    some.scheduled = [view(args=b'[{"$secret":"hunter2"}]')]
    looks = (("schedule", "list", "--json"), ("schedule", "show", "Bot", "report"))
    for words in (*looks, ("inspect", "schedules"), ("agent", "show", "Bot", "--json")):
        assert "hunter2" not in command(*words).out
    for words in (("schedule", "show", "Bot", "report"), ("inspect", "schedules")):
        assert "hunter2" in command(*words, "--show-secrets").out


def test_a_schedule_that_was_set_is_told(command: Any, desk: Any, code: None, engine: Any) -> None:
    desk.answered = Scheduled("Bot", "daily", FAR)
    words = ("schedule", "set", "Bot", "request", "7", "--name", "daily", "--every", "1d")
    ran = command(*words)
    assert (ran.code, ran.out) == (0, f"Bot daily due {FAR_STAMP}\n")
    assert ran.err == "it fires while a program runs: agentctl run Bot\n"
    document = command(*words, "--json").json
    assert document == {
        "schema": "agentctl.schedule-set/1",
        "instance": "Bot",
        "name": "daily",
        "handler": "request",
        "due": FAR_STAMP,
        "changed": True,
        "replaced": False,
        "paused": False,
    }


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Scheduled("Bot", "x", FAR, changed=False), "nothing changed"),
        (Scheduled("Bot", "x", FAR, replaced=True), "takes the place"),
        (Scheduled("Bot", "x", FAR, paused=True), "agentctl schedule unpause Bot x"),
        (Scheduled("Bot", "x", AT), "its time has passed"),
    ],
)
def test_what_is_unusual_is_said_on_the_side_beside_a_program_too(
    command: Any, desk: Any, engine: Any, answer: Scheduled, said: str
) -> None:
    desk.holder_here = FakeHolder(Invoked("Bot#1"), scheduled=answer)
    at = ("--at", "2025-11-30T10:53:20Z")
    ran = command(
        "schedule", "set", "Bot", "request", "7", "--name", "x", *at, "-i", "k", "--force"
    )
    assert ran.code == 0
    assert said in ran.err
    assert "agentctl run" not in ran.err
    (sent,) = desk.holder_here.sets
    assert (sent.timing.due_us, sent.timing.key, sent.force) == (AT, "k", True)
    assert (sent.words, sent.source, bool(sent.id)) == (["7"], "shell", True)


@pytest.mark.parametrize("noun", ["schedule", "invocation"])
def test_a_name_of_control_characters_stays_on_one_line(command: Any, some: Any, noun: str) -> None:
    name = "two\nlines\x1b[2J"
    unscheduled = Unscheduled(Cancellation.UNKNOWN, "Bot", name)
    some.answer = unscheduled if noun == "schedule" else Cancelled(Cancellation.UNKNOWN, key=name)
    ran = command(noun, "cancel", "Bot", name)
    assert (ran.code, ran.out) == (3, "unknown Bot two\\nlines\\x1b[2J\n")
