"""`agentctl invoke`: arguments by annotation, the result as JSON on stdout, all else on stderr."""

from __future__ import annotations

import re

import pytest

from .support import CRASH, Project, find_key


def test_the_result_is_json_on_stdout_and_prints_go_to_stderr(shop: Project) -> None:
    told = shop.agentctl("invoke", "Bot", "request", "7").expect(0)
    assert told.out == '"r7"\n'
    assert "[pay] refund 7, key Bot-1-1\n" in told.err
    assert "[email] order 7: r7\n" in told.err


@pytest.mark.parametrize(
    ("args", "out"),
    [
        (("echo", "7"), '"7"'),
        (("echo", "true"), '"true"'),
        (("echo", '"quoted"'), '"\\"quoted\\""'),
        (("echo", "[1]"), '"[1]"'),
        (("echo", "é🙂"), '"é🙂"'),
        (("echo", ""), '""'),
        (("echo", "two words"), '"two words"'),
        (("nothing",), "null"),
        (("total", "[1,2,3]"), "6"),
        (("total", "[1,2,3]", "true"), "12"),
        (("total", "[1,2,3]", "double=true"), "12"),
        (("total", "numbers=[1,2]"), "3"),
        (("describe", "x", "3"), "\"'x' 3 0.5 False\""),
        (("describe", "x", "3", "1.25", "on=true"), "\"'x' 3 1.25 True\""),
        (("describe", "count=3", "text=3"), "\"'3' 3 0.5 False\""),
        (("echo", "--", "-x"), '"-x"'),
        (("echo", "--", "--json"), '"--json"'),
        (("request", "--", "-7"), '"r-7"'),
    ],
)
def test_arguments_follow_the_annotations(shop: Project, args: tuple[str, ...], out: str) -> None:
    assert shop.agentctl("invoke", "Bot", *args).expect(0).out == out + "\n"


@pytest.mark.parametrize(
    ("args", "stdin", "out"),
    [
        (("describe", "--args", '["x", 3]'), None, "\"'x' 3 0.5 False\""),
        (("total", "--args", "@args.json"), None, "6"),
        (("total", "--args", "-"), "[[4, 5]]", "9"),
        (("describe", "--args", '{"text": "x", "count": 3}'), None, "\"'x' 3 0.5 False\""),
    ],
    ids=["inline", "file", "stdin", "object"],
)
def test_arguments_as_one_json(
    shop: Project, args: tuple[str, ...], stdin: str | None, out: str
) -> None:
    shop.write("args.json", "[[1, 2, 3]]\n")
    told = shop.agentctl("invoke", "Bot", *args, stdin=stdin).expect(0)
    assert told.out == out + "\n"


@pytest.mark.parametrize("where", ["before", "after"])
def test_the_json_form_is_exact(shop: Project, where: str) -> None:
    words = ("invoke", "Bot", "request", "7")
    told = shop.agentctl(*(("--json", *words) if where == "before" else (*words, "--json")))
    assert told.expect(0).out == (
        '{"schema":"agentctl.invoke/1","event":"Bot#1","handler":"request","key":null,'
        '"status":"completed","result":"r7"}\n'
    )


def test_a_failed_handler_exits_with_1_and_three_lines(shop: Project) -> None:
    failed = shop.agentctl("invoke", "Bot", "request", "7", env={"DECLINE": "1"})
    failed.expect_error(1, "card expired", "Bot#1")
    assert failed.out == ""
    assert len(shop.ledger("refund")) == 1


def test_a_failed_handler_in_json(shop: Project) -> None:
    failed = shop.agentctl("invoke", "Bot", "request", "7", "--json", env={"DECLINE": "1"})
    assert failed.expect(1).out == ""
    error = failed.error_json
    assert (error["code"], error["event"], error["status"]) == (1, "Bot#1", "failed")
    assert error["type"] == "shop.bot.Declined"
    assert "card expired" in error["error"] + error["detail"]
    assert set(error) >= {"schema", "code", "error", "detail", "hint"}
    assert not any(line.startswith("error: ") for line in failed.err.splitlines())


