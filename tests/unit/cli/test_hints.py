"""Hints that can be followed where they are read: with a project or without, beside a program."""

from __future__ import annotations

from typing import Any

import pytest

from agentctl import Agent, handler, query
from agentctl.cli.failures import failure_of_end
from agentctl.core.lifecycle import Cancellation
from agentctl.engines.changes import Cancelled, Deleted, Retried, State
from agentctl.engines.local.asking.words import Arguments, from_words, handler_signature
from agentctl.engines.port import Ended
from agentctl.errors import AgentctlError
from agentctl.names import Address
from agentctl.sdk.agent import spec_of

from .desks import FakeHolder, Invoked
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


def test_a_stuck_event_of_another_program_is_told_so(
    command: Any, desk: Any, code: None, engine: Any
) -> None:
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


def test_one_that_was_missed_is_told_as_missed_and_not_to_be_retried() -> None:
    end = Ended(EVENT, "request", "missed", text="it was due 2h ago")
    failure = failure_of_end(end)
    assert failure.error == "Bot#1 was missed"
    assert failure.detail == "it was due 2h ago, and never began"
    assert "retry" not in failure.hint


def test_an_unknown_event_is_written_as_an_address(command: Any, desk: Any) -> None:
    desk.answer = Cancelled(Cancellation.UNKNOWN)
    assert command("invocation", "cancel", "Bot#99").out == "unknown Bot#99\n"
    assert command("invocation", "cancel", "Bot", "k").out == "unknown Bot k\n"


def test_of_an_instance_with_ended_events_only_it_is_said_what_is_kept(command: Any) -> None:
    failed = b'{"failed":1,"type":"shop.Declined","text":"no","calls":[],"at":%d}' % AT
    write(command.folder, _lines(failed))
    ran = command("agent", "show", "Bot")
    assert ran.code == 3
    assert "no state, no key and no open event; 1 ended event is kept" in ran.err
    assert ran.err.splitlines()[-1] == "hint: see: agentctl invocation list Bot"
    assert "nothing is kept of Bot/eu" in command("agent", "show", "Bot/eu").err


@pytest.mark.parametrize("words", [("agent", "show", "Bot"), ("agent", "delete", "Bot")])
def test_what_is_not_there_is_said_in_the_same_words(command: Any, words: tuple[str, ...]) -> None:
    write(command.folder, [HEADER])
    ran = command(*words)
    assert (ran.code, ran.out) == (3, "")
    assert "nothing is kept of Bot: no state, no key, no open event" in ran.err
    assert "agentctl agent list Bot" in ran.err


@pytest.mark.parametrize("words", [("Bot#99",), ("Bot", "k"), ("Bot/eu", "k")], ids=" ".join)
@pytest.mark.parametrize("command_word", ["show", "retry"])
def test_an_event_that_is_not_known_is_said_in_the_same_words(
    command: Any, command_word: str, words: tuple[str, ...]
) -> None:
    write(command.folder, [HEADER])
    ran = command("invocation", command_word, *words)
    assert ran.code == 3
    assert f"  {' '.join(words)} isn't known: it never was, or is no longer kept\n" in ran.err
    assert "agentctl invocation list Bot; and what ended" in ran.err


def test_a_reason_that_is_required_stands_in_usage_and_hints(command: Any, desk: Any) -> None:
    ran = command("set-aside", "drop", "Bot", "1")
    assert ran.code == 2
    assert "agentctl set-aside drop AGENT EVENT --reason TEXT" in ran.err
    assert "set-aside drop AGENT EVENT --reason TEXT" in command("set-aside", "drop", "-h").out
    desk.answer = Cancelled(Cancellation.FINISHED, "Bot#1", None, State.SET_ASIDE)
    hint = command("invocation", "cancel", "Bot#1").err
    assert "agentctl set-aside drop Bot 1 --reason TEXT" in hint


def test_of_a_cancelled_event_it_is_said_what_is_still_to_come(command: Any, desk: Any) -> None:
    desk.answer = Cancelled(Cancellation.CANCELLED, "Bot#1", cleans_up=True)
    told = command("invocation", "cancel", "Bot#1")
    assert (told.code, told.out) == (0, "cancelled Bot#1\n")
    assert "its clean-up runs with the next start: agentctl run Bot" in told.err
    desk.answer = Cancelled(Cancellation.CANCELLED, "Bot#1")
    assert command("invocation", "cancel", "Bot#1").err == ""


def test_the_only_command_of_a_group_is_written_out(command: Any) -> None:
    ran = command("requeue", "Bot", "3")
    assert ran.code == 2
    assert ran.err.splitlines()[-1] == "hint: write: agentctl requeue set-aside Bot 3"
    assert "did you mean set-aside?" in command("requeue", "setaside", "Bot").err


