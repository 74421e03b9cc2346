"""`agentctl inspect`: reads one thing, takes no lock, changes nothing, says it in three forms."""

from __future__ import annotations

import json
import os

import pytest

from .support import ANSI, CRASH, STAMP, Project, find_key


def test_the_journal_in_a_pipe_is_tab_separated_without_a_header(finished_shop: Project) -> None:
    told = finished_shop.agentctl("inspect", "journal", "Bot").expect(0)
    rows = [line.split("\t") for line in told.out.splitlines()]
    assert len(rows) == len(finished_shop.records())
    for number, row in enumerate(rows, start=1):
        assert len(row) == 5, row
        assert row[0] == str(number)
        assert row[1] in {"", "-"} or STAMP.fullmatch(row[1]), row
    events = [row for row in rows if row[3] == "event"]
    assert [row[2] for row in events] == ["Bot#1"]
    calls = [row for row in rows if row[3] == "call"]
    assert [row[2] for row in calls] == ["Bot#1", "Bot#1"]
    assert "Payments.refund" in calls[0][4]
    assert "Email.send" in calls[1][4]


def test_the_journal_raw_is_the_file(finished_shop: Project) -> None:
    told = finished_shop.agentctl("inspect", "journal", "Bot", "--raw").expect(0)
    assert told.out.encode() == finished_shop.journal_path().read_bytes()


def test_the_journal_as_json(finished_shop: Project) -> None:
    document = finished_shop.agentctl("inspect", "journal", "Bot", "--json").expect(0).json
    assert document["schema"] == "agentctl.journal/1"
    (agent,) = document["agents"]
    assert agent["agent"] == "Bot"
    assert agent["damaged"] is None
    assert os.path.samefile(agent["path"], finished_shop.journal_path())
    lines = [record["line"] for record in agent["records"]]
    assert lines == list(range(1, len(finished_shop.records()) + 1))
    call = next(record for record in agent["records"] if record["kind"] == "call")
    assert call["event"] == "Bot#1"
    assert call["key"] == "Bot-1-1"
    assert call["record"]["fn"] == "Payments.refund"
    assert call["record"]["args"] == [7]
    event = next(record for record in agent["records"] if record["kind"] == "event")
    assert STAMP.fullmatch(event["at"])


def test_the_journal_as_json_lines(finished_shop: Project) -> None:
    told = finished_shop.agentctl("inspect", "journal", "Bot", "--format", "jsonl").expect(0)
    lines = [json.loads(line) for line in told.out.splitlines()]
    assert len(lines) == len(finished_shop.records())
    assert {line["agent"] for line in lines} == {"Bot"}


def test_the_journal_by_event_kind_and_count(finished_shop: Project) -> None:
    finished_shop.agentctl("invoke", "Bot", "request", "8").expect(0)
    second = finished_shop.agentctl("inspect", "journal", "Bot", "--event", "2").expect(0)
    assert {line.split("\t")[2] for line in second.out.splitlines()} == {"Bot#2"}
    calls = finished_shop.agentctl("inspect", "journal", "Bot", "--kind", "call").expect(0)
    assert {line.split("\t")[3] for line in calls.out.splitlines()} == {"call"}
    two = finished_shop.agentctl("inspect", "journal", "Bot", "-n", "2").expect(0)
    assert len(two.out.splitlines()) == 2


def test_the_audit_log(finished_shop: Project) -> None:
    told = finished_shop.agentctl("inspect", "audit", "Bot").expect(0)
    assert "Bot accepted: event #1 of request" in told.out
    assert "Bot completed: event #1 of request" in told.out
    document = finished_shop.agentctl("inspect", "audit", "Bot", "--json").expect(0).json
    assert document["schema"] == "agentctl.audit/1"
    assert document["agents"][0]["agent"] == "Bot"
    assert "completed" in json.dumps(document)