def test_a_bug_shows_the_users_own_traceback_and_nothing_of_ours(shop: Project) -> None:
    stuck = shop.agentctl("invoke", "Bot", "broken", "7").expect(1)
    assert stuck.out == ""
    assert "KeyError: 'total'" in stuck.err
    assert "bot.py" in stuck.err
    assert "stuck" in stuck.err


def test_a_bug_in_json(shop: Project) -> None:
    stuck = shop.agentctl("invoke", "--json", "Bot", "broken", "7").expect(1)
    assert stuck.error_json["status"] == "stuck"
    assert stuck.error_json["event"] == "Bot#1"
    assert any(record.get("bug") == 1 for record in shop.records())


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (("request", "seven"), "order_id"),
        (("request", "7.5"), "order_id"),
        (("request", '"7"'), "order_id"),
        (("request", "null"), "order_id"),
        (("request",), "order_id"),
        (("request", "7", "8"), "request"),
        (("request", "order=7"), "order_id"),
        (("request", "7", "order_id=7"), "order_id"),
        (("total", "[1,"), "numbers"),
        (("total", '[1,"x"]'), "numbers"),
        (("nothing", "1"), "nothing"),
        (("describe", "--args", "[1"), "args"),
        (("describe", "--args", '["x"]'), "count"),
        (("describe", "--args", "7"), "args"),
        (("describe", "--args", "@no-such-file"), "no-such-file"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else None,
)
def test_arguments_that_do_not_fit_are_refused_and_nothing_is_accepted(
    finished_shop: Project, args: tuple[str, ...], word: str
) -> None:
    before = finished_shop.journal_path().read_bytes()
    finished_shop.agentctl("invoke", "Bot", *args).expect_error(2, word)
    assert finished_shop.journal_path().read_bytes() == before, "something was accepted"
    assert len(finished_shop.ledger()) == 2


def test_arguments_that_do_not_fit_leave_no_event_in_a_fresh_folder(shop: Project) -> None:
    shop.agentctl("invoke", "Bot", "request", "seven").expect_error(2, "order_id", "seven")
    assert shop.agentctl("invoke", "--json", "Bot", "nothing").expect(0).json["event"] == "Bot#1"


def test_refused_arguments_in_json(shop: Project) -> None:
    refused = shop.agentctl("invoke", "--json", "Bot", "request", "seven").expect(2)
    assert refused.error_json["code"] == 2
    assert refused.out == ""