def test_nothing_set_aside_is_said_once(command: Any) -> None:
    write(command.folder, [HEADER])
    ran = command("requeue", "set-aside", "Bot")
    assert ran.code == 3
    assert ran.err.count("set aside") == 1
    assert ran.err.splitlines()[-1].endswith("agentctl invocation list Bot")


def test_in_a_folder_with_agents_and_no_project_the_root_is_named(command: Any) -> None:
    write(command.folder, [HEADER])
    (command.folder / "kavach.toml").unlink()
    for words in (("invocation", "list"), ("status",), ("inspect", "journal")):
        ran = command(*words)
        assert ran.code == 3
        assert ran.err.splitlines()[-1].endswith("--root .")
        assert command(*words, "--root", ".").code == 0


def test_what_help_and_schema_do_not_know_is_listed(command: Any) -> None:
    assert "the topics are: again, arguments, " in command("help", "nope").err
    assert "did you mean again?" in command("help", "agian").err
    ran = command("schema", "nope")
    assert (ran.code, "agentctl schema --list" in ran.err) == (3, True)
    names = command("schema", "--list").out.split()
    assert {"status", "invocations", "error"} <= set(names)
    assert all(command("schema", name).code == 0 for name in names)
    assert command("schema", "status", "--list").code == 2


@pytest.mark.parametrize(
    ("words", "said", "way"),
    [
        (("request", "order=7"), "no argument 'order'", "did you mean order_id?"),
        (("request", "x=7"), "no argument 'x'", "request(order_id: int)"),
        (("request", "seven"), "'seven' is no JSON", "call it as Bot.request(order_id: int)"),
        (("request", "7", "b"), "too many positional arguments", None),
        (("request", "7", "x=1"), "no argument 'x'", "request(order_id: int)"),
        (("echo", "a=b"), None, None),
        (("anything", "seven"), "'seven' is no JSON", "a text needs quotes"),
        (("nope",), "no handler 'nope'", "anything, echo, request; its queries: total"),
        (("totl",), "no handler 'totl'", "did you mean total?"),
    ],
    ids=str,
)
def test_arguments_that_do_not_fit_say_what_would(
    words: tuple[str, ...], said: str | None, way: str | None
) -> None:
    handler_name, *rest = words

    def read() -> Arguments:
        return from_words(handler_signature(Clerk, handler_name), rest)

    if said is None:
        assert read().args == rest
        return
    with pytest.raises(AgentctlError, match=said) as refused:
        read()
    assert (way or "").replace("Bot", "Clerk") in (refused.value.hint or "")
    assert ("quotes" in (refused.value.hint or "")) is ("quotes" in (way or ""))


class Clerk(Agent):
    @handler
    async def request(self, order_id: int) -> None: ...

    @handler
    async def echo(self, text: str) -> None: ...

    @handler
    async def anything(self, value) -> None: ...  # type: ignore[no-untyped-def]

    @query
    async def total(self) -> int:
        return 0


class Account(Agent):
    owner: str

    @handler
    async def total(self) -> None: ...


def test_an_instance_that_is_missing_is_named_as_the_command_line_takes_it() -> None:
    with pytest.raises(AgentctlError) as refused:
        spec_of(Account).check_identity(())
    assert refused.value.message == "Account has 1 identity field (owner), and no value was given"
    assert refused.value.hint == 'name an instance: Account/OWNER, or Account("owner")'
    with pytest.raises(AgentctlError) as refused:
        spec_of(Clerk).check_identity(("a", "b"))
    assert refused.value.message == "Clerk has no identity field, and 2 values were given"
    assert refused.value.hint == "name it without: Clerk"


def test_what_would_go_is_not_told_as_gone(
    command: Any, desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.answer = Deleted("Bot", 2, ("Bot#5",), 0)
    asked: list[str] = []
    monkeypatch.setattr(
        "agentctl.cli.output.Output.confirm", lambda _, question: bool(asked.append(question))
    )
    ran = command("agent", "delete", "Bot")
    assert asked == ["delete Bot, 2 bytes of state, 0 idempotency keys; would cancel Bot#5?"]
    assert (ran.code, ran.err) == (1, "nothing was deleted\n")
    assert "would cancel Bot#5" in command("agent", "delete", "Bot", "--dry-run").err


def test_a_damaged_journal_is_told_in_plain_words_and_what_to_do(command: Any) -> None:
    write(command.folder, [HEADER, HEADER])
    for words in (("invocation", "list"), ("agent", "list"), ("inspect", "state")):
        ran = command(*words)
        assert ran.code == 6
        assert ran.err.startswith("error: the journal is damaged\n")
        assert "line 2: it was changed after it was written, or is lost" in ran.err
        assert "no such event" not in ran.err
        assert "put a backup in its place: docs/how-to/backup.md" in ran.err
    check = command("status", "--check")
    hint = check.err.splitlines()[-1]
    assert check.code == 1
    assert "look closer: agentctl inspect journal Bot; " in hint
    assert "docs/how-to/backup.md" in hint
    assert "stuck" not in hint
