"""The reading commands: their exact forms, what they leave out, what they hide."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from agentctl.engines.views import SetAsideView
from agentctl.names import Address

STAMP = "2025-11-30T10:53:20.00000"


def test_a_journal_in_a_pipe_is_parted_by_tabs(command: Any, desk: Any) -> None:
    ran = command("inspect", "journal", "Bot")
    assert ran.code == 0
    assert ran.out.splitlines()[3:6] == [
        f"4\t{STAMP}3Z\tBot#1\tcall\tBot-1-1 Payments.refund [7]",
        f'5\t{STAMP}4Z\tBot#1\tok\tBot-1-1 {{"id":"r7"}}',
        f'6\t{STAMP}5Z\tBot#1\tcall\tBot-1-2 Email.send ["order 7: r7"]',
    ]
    assert ran.out.splitlines()[0].split("\t")[2:4] == ["-", "journal"]
    assert ran.err == ""


def test_a_journal_for_a_program_is_one_document(command: Any, desk: Any) -> None:
    ran = command("inspect", "journal", "--json")
    assert ran.out.count("\n") == 1
    agent = ran.json["agents"][0]
    assert list(ran.json) == ["schema", "agents"]
    assert list(agent) == ["agent", "path", "records", "damaged"]
    assert agent["records"][3] == {
        "line": 4,
        "at": f"{STAMP}3Z",
        "event": "Bot#1",
        "kind": "call",
        "key": "Bot-1-1",
        "record": {"call": "1-1", "fn": "Payments.refund", "args": [7], "at": 1764500000000003},
    }


def test_jsonl_is_a_record_a_line_with_its_agent(command: Any, desk: Any) -> None:
    ran = command("inspect", "journal", "--format", "jsonl")
    lines = [json.loads(line) for line in ran.out.splitlines()]
    assert len(lines) == 9
    assert {line["agent"] for line in lines} == {"Bot"}


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (("-n", "2"), ["8", "9"]),
        (("-n", "0"), []),
        (("-r", "-n", "2"), ["9", "8"]),
        (("--kind", "call"), ["4", "6"]),
        (("--kind", "call,done"), ["4", "6", "8"]),
        (("--event", "1", "--kind", "event"), ["2"]),
        (("--event", "2"), []),
        (("--grep", "order 7"), ["6"]),
        (("--since", "2025-11-30T10:53:20.000006Z"), ["7", "8", "9"]),
        (("--until", "2025-11-30T11:53:20.000002+01:00"), ["1", "2", "3"]),
    ],
    ids=" ".join,
)
def test_what_is_shown_can_be_chosen(
    command: Any, desk: Any, words: tuple[str, ...], lines: list[str]
) -> None:
    ran = command("inspect", "journal", "Bot", *words)
    assert ran.code == 0, ran.err
    assert [line.split("\t")[0] for line in ran.out.splitlines()] == lines


def test_raw_is_the_file_as_it_is(command: Any, desk: Any) -> None:
    desk.texts = [b'{"journal":1,"crc":"1"}', b'{"synced":24}', b'{"start":1,"crc":"2"}', b"{"]
    desk.journals["Bot"] = [b'{"journal":1}', b'{"synced":24}', b'{"start":1}']
    whole = "".join(f"{line.decode()}\n" for line in desk.texts)
    assert command("inspect", "journal", "--raw").out == whole
    backwards = command("inspect", "journal", "--raw", "--reverse").out.splitlines()
    assert backwards == whole.splitlines()[::-1]
    assert command("inspect", "journal", "--raw", "-n", "1").out == '{"start":1,"crc":"2"}\n'
    assert command("inspect", "journal", "--raw", "--kind", "synced").out == '{"synced":24}\n'


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (("-n", "2"), ["1001", "1002"]),
        (("--event", "500"), ["501"]),
        (("--kind", "stop"), ["1002"]),
        (("--kind", "event", "-n", "1"), ["1001"]),
    ],
    ids=" ".join,
)
def test_of_a_long_journal_only_what_is_shown_is_decoded(
    command: Any,
    desk: Any,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    lines: list[str],
) -> None:
    events = [b'{"event":%d,"handler":"x","args":[],"at":1}' % one for one in range(1, 1001)]
    desk.journals["Bot"] = [b'{"journal":1,"at":1}', *events, b'{"stop":0,"at":1}']
    decoded: list[bytes] = []

    def counting(body: bytes) -> Any:
        decoded.append(body)
        return json.loads(body)

    monkeypatch.setattr("agentctl.ops.journal._decode", counting)
    ran = command("inspect", "journal", "Bot", *words)
    assert [line.split("\t")[0] for line in ran.out.splitlines()] == lines
    assert len(decoded) == len(lines)


def test_the_last_records_still_know_their_instance(command: Any, desk: Any) -> None:
    desk.journals["Poller"] = [
        b'{"event":1,"handler":"poll","args":[],"of":["eu/7"],"at":1}',
        b'{"call":"1-1","fn":"Net.get","args":[],"at":1}',
    ]
    for words in (("-n", "1"), ("--kind", "call")):
        ran = command("inspect", "journal", "Poller", *words)
        assert [line.split("\t")[2] for line in ran.out.splitlines()] == ["Poller/eu%2F7#1"]


def test_a_line_that_only_says_what_is_durable_is_told_as_such(command: Any, desk: Any) -> None:
    desk.journals["Bot"].insert(1, b'{"synced":512}')
    assert command("inspect", "journal").out.splitlines()[1] == (
        "2\t-\t-\tsynced\t512 bytes are durable"
    )
    assert command("inspect", "journal", "--json").json["agents"][0]["records"][1] == {
        "line": 2,
        "at": None,
        "event": None,
        "kind": "synced",
        "key": None,
        "record": {"synced": 512},
    }
    assert command("inspect", "journal", "--event", "512").out == ""


def test_an_event_can_be_named_as_an_address(command: Any, desk: Any) -> None:
    desk.journals["Bot"].append(b'{"event":2,"handler":"request","args":[8],"at":1}')
    ran = command("inspect", "journal", "Bot#2")
    assert [line.split("\t")[2] for line in ran.out.splitlines()] == ["Bot#2"]


def test_an_instance_can_be_named_and_stands_in_events_and_keys(command: Any, desk: Any) -> None:
    desk.journals["Poller"] = [
        b'{"event":1,"handler":"poll","args":[],"of":["eu/7"],"at":1}',
        b'{"event":2,"handler":"poll","args":[],"of":["us"],"at":1}',
        b'{"call":"1-1","fn":"Net.get","args":[],"at":1}',
    ]
    ran = command("inspect", "journal", 'Poller("eu/7")', "--json")
    records = ran.json["agents"][0]["records"]
    assert [(r["event"], r["key"]) for r in records] == [
        ("Poller/eu%2F7#1", None),
        ("Poller/eu%2F7#1", "Poller/eu%2F7-1-1"),
    ]


def test_a_schedule_with_a_name_like_a_call_is_no_event(command: Any, desk: Any) -> None:
    desk.journals["Bot"] = [
        b'{"event":2,"handler":"tick","args":[],"at":1}',
        b'{"schedule":"2-1","of":["eu"],"handler":"tick","args":[],"due":9,"at":1}',
        b'{"paused":"2-1","of":["eu"],"at":1}',
    ]
    ran = command("inspect", "journal", "Bot")
    assert [line.split("\t")[2] for line in ran.out.splitlines()] == ["Bot#2", "-", "-"]
    assert len(command("inspect", "journal", "Bot#2").out.splitlines()) == 1
    ran = command("inspect", "journal", 'Bot("eu")', "--kind", "schedule,paused")
    assert [line.split("\t")[3] for line in ran.out.splitlines()] == ["schedule", "paused"]


def test_damage_is_said_and_what_is_before_it_is_shown(command: Any, desk: Any) -> None:
    desk.damaged = (10, "the checksum doesn't fit")
    ran = command("inspect", "journal", "Bot")
    assert ran.code == 6
    assert len(ran.out.splitlines()) == 9
    assert "error: the journal is damaged\n  /srv/agents/Bot/journal, line 10: " in ran.err
    ran = command("inspect", "journal", "Bot", "--json")
    assert ran.json["agents"][0]["damaged"] == {"line": 10, "reason": "the checksum doesn't fit"}
    assert ran.error["code"] == 6


SECRET = b'{"call":"1-1","fn":"Net.log_in","args":["ana",{"$secret":"hunter2"}],"at":1}'


@pytest.mark.parametrize("words", [(), ("--json",), ("--format", "jsonl")], ids=" ".join)
def test_secrets_are_shown_only_on_demand(command: Any, desk: Any, words: tuple[str, ...]) -> None:
    desk.journals["Bot"] = [SECRET]
    ran = command("inspect", "journal", *words)
    assert "hunter2" not in ran.out + ran.err
    assert "***" in ran.out
    assert "hunter2" in command("inspect", "journal", "--show-secrets", *words).out


def test_secrets_cannot_be_searched_for(command: Any, desk: Any) -> None:
    desk.journals["Bot"] = [SECRET]
    assert command("inspect", "journal", "--grep", "hunter2").out == ""


def test_secrets_are_hidden_in_set_aside_and_state_too(command: Any, desk: Any) -> None:
    line = b'{"event":1,"handler":"log_in","args":[{"$secret":"hunter2"}]}'
    desk.text = line + b"\n"
    desk.asides["Bot"] = [
        SetAsideView(Address("Bot", (), 1), "log_in", b'[{"$secret":"hunter2"}]', 3, [line])
    ]
    desk.kept[Address("Bot")] = b'{"password":{"$secret":"hunter2"}}'
    for words in (("set-aside",), ("set-aside", "--json"), ("state",), ("state", "--json")):
        ran = command("inspect", *words)
        assert ran.code == 0
        assert "hunter2" not in ran.out, words
        assert "hunter2" in command("inspect", *words, "--show-secrets").out, words


def test_set_aside_for_a_program(command: Any, desk: Any) -> None:
    lines = [b'{"event":1,"handler":"request","args":[7]}', b'{"again":1}', b'{"again":1}']
    desk.asides["Bot"] = [SetAsideView(Address("Bot", (), 1), "request", b"[7]", 3, lines)]
    assert command("inspect", "set-aside", "Bot", "--json").out == (
        '{"schema":"agentctl.set-aside/1","agents":[{"agent":"Bot","events":[{"event":"Bot#1",'
        '"handler":"request","args":[7],"starts":3,"records":['
        '{"event":1,"handler":"request","args":[7]},{"again":1},{"again":1}]}]}]}\n'
    )


def test_state_is_a_line_for_each_instance(command: Any, desk: Any) -> None:
    desk.journals["Poller"] = []
    desk.kept = {Address("Poller", ("eu",)): b'{"failures":2}', Address("Poller", ("us",)): b"{}"}
    assert command("inspect", "state").out == 'Poller/eu\t{"failures":2}\nPoller/us\t{}\n'
    assert command("inspect", "state", "Poller/us").out == "Poller/us\t{}\n"


def test_the_audit_log_can_be_narrowed(command: Any, desk: Any) -> None:
    desk.audits["Bot"] = [
        "2026-01-01T00:00:00.000000Z Bot accepted: event #1 of request",
        "2026-01-02T00:00:00.000000Z Bot completed: event #1 of request",
        "2026-01-03T00:00:00.000000Z Bot failed: event #12 of request",
    ]
    assert len(command("inspect", "audit", "Bot").out.splitlines()) == 3
    assert command("inspect", "audit", "Bot#1", "-n", "1").out.endswith(
        "completed: event #1 of request\n"
    )
    assert command("inspect", "audit", "--grep", "failed").out.count("\n") == 1
    assert command("inspect", "audit", "--since", "2026-01-02T00:00:00Z").out.count("\n") == 2


def test_an_agent_that_never_ran_has_an_empty_journal(command: Any, desk: Any) -> None:
    desk.journals.clear()
    assert command("inspect", "journal", "Bot").code == 0


def test_an_unknown_agent_is_refused_with_the_nearest(command: Any, desk: Any) -> None:
    ran = command("inspect", "journal", "Bto")
    assert ran.code == 3
    assert "did you mean Bot?" in ran.err


def test_with_a_root_no_project_is_needed(
    command: Any,
    desk: Any,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert command("inspect", "journal").code == 3
    assert command("inspect", "journal", "--root", ".").code == 0
    assert command("inspect", "journal", env={"AGENTCTL_ROOT": "."}).code == 0


def test_control_characters_never_reach_the_output(command: Any, desk: Any) -> None:
    desk.journals["Bot"] = [b'{"bug":1,"text":"\\u001b[31mred\\n\\u202e","at":1}']
    ran = command("inspect", "journal")
    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out
    assert r"\x1b[31mred\n\u202e" in ran.out


@pytest.mark.parametrize(
    "body",
    [b"null", b"[1]", b"{}", b'{"new-kind":1}', b'{"call":7}', b'{"done":true}', b"\xff",
     b'{"event":1,"at":99999999999999999999}', b"{" * 3000, b'{"ok":"1-1","at":-5}'],
    ids=range(10),
)  # fmt: skip
@pytest.mark.parametrize("words", [(), ("--json",)], ids=["text", "json"])
def test_any_record_can_be_shown(
    command: Any, desk: Any, body: bytes, words: tuple[str, ...]
) -> None:
    desk.journals["Bot"] = [body]
    ran = command("inspect", "journal", *words)
    assert ran.code == 0, ran.err
    assert ran.out.count("\n") == 1


@pytest.mark.parametrize("width", [1, 20, 80, 200])
@pytest.mark.parametrize("words", [("inspect", "journal"), ("config", "show"), ("--help",)])
def test_any_width_of_a_terminal_will_do(
    command: Any, desk: Any, terminal: Callable[..., Any], width: int, words: tuple[str, ...]
) -> None:
    stream = terminal(width)
    assert command(*words).code == 0
    assert stream.getvalue()


def test_on_a_terminal_the_journal_is_grouped_by_event_without_tabs(
    command: Any, desk: Any, terminal: Callable[..., Any]
) -> None:
    stream = terminal()
    assert command("inspect", "journal", env={"NO_COLOR": "1"}).code == 0
    text = stream.getvalue()
    assert "\t" not in text
    assert "\x1b[3" not in text
    assert [line for line in text.splitlines() if line.startswith("Bot#1")]