@pytest.mark.parametrize(
    ("words", "code", "suggestion"),
    [
        (("invoke", "Bott", "request", "7"), 3, "Bot"),
        (("invoke", "Bot", "reqest", "7"), 3, "request"),
        (("invoke", "Bot", "request", "7", "--jsn"), 2, "--json"),
        (("invok", "Bot", "request", "7"), 2, "invoke"),
        (("inspect", "jurnal", "Bot"), 2, "journal"),
        (("inspect", "journal", "Bott"), 3, "Bot"),
        (("requeue", "set-aside", "Bott"), 3, "Bot"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else None,
)
def test_unknown_names_suggest_the_nearest(
    finished_shop: Project, words: tuple[str, ...], code: int, suggestion: str
) -> None:
    before = finished_shop.tree()
    refused = finished_shop.agentctl(*words)
    refused.expect_error(code)
    assert re.search(rf"(?<![\w-]){suggestion}(?![\w-])", refused.err), "no suggestion"
    assert finished_shop.tree() == before


def test_a_method_that_is_no_handler_cannot_be_invoked(shop: Project) -> None:
    shop.agentctl("invoke", "Bot", "payments").expect_error(3, "payments")
    shop.agentctl("invoke", "Bot", "__init__").expect_error(3, "__init__")


def test_invoke_recovers_what_was_unfinished_first(shop: Project) -> None:
    shop.agentctl("invoke", "Bot", "request", "7", env={"DIE_IN": "send"}).expect(CRASH)
    told = shop.agentctl("invoke", "Bot", "request", "8").expect(0)
    assert told.out == '"r8"\n'
    assert len(shop.ledger("refund 7")) == 1
    assert "send Bot-1-2 order 7: r7" in shop.ledger("send")[1:]


STATEFUL = """
from __future__ import annotations

from agentctl import Agent, AgentError, handler, query


class Counter(Agent):
    name: str
    count: int = 0
    seen: list[str] = []

    @handler
    async def add(self, what: str) -> int:
        self.count += 1
        self.seen.append(what)
        if what == "broken":
            raise KeyError(what)
        return self.count

    @query
    async def health(self) -> int:
        return self.count

    @query
    async def share(self, of: int) -> float:
        return self.count / of

    @query
    async def checked(self) -> int:
        raise Unwell("the counter is unwell")


class Unwell(AgentError):
    pass
"""


@pytest.fixture
def counters(project: Project) -> Project:
    project.write("counter.py", STATEFUL)
    project.write(
        "kavach.toml", '[project]\nname = "c"\n[agents.Counter]\nclass = "counter:Counter"\n'
    )
    return project


@pytest.mark.parametrize("address", ['Counter("eu/7")', "Counter/eu%2F7"])
def test_an_instance_is_addressed_in_either_form(counters: Project, address: str) -> None:
    assert counters.agentctl("invoke", address, "add", "a").expect(0).out == "1\n"
    assert counters.agentctl("invoke", "Counter/eu%2F7", "add", "b").expect(0).out == "2\n"
    assert counters.agentctl("invoke", "Counter/us", "add", "c").expect(0).out == "1\n"


def test_state_is_committed_with_the_end_or_not_at_all(counters: Project) -> None:
    counters.agentctl("invoke", "Counter/eu", "add", "a").expect(0)
    counters.agentctl("invoke", "Counter/eu", "add", "broken").expect(1)
    assert counters.agentctl("invoke", "Counter/eu", "health").expect(0).out == "1\n"


def test_a_query_is_no_event(counters: Project) -> None:
    counters.agentctl("invoke", "Counter/eu", "add", "a").expect(0)
    counters.agentctl("invoke", "Counter/eu", "health").expect(0)
    second = counters.agentctl("invoke", "--json", "Counter/eu", "add", "b").expect(0)
    assert second.json["event"].endswith("#2"), "reading was counted as an event"


def test_a_query_that_raises_is_the_users_to_mend(counters: Project) -> None:
    told = counters.agentctl("invoke", "Counter/eu", "share", "0").expect(1)
    assert 'counter.py", line' in told.err
    assert "error: the query failed\n  Counter.share: ZeroDivisionError" in told.err
    unwell = counters.agentctl("invoke", "Counter/eu", "checked").expect(1)
    assert "error: the query failed" in unwell.err
    assert "the counter is unwell" in unwell.err
    document = counters.agentctl("invoke", "Counter/eu", "share", "0", "--json").expect(1)
    assert document.error_json["error"] == "the query failed"


def test_an_agent_with_identity_needs_one(counters: Project) -> None:
    refused = counters.agentctl("invoke", "Counter", "add", "a")
    assert refused.code in {2, 3}
    refused.expect_error(refused.code, "name")


def test_inspect_state_shows_each_instance(counters: Project) -> None:
    counters.agentctl("invoke", "Counter/eu", "add", "a").expect(0)
    counters.agentctl("invoke", "Counter/us", "add", "b").expect(0)
    text = counters.agentctl("inspect", "state", "Counter").expect(0).out
    assert "Counter/eu" in text
    assert "Counter/us" in text
    document = counters.agentctl("inspect", "state", "Counter", "--json").expect(0).json
    assert document["schema"] == "agentctl.state/1"
    assert find_key(document, "count") == [1, 1]
    assert sorted(find_key(document, "seen")) == [["a"], ["b"]]
