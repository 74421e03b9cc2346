"""Who looks at agents from outside: through real processes, beside and without a program."""

from __future__ import annotations

import json
import os
import re
import signal

import pexpect
import pytest

from .support import STAMP, Project, wait_until
from .test_terminal import COLOUR, STYLE, on_a_terminal

LOOKS = [
    ("status",),
    ("invocation", "list"),
    ("invocation", "show", "Bot#1"),
    ("agent", "list"),
    ("agent", "show", "Bot"),
    ("inspect", "lock"),
]


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory: pytest.TempPathFactory, one_aside_master: Project) -> Project:
    """Event 1 is set aside; event 2 is stuck, and holds a text that few pipes can write."""
    made = one_aside_master.copy_to(tmp_path_factory.mktemp("looked-at"))
    made.agentctl("invoke", "Bot", "broken", "9").expect(1)
    return made


@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
@pytest.mark.parametrize(
    "env",
    [{"PYTHONIOENCODING": "cp1252"}, {"PYTHONIOENCODING": "ascii"}, {"NO_COLOR": "1"}],
    ids=str,
)
def test_p14_a_pipe_of_any_encoding_is_written_to(
    looked_at: Project, words: tuple[str, ...], env: dict[str, str]
) -> None:
    for form in ((), ("--json",)):
        told = looked_at.agentctl(*words, *form, env=env).expect(0)
        assert "\x1b" not in told.both
    assert json.loads(told.out)["schema"].startswith("agentctl.")


@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
@pytest.mark.parametrize("columns", [20, 40, 80])
def test_p14_a_terminal_of_any_width_is_kept_to(
    looked_at: Project, words: tuple[str, ...], columns: int
) -> None:
    env = {"NO_COLOR": "1"}
    code, written = on_a_terminal(looked_at, *words, env=env, columns=columns)
    assert code == 0
    assert not COLOUR.search(written)
    told = [line for line in STYLE.sub("", written).splitlines() if not line.startswith("Bot: ")]
    assert max(map(len, told)) <= columns
    assert not STAMP.search(written), "times on a terminal are relative"


def test_what_is_stuck_or_set_aside_stands_out_and_says_what_to_do(looked_at: Project) -> None:
    code, written = on_a_terminal(looked_at, "invocation", "list")
    assert code == 0
    assert COLOUR.search(written)
    told = looked_at.agentctl("invocation", "list", "Bot").expect(0)
    rows = [line.split("\t") for line in told.out.splitlines()]
    assert [row[:3] for row in rows] == [
        ["Bot#1", "set_aside", "broken"],
        ["Bot#2", "stuck", "broken"],
    ]
    assert rows[0][5] == "agentctl requeue set-aside Bot 1"
    assert "KeyError" in rows[1][5]


def test_looking_changes_nothing(looked_at: Project) -> None:
    before = looked_at.tree()
    for words in LOOKS:
        looked_at.agentctl(*words).expect(0)
    assert looked_at.tree() == before


def test_a_probe_fails_on_what_needs_a_person_and_says_what(looked_at: Project) -> None:
    looked_at.agentctl("status").expect(0)
    looked_at.agentctl("status", "--check").expect_error(1, "1 event is stuck", "set aside")
    looked_at.agentctl("status", "--check", "--fail-on", "late").expect(0)
    told = looked_at.agentctl("status", "--check", "--json").expect(1)
    assert told.json["healthy"] is False
    assert told.error_json["code"] == 1