def test_the_set_aside_events_are_the_files_lines(one_aside: Project) -> None:
    text = (one_aside.folder() / "set-aside").read_text(encoding="utf-8")
    assert one_aside.agentctl("inspect", "set-aside", "Bot").expect(0).out == text
    assert text.splitlines()[0] == '{"event":1,"handler":"broken","args":[7]}'
    document = one_aside.agentctl("inspect", "set-aside", "Bot", "--json").expect(0).json
    assert document["schema"] == "agentctl.set-aside/1"
    (event,) = document["agents"][0]["events"]
    assert document["agents"][0]["agent"] == "Bot"
    assert (event["event"], event["handler"], event["args"]) == ("Bot#1", "broken", [7])
    assert event["starts"] >= 2
    assert {"id": "r7"} in find_key(event["records"], "value")


def test_a_set_aside_event_keeps_plain_lines(one_aside: Project) -> None:
    lines = [json.loads(line) for line in one_aside.set_aside()]
    for line in lines:
        assert not {"at", "crc", "synced", "nonce", "start"} & line.keys(), line
    assert {"call": "1-1", "fn": "Payments.refund", "args": [7]} in lines
    assert {"ok": "1-1", "value": {"id": "r7"}} in lines
    assert lines[-1] == {"again": 1}


def test_nothing_set_aside_is_no_error(finished_shop: Project) -> None:
    assert finished_shop.agentctl("inspect", "set-aside", "Bot").expect(0).out == ""
    document = finished_shop.agentctl("inspect", "set-aside", "Bot", "--json").expect(0).json
    assert document["agents"] == [{"agent": "Bot", "events": []}]


@pytest.mark.parametrize("what", ["journal", "audit", "set-aside", "state"])
def test_without_an_agent_all_are_shown(one_aside: Project, what: str) -> None:
    document = one_aside.agentctl("inspect", what, "--json").expect(0).json
    assert [agent["agent"] for agent in document["agents"]] == ["Bot"]


@pytest.mark.parametrize("what", ["journal", "audit", "set-aside", "state"])
def test_reading_an_agent_that_never_ran_makes_no_folder(shop: Project, what: str) -> None:
    shop.agentctl("inspect", what, "Bot").expect(0)
    assert not (shop.root / "agents").exists()


@pytest.mark.parametrize("what", ["journal", "audit", "set-aside", "state"])
def test_reading_changes_nothing(one_aside: Project, what: str) -> None:
    def seen() -> list[tuple[str, int, int]]:
        paths = sorted((one_aside.root / "agents").rglob("*"))
        return [(str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in paths]

    before = seen()
    for form in ((), ("--json",)):
        one_aside.agentctl("inspect", what, "Bot", *form).expect(0)
    assert seen() == before


def test_an_unfinished_event_is_seen_while_its_program_runs(shop: Project) -> None:
    shop.agentctl("invoke", "Bot", "request", "7", env={"DIE_IN": "send"}).expect(CRASH)
    told = shop.agentctl("inspect", "journal", "Bot").expect(0)
    assert "Email.send" in told.out
    assert not any(line.split("\t")[3] == "done" for line in told.out.splitlines())


def test_nothing_of_a_terminal_goes_into_a_pipe(one_aside: Project) -> None:
    for command in (
        ("inspect", "journal"),
        ("inspect", "set-aside"),
        ("inspect", "audit"),
        ("config", "show"),
        ("--help",),
        ("invoke", "--help"),
        ("invoke", "Bot", "reqest"),
    ):
        told = one_aside.agentctl(*command, env={"TERM": "xterm-256color"})
        assert not ANSI.search(told.both), f"{command}: {told.both!r}"


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_pipe_of_another_encoding_never_breaks_a_command(shop: Project, encoding: str) -> None:
    env = {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    shop.agentctl("invoke", "Bot", "echo", "é🙂→").expect(0)
    for command in (("invoke", "Bot", "echo", "é🙂→"), ("inspect", "journal"), ("--help",)):
        told = shop.agentctl(*command, env=env).expect(0)
        assert "Traceback" not in told.err
