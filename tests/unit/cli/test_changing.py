"""requeue, drop, new, config: what they say and what they ask of the desk."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentctl.engines.changes import DropRequest, Requeued
from agentctl.engines.desk import Unanswered
from agentctl.engines.views import SetAsideView
from agentctl.names import Address


def aside(number: int) -> SetAsideView:
    return SetAsideView(Address("Bot", (), number), "request", b"[7]", 3, [])


def test_a_requeue_says_what_is_queued_again(command: Any, desk: Any) -> None:
    desk.requeued = [Requeued("Bot#1", None, ())]
    ran = command("requeue", "set-aside", "Bot", "1")
    assert ran.out == "requeued Bot#1\n"
    assert desk.requests[0].events == (1,)
    ran = command("requeue", "set-aside", "Bot", "--json")
    assert ran.out == (
        '{"schema":"agentctl.requeue/1","events":[{"event":"Bot#1","fresh":false,"was":null}]}\n'
    )


def test_a_fresh_one_says_which_calls_may_happen_twice(command: Any, desk: Any) -> None:
    desk.requeued = [Requeued("Bot#5", "Bot#1", ("Bot-1-1",))]
    ran = command("requeue", "set-aside", "Bot", "Bot#1", "--fresh", "--args", "[8]")
    assert ran.out == "requeued Bot#5\n"
    assert "Bot-1-1" in ran.err
    assert (desk.requests[0].fresh, desk.requests[0].args) == (True, "[8]")


def test_a_dry_run_only_tells(command: Any, desk: Any) -> None:
    desk.requeued = [Requeued("Bot#1", None, ())]
    assert command("requeue", "set-aside", "Bot", "--dry-run").out == "would requeue Bot#1\n"
    assert desk.requests[0].dry_run


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--args", "[8]"), "--fresh"),
        (("--edit",), "--fresh"),
        (("--all", "1"), "don't go together"),
        (("Clerk#1",), "no event of Bot"),
        (("--fresh", "--args", '{"a":1}'), "JSON list"),
        (("--fresh", "--args", "[8"), "no JSON"),
        (("--fresh", "--args", "[8"), "@FILE"),
        (("--args", "[8]"), "hint: add --fresh"),
        (("--fresh", "--args", "@nowhere"), "@nowhere"),
        (("--lock-wait", "5"), "no duration"),
    ],
)
def test_what_makes_no_sense_is_refused(
    command: Any, desk: Any, words: tuple[str, ...], said: str
) -> None:
    ran = command("requeue", "set-aside", "Bot", *words)
    assert ran.code == 2
    assert said in ran.err
    assert desk.requests == []


def test_arguments_that_do_not_fit_the_handler_are_refused(
    command: Any, desk: Any, code: None
) -> None:
    desk.asides["Bot"] = [aside(1)]
    ran = command("requeue", "set-aside", "Bot", "--fresh", "--args", '["x"]')
    assert (ran.code, desk.requests) == (2, [])
    assert "order_id" in ran.err


def test_arguments_can_be_edited(command: Any, desk: Any, code: None, tmp_path: Path) -> None:
    desk.asides["Bot"] = [aside(1)]
    editor = tmp_path / "editor.py"
    editor.write_text("import sys\nopen(sys.argv[1], 'w').write('[8]')\n")
    ran = command(
        "requeue", "set-aside", "Bot", "--fresh", "--edit",
        env={"EDITOR": f"{sys.executable} {editor}"},
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert (desk.requests[0].events, desk.requests[0].args) == ((1,), "[8]")


def test_a_drop_needs_a_reason_and_is_told(command: Any, desk: Any) -> None:
    desk.asides["Bot"] = [aside(1)]
    assert command("set-aside", "drop", "Bot", "1").code == 2
    empty = command("set-aside", "drop", "Bot", "1", "--reason", " ")
    assert empty.code == 2
    assert 'hint: say why: --reason "' in empty.err
    assert desk.requests == []
    ran = command("set-aside", "drop", "Bot", "1", "--reason", "a test")
    assert ran.out == "dropped Bot#1\n"
    (dropped,) = desk.requests
    assert dropped == DropRequest("Bot", dropped.id, 1, "a test")
    assert dropped.id
    assert command("set-aside", "drop", "Bot", "9", "--reason", "x").code == 3


def test_new_makes_a_project_and_says_what_to_try(command: Any) -> None:
    ran = command("new", "shop")
    assert (ran.code, ran.out) == (0, "")
    assert "agentctl invoke Bot request 7" in ran.err
    assert (command.folder / "shop" / "kavach.toml").is_file()
    assert command("new", "shop").code == 4


def test_new_for_a_program(command: Any) -> None:
    ran = command("new", "shop", "--agent", "Clerk", "--json", "-q")
    assert ran.err == ""
    assert (ran.json["schema"], ran.json["agent"]) == ("agentctl.new/1", "Clerk")
    assert "kavach.toml" in ran.json["files"]


def test_templates_are_listed(command: Any) -> None:
    assert command("new", "--list").out.startswith("refund\t")
    assert command("new", "--list", "--json").json["templates"][0]["name"] == "refund"
    assert command("new").code == 2
    assert command("new", "shop", "--template", "refnud").code == 3


def test_config_says_where_each_value_came_from(command: Any) -> None:
    (command.folder / "kavach.toml").write_text(
        '[agents.Bot]\nclass = "bot:Bot"\n[agents.Bot.settings]\ngrace = "9s"\n'
    )
    ran = command("config", "show", "--root", "elsewhere")
    rows = {line.split("\t")[0]: line.split("\t")[1:] for line in ran.out.splitlines()}
    assert ran.code == 0
    assert rows["agents.Bot.settings.grace"] == ["9s", "kavach.toml:4"]
    assert rows["agents.Bot.settings.max_starts"] == ["3", "default"]
    assert rows["project.root"][1] == "--root"
    assert "warning: the project can't be loaded" in ran.err, "the code isn't there"


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (Unanswered("Bot", 17, once=True), "Bot (pid 17) hasn't answered yet; still waiting"),
        (Unanswered("Bot", 0, once=True), "that runs Bot hasn't answered yet"),
        (Unanswered("Bot", 17, once=True), "asking again does nothing twice"),
        (Unanswered("Bot", 17, once=False), "without an idempotency key (-i) asking again may"),
    ],
)
def test_a_program_that_leaves_the_answer_out_is_named_on_stderr(
    command: Any, desk: Any, monkeypatch: pytest.MonkeyPatch, what: Unanswered, said: str
) -> None:
    def opened(place: object, unanswered: Callable[[Unanswered], None]) -> object:
        unanswered(what)
        return desk

    monkeypatch.setattr("agentctl.ops.places.open_desk", opened)
    desk.requeued = [Requeued("Bot#1", None, ())]
    words = ("requeue", "set-aside", "Bot", "1")
    ran = command(*words, "--json")
    assert said in ran.err
    assert ran.err.count("\n") == ran.out.count("\n") == 1
    assert command(*words, "--quiet").err == ""