def test_beside_a_program_it_is_shown_with_what_it_runs(shop: Project) -> None:
    shop.environment["HANG_IN"] = "refund"
    program = shop.start_agentctl("invoke", "Bot", "request", "7")
    wait_until(lambda: shop.ledger("hanging") != [], "the call to hang")
    (agent,) = shop.agentctl("status", "--json").expect(0).json["agents"]
    assert agent["holder"]["pid"] == program.process.pid
    assert agent["holder"]["command"] == "agentctl invoke"
    assert agent["events"]["running"] == 1
    assert agent["warnings"] == []
    shown = shop.agentctl("invocation", "show", "Bot#1", "--json").expect(0).json
    assert (shown["status"], shown["calls"][0]["state"]) == ("running", "open")
    assert shown["calls"][0]["ended"] is None
    assert STAMP.fullmatch(shown["calls"][0]["at"])
    assert re.fullmatch(r"shop/world\.py:\d+", shown["calls"][0]["where"]), "where it hangs"
    assert "in Payments.refund, called " in shop.agentctl("invocation", "list").expect(0).out
    assert shop.agentctl("inspect", "lock").expect(0).out.split("\t")[1] == "held"
    program.cut_power()
    (agent,) = shop.agentctl("status", "--json").expect(0).json["agents"]
    assert agent["holder"] is None
    assert agent["events"] == {**dict.fromkeys(agent["events"], 0), "queued": 1}
    lock = shop.agentctl("inspect", "lock", "--json").expect(0).json["agents"][0]
    assert (lock["held"], lock["note"]["pid"]) == (False, program.process.pid)


def test_a_followed_journal_tells_what_happens_over_starts(shop: Project) -> None:
    follower = shop.start_agentctl("inspect", "journal", "Bot", "-f", "--format", "jsonl")
    shop.agentctl("invoke", "Bot", "request", "7").expect(0)
    shop.agentctl("invoke", "Bot", "request", "8").expect(0)
    wait_until(lambda: follower.out.count('"kind":"stop"') == 2, "both ends")
    follower.send(signal.SIGINT)
    assert follower.end().expect(0).err == ""
    lines = [json.loads(line) for line in follower.out.splitlines()]
    kinds = [line["kind"] for line in lines]
    assert kinds.count("event") == kinds.count("done") == 2
    assert kinds.count("ok") == 4
    assert {line["agent"] for line in lines} == {"Bot"}


def test_a_watched_list_is_drawn_anew_until_ctrl_c(looked_at: Project) -> None:
    child = pexpect.spawn(
        os.sys.executable,
        ["-m", "agentctl", "invocation", "list", "--watch"],
        cwd=str(looked_at.root),
        env={**looked_at.whole_environment(), "TERM": "xterm-256color"},
        dimensions=(40, 100),
        encoding="utf-8",
        timeout=20,
    )
    try:
        for _ in range(2):
            child.expect(re.escape("\x1b[H\x1b[2J"))
            child.expect("Bot#2")
        child.sendintr()
        child.expect(pexpect.EOF)
        child.wait()
    finally:
        child.close(force=True)
    assert child.exitstatus == 0
    assert "Traceback" not in child.before


def test_schemas_are_printed_one_or_all(project: Project) -> None:
    one = project.agentctl("schema", "status", "--json").expect(0).json
    assert one["$ref"] == "#/$defs/StatusDocument"
    every = project.agentctl("schema").expect(0)
    assert json.loads(every.out)["agentctl.status/1"] == one
    project.agentctl("schema", "staus").expect_error(3, "did you mean status?")


SECRETIVE = """
from agentctl import Agent, Secret, handler


class Bot(Agent):
    token: Secret[str] = Secret("none")

    @handler
    async def keep(self, token: Secret[str]) -> Secret[str]:
        self.token = token
        return token

    @handler
    async def lose(self, token: Secret[str]) -> None:
        raise KeyError("lost")
"""


@pytest.mark.parametrize("form", [(), ("--json",)], ids=str)
def test_p15_no_secret_is_shown_to_who_looks(project: Project, form: tuple[str, ...]) -> None:
    project.write("bot.py", SECRETIVE)
    project.write("kavach.toml", '[agents.Bot]\nclass = "bot:Bot"\n')
    project.agentctl("invoke", "Bot", "keep", "hunter2").expect(0)
    project.agentctl("invoke", "Bot", "lose", "hunter2").expect(1)
    assert "hunter2" in project.journal_path().read_text()
    for words in [*LOOKS[:2], ("invocation", "show", "Bot#2"), *LOOKS[3:]]:
        assert "hunter2" not in project.agentctl(*words, *form).expect(0).both
        assert "hunter2" not in on_a_terminal(project, *words, *form)[1]
    assert '"***"' in project.agentctl("agent", "show", "Bot").out
