"""A person's ways out of a set-aside: put it back, start it anew, or drop it for good."""

from __future__ import annotations

import json

from .support import CRASH, Project


def fix(shop: Project) -> None:
    shop.edit("shop/bot.py", 'totals["total"]', 'totals["sum"]')


def aside_numbers(shop: Project) -> list[int]:
    lines = [json.loads(line) for line in shop.set_aside()]
    return [line["event"] for line in lines if "event" in line]


def test_requeue_puts_the_only_event_back_with_its_recorded_calls(one_aside: Project) -> None:
    told = one_aside.agentctl("requeue", "set-aside", "Bot").expect(0)
    assert told.out == "requeued Bot#1\n"
    assert one_aside.set_aside() == []
    fix(one_aside)
    one_aside.agentctl("run", "--until-idle").expect(0)
    assert len(one_aside.ledger("refund")) == 1, "a refund that was paid was paid again"
    assert any(line.startswith("Bot requeued: event #1") for line in one_aside.audit())
    assert any(line.startswith("Bot completed: event #1") for line in one_aside.audit())


def test_requeue_in_json(one_aside: Project) -> None:
    told = one_aside.agentctl("requeue", "set-aside", "Bot", "--json").expect(0)
    assert told.out == (
        '{"schema":"agentctl.requeue/1","events":[{"event":"Bot#1","fresh":false,"was":null}]}\n'
    )


def test_a_requeued_event_starts_with_a_count_of_zero(one_aside: Project) -> None:
    one_aside.agentctl("requeue", "set-aside", "Bot").expect(0)
    one_aside.agentctl("run", "--until-idle").expect(1)
    assert one_aside.set_aside() == [], "set aside again after one start of two"
    one_aside.until_set_aside(1)
    assert aside_numbers(one_aside) == [1]


def test_a_requeued_event_survives_a_crash_before_it_ran(one_aside: Project) -> None:
    one_aside.agentctl("requeue", "set-aside", "Bot").expect(0)
    fix(one_aside)
    dies = {"DIE_IN": "refund"}
    one_aside.agentctl("invoke", "Bot", "request", "8", env=dies).expect(CRASH)
    one_aside.agentctl("run", "--until-idle").expect(0)
    assert len(one_aside.ledger("refund 7")) == 1
    assert any(line.startswith("Bot completed: event #1") for line in one_aside.audit())


def test_requeue_fresh_is_a_new_event_with_new_keys(one_aside: Project) -> None:
    told = one_aside.agentctl("requeue", "set-aside", "Bot", "--fresh").expect(0)
    assert told.out == "requeued Bot#2\n"
    assert "Payments.refund" in told.err, "does not say which call may happen twice"
    assert one_aside.set_aside() == []
    fix(one_aside)
    one_aside.agentctl("run", "--until-idle").expect(0)
    keys = [tuple(line.split()[1:3]) for line in one_aside.ledger("refund")]
    assert keys == [("7", "Bot-1-1"), ("7", "Bot-2-1")]


def test_requeue_fresh_in_json_says_what_it_was(one_aside: Project) -> None:
    told = one_aside.agentctl("requeue", "set-aside", "Bot", "--fresh", "--json").expect(0)
    assert told.json["events"] == [{"event": "Bot#2", "fresh": True, "was": "Bot#1"}]


def test_requeue_fresh_with_other_arguments(one_aside: Project) -> None:
    command = ("requeue", "set-aside", "Bot", "1", "--fresh", "--args")
    one_aside.agentctl(*command, "[8]").expect(0)
    fix(one_aside)
    one_aside.agentctl("run", "--until-idle").expect(0)
    assert [line.split()[1] for line in one_aside.ledger("refund")] == ["7", "8"]


def test_requeue_refuses_arguments_that_do_not_fit(one_aside: Project) -> None:
    before = one_aside.tree()
    command = ("requeue", "set-aside", "Bot", "--fresh", "--args")
    one_aside.agentctl(*command, '["x"]').expect_error(2, "order_id")
    one_aside.agentctl(*command, "[8").expect_error(2)
    assert one_aside.tree() == before


