"""What the commands about schedules say on the side, and refuse: of the file, of single ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentctl.engines.schedules import Scheduled
from agentctl.names import Address

from .desks import HOUR_US, view
from .journals import AT, FAR, HEADER, STAMP, write

FILED = """
[schedules.hourly]
agent = "Bot"
handler = "request"
args = [7]
every = "1h"

[schedules.over]
agent = "Bot"
handler = "request"
at = 2001-01-01T00:00:00Z

[schedules.off]
agent = "Bot"
handler = "request"
every = "1h"
enabled = false
"""


def filed(command: Any, text: str = FILED) -> None:
    """Add schedules to the project's file."""
    file = command.folder / "kavach.toml"
    file.write_text(file.read_text() + text)


def test_what_the_file_has_and_no_start_has_set_is_said(command: Any, desk: Any) -> None:
    filed(command)
    ran = command("schedule", "list")
    assert (ran.code, ran.out) == (0, "")
    note = "kavach.toml has 1 schedule that isn't set yet (hourly): agentctl run sets it\n"
    assert ran.err == f"nothing is scheduled\n{note}"
    desk.scheduled = [view("hourly", source="shell")]
    assert command("schedule", "list").err == ""


def test_what_is_gone_from_the_file_is_said(command: Any, desk: Any) -> None:
    desk.scheduled = [view("still", source="file"), view("mine")]
    said = "1 schedule that kavach.toml no longer has (still) is cancelled by the next run\n"
    assert command("schedule", "list").err == said


def test_one_number_written_in_two_ways_is_one_instance(command: Any, desk: Any) -> None:
    filed(command, FILED.replace("args = [7]\n", 'instances = ["07", "8"]\n'))
    desk.scheduled = [view("hourly", instance=Address("Bot", ("7",)), source="file")]
    assert command("schedule", "list").err == (
        "kavach.toml has 1 schedule that isn't set yet (Bot/8 hourly): agentctl run sets it\n"
    )
    assert command("schedule", "list", "Bot/7").err == ""


@pytest.mark.parametrize("verb", ["show", "pause", "unpause", "trigger"])
def test_who_asks_for_one_that_only_the_file_has_is_told(
    command: Any, desk: Any, verb: str
) -> None:
    filed(command)
    ran = command("schedule", verb, "Bot", "hourly")
    assert ran.code == 3
    assert "kavach.toml has it, and it isn't set yet: agentctl run Bot sets it" in ran.err
    assert "kavach.toml" not in command("schedule", verb, "Bot", "off").err


SET = ("schedule", "set", "Bot", "request", "7", "--name", "x")


@pytest.mark.parametrize(
    ("late", "said"),
    [
        ((), "its time has passed: it begins at once\n"),
        (("--max-late", "99999d"), "its time has passed: it begins at once\n"),
        (("--max-late", "1h"), "its time has passed by more than --max-late: it is missed\n"),
    ],
)
def test_what_has_passed_begins_at_once_unless_it_is_too_late(
    command: Any, desk: Any, code: None, engine: Any, late: tuple[str, ...], said: str
) -> None:
    ran = command(*SET, "--at", "2025-11-30T10:53:20Z", *late)
    assert (ran.code, ran.err.splitlines(keepends=True)[0]) == (0, said)


def test_what_is_due_once_has_no_policies_of_many(command: Any, desk: Any) -> None:
    desk.scheduled = [view(), view("once", period_us=None, late_us=HOUR_US)]
    rows = [
        [line.split("\t")[0] for line in command("schedule", "show", "Bot", name).out.splitlines()]
        for name in ("report", "once")
    ]
    assert {"missed", "overlap"} & {*rows[0]} == {"missed", "overlap"}
    assert {"missed", "overlap", "jitter", "max late"} & {*rows[1]} == {"max late"}


def test_when_a_cron_expression_is_due_is_told_by_its_zones_clocks(
    command: Any, desk: Any, code: None, engine: Any
) -> None:
    desk.answered = Scheduled("Bot", "x", 1_796_630_400_000_000)
    ran = command(*SET, "--cron", "0 9 * * 1", "--tz", "Europe/Berlin")
    assert ran.out == "Bot x due 2026-12-07T08:00:00.000000Z\n"
    assert ran.err.startswith("that is Mon 2026-12-07 09:00 in Europe/Berlin\n")


def test_a_paused_schedule_is_due_only_if_it_is_unpaused(
    command: Any, desk: Any, terminal: Callable[..., Any]
) -> None:
    stream = terminal(80)
    for paused in (False, True):
        desk.scheduled = [view(paused=paused)]
        assert command("schedule", "show", "Bot", "report", "--color", "never").code == 0
        shown = [line.split() for line in stream.getvalue().splitlines()]
        assert (["due", "paused"] in shown) is paused
        assert (["if", "unpaused", "now:"] in shown) is paused


EVENT = b'{"event":%d,"handler":"request","args":[7],"nonce":"00000000000000aa","at":%d,%s}'
ONE = b'{"schedule":"report","handler":"request","args":[7],"due":%d,"period":3600000000,"at":1}'


def test_an_event_tells_which_schedule_made_it_and_when_it_was_due(command: Any) -> None:
    fired = b'"schedule":"report","occurrence":%d,"next":%d' % (AT, FAR)
    beside = b'"schedule":"report","occurrence":%d,"beside":true' % (AT + 1)
    events = (fired, beside, b'"due":%d' % AT, b'"missed":0')
    lines = [EVENT % (number, AT + 2, more) for number, more in enumerate(events, start=1)]
    write(command.folder, [HEADER, ONE % AT, *lines])
    rows = [command("invocation", "show", f"Bot#{number}").out for number in (1, 2, 3, 4)]
    assert f"schedule\treport, due {STAMP}\n" in rows[0]
    assert "schedule\treport, triggered\n" in rows[1]
    assert "schedule\t" not in rows[2] + rows[3]
    listed = command("invocation", "list", "--json").json["invocations"]
    shown = [
        command("invocation", "show", f"Bot#{number}", "--json").json for number in (1, 2, 3, 4)
    ]
    for documents in (listed, shown):
        assert [(one["schedule"], one["due"]) for one in documents] == [
            ("report", STAMP),
            ("report", None),
            (None, STAMP),
            (None, None),
        ]