def test_arguments_edited_by_hand_need_fresh(one_aside: Project) -> None:
    path = one_aside.folder() / "set-aside"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"args":[7]}', '"args":[8]}', 1), encoding="utf-8")
    refused = one_aside.agentctl("requeue", "set-aside", "Bot")
    assert refused.code in {2, 4}
    refused.expect_error(refused.code, "--fresh")
    assert aside_numbers(one_aside) == [1]
    one_aside.agentctl("requeue", "set-aside", "Bot", "--fresh").expect(0)
    fix(one_aside)
    one_aside.agentctl("run", "--until-idle").expect(0)
    assert one_aside.ledger("refund 8"), "the edited argument was not used"


def test_requeue_dry_run_changes_nothing(two_aside: Project) -> None:
    before = two_aside.tree()
    told = two_aside.agentctl("requeue", "set-aside", "Bot", "--all", "--dry-run").expect(0)
    assert "Bot#1" in told.both
    assert "Bot#2" in told.both
    assert two_aside.tree() == before


def test_requeue_with_several_asks_which(two_aside: Project) -> None:
    before = two_aside.tree()
    refused = two_aside.agentctl("requeue", "set-aside", "Bot")
    refused.expect_error(2, "Bot#1", "Bot#2", "--all")
    assert two_aside.tree() == before


def test_requeue_takes_the_event_that_is_named(two_aside: Project) -> None:
    told = two_aside.agentctl("requeue", "set-aside", "Bot", "2").expect(0)
    assert told.out == "requeued Bot#2\n"
    assert aside_numbers(two_aside) == [1]


def test_requeue_all(two_aside: Project) -> None:
    told = two_aside.agentctl("requeue", "set-aside", "Bot", "--all").expect(0)
    assert told.out == "requeued Bot#1\nrequeued Bot#2\n"
    fix(two_aside)
    two_aside.agentctl("run", "--until-idle").expect(0)
    completed = [line for line in two_aside.audit() if line.startswith("Bot completed:")]
    assert len(completed) == 2
    assert len(two_aside.ledger("refund")) == 2


def test_requeue_with_none_exits_with_3(finished_shop: Project) -> None:
    finished_shop.agentctl("requeue", "set-aside", "Bot").expect_error(3, "Bot")


def test_requeue_of_an_event_that_is_not_there_exits_with_3(one_aside: Project) -> None:
    before = one_aside.tree()
    one_aside.agentctl("requeue", "set-aside", "Bot", "9").expect_error(3, "9")
    assert one_aside.tree() == before


def test_requeue_twice_exits_with_3(one_aside: Project) -> None:
    one_aside.agentctl("requeue", "set-aside", "Bot", "1").expect(0)
    one_aside.agentctl("requeue", "set-aside", "Bot", "1").expect_error(3, "1")


def test_drop_removes_an_event_for_good(two_aside: Project) -> None:
    command = ("set-aside", "drop", "Bot", "1", "--reason", "paid by hand", "--yes")
    two_aside.agentctl(*command).expect(0)
    assert aside_numbers(two_aside) == [2]
    dropped = [line for line in two_aside.audit() if line.startswith("Bot dropped: event #1")]
    assert len(dropped) == 1
    assert "paid by hand" in dropped[0]
    two_aside.agentctl("requeue", "set-aside", "Bot", "1").expect_error(3)
    fix(two_aside)
    two_aside.agentctl("run", "--until-idle").expect(0)
    assert aside_numbers(two_aside) == [2]
    next_one = two_aside.agentctl("invoke", "--json", "Bot", "nothing").expect(0)
    assert next_one.json["event"] == "Bot#3"


def test_drop_needs_a_reason(one_aside: Project) -> None:
    before = one_aside.tree()
    one_aside.agentctl("set-aside", "drop", "Bot", "1", "--yes").expect_error(2, "--reason")
    assert one_aside.tree() == before


def test_drop_of_an_event_that_is_not_there_exits_with_3(one_aside: Project) -> None:
    command = ("set-aside", "drop", "Bot", "9", "--reason", "x", "--yes")
    one_aside.agentctl(*command).expect_error(3, "9")


def test_a_set_aside_file_of_any_bytes_never_gives_a_traceback(one_aside: Project) -> None:
    path = one_aside.folder() / "set-aside"
    for content in (b"\0\xff\n", b"[]\n", b'{"event":"x"}\n', b'{"event":1}', b"{" * 2000):
        path.write_bytes(content)
        for command in (("inspect", "set-aside", "Bot"), ("requeue", "set-aside", "Bot", "1")):
            told = one_aside.agentctl(*command)
            assert told.code in {0, 2, 3, 4, 6}, told.both
            assert "Traceback" not in told.err
