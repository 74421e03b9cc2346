"""run and invoke, with an engine that does what the test says."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
from datetime import timedelta
from typing import Any

import pytest

from agentctl.cli.stopping import StopSignals
from agentctl.engines.port import Ended, Recovered
from agentctl.errors import DiskTrouble
from agentctl.names import Address

EVENT = Address("Bot", (), 1)


def ends(status: Any, **facts: Any) -> Any:
    return lambda event: Ended(event, "request", status, **facts)


def a_bug() -> Exception:
    try:
        exec(compile("{}['total']", "/srv/shop/bot.py", "exec"), {})
    except KeyError as error:
        return error
    raise AssertionError


def test_the_result_stands_alone_on_stdout(command: Any, engine: Any) -> None:
    engine.ends = ends("completed", result=b'"r7"')
    ran = command("invoke", "Bot", "request", "7")
    assert (ran.code, ran.out) == (0, '"r7"\n')
    assert ran.err == "the user's module prints\n"
    assert engine.wanted[0].args == b"[7]"
    assert engine.stopped


def test_the_result_for_a_program(command: Any, engine: Any) -> None:
    engine.ends = ends("completed", result=b'"r7"')
    assert command("invoke", "Bot", "request", "7", "--json").out == (
        '{"schema":"agentctl.invoke/1","event":"Bot#1","handler":"request","key":null,'
        '"status":"completed","result":"r7"}\n'
    )
    engine.ends = ends("completed", result=None)
    assert command("invoke", "Bot", "request", "7").out == "null\n"


@pytest.mark.parametrize(
    ("words", "args", "kwargs"),
    [
        (("echo", "7"), ["7"], None),
        (("echo", "text=a=b"), [], {"text": "a=b"}),
        (("echo", "other=b"), ["other=b"], None),
        (("echo", "--", "--json"), ["--json"], None),
        (("echo", "--args", '["x"]'), ["x"], None),
        (("echo", "--args", '{"text":"x"}'), [], {"text": "x"}),
        (("request", "--", "-5"), [-5], None),
    ],
    ids=str,
)
def test_arguments_are_read_by_the_annotations(
    command: Any, engine: Any, words: tuple[str, ...], args: Any, kwargs: Any
) -> None:
    engine.ends = ends("completed")
    assert command("invoke", "Bot", *words).code == 0
    (wanted,) = engine.wanted
    named = None if wanted.kwargs is None else json.loads(wanted.kwargs)
    assert (json.loads(wanted.args), named) == (args, kwargs)


@pytest.mark.parametrize(
    ("words", "code"),
    [(("request", "abc"), 2), (("request",), 2), (("request", "1", "2"), 2), (("reqest", "7"), 3)],
    ids=str,
)
def test_nothing_is_accepted_if_it_does_not_fit(
    command: Any, engine: Any, words: tuple[str, ...], code: int
) -> None:
    ran = command("invoke", "Bot", *words)
    assert ran.code == code
    assert engine.requests == []


def test_a_failed_event_gives_1_and_its_error(command: Any, engine: Any) -> None:
    engine.ends = ends("failed", type="shop.Declined", text="no order")
    ran = command("invoke", "Bot", "request", "7", "-q")
    assert (ran.code, ran.out) == (1, "")
    assert "error: Bot#1 failed\n  shop.Declined: no order\nhint: " in ran.err
    ran = command("invoke", "Bot", "request", "7", "--json")
    document = json.loads(ran.err.splitlines()[-1])
    assert document["status"] == "failed"
    assert document["type"] == "shop.Declined"


def test_a_stuck_event_shows_the_users_frames(command: Any, engine: Any) -> None:
    bug = a_bug()
    engine.ends = ends("stuck", text="KeyError: 'total'", line="shop/bot.py:1", error=bug)
    ran = command("invoke", "Bot", "request", "7")
    assert ran.code == 1
    assert '  File "/srv/shop/bot.py", line 1' in ran.err
    assert "runs again at the next start" in ran.err


def test_each_other_end_has_its_code(command: Any, engine: Any) -> None:
    engine.ends = ends("stuck", text="another call", divergence=True)
    assert command("invoke", "Bot", "request", "7").code == 6


def test_a_timeout_gives_124_and_says_that_the_event_goes_on(command: Any, engine: Any) -> None:
    ran = command("invoke", "Bot", "request", "7", "--timeout", "10ms")
    assert ran.code == 124
    assert "goes on at the next start" in ran.err
    assert engine.stopped


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_invoke_stops_gracefully(command: Any, engine: Any, number: int) -> None:
    engine.during = lambda: os.kill(os.getpid(), number)
    ran = command("invoke", "Bot", "request", "7")
    assert ran.code == 128 + number
    assert engine.stopped
    assert "Bot#1" in ran.err


def test_a_failing_disk_gives_74(command: Any, engine: Any) -> None:
    engine.error = DiskTrouble("the journal can't be written: no space")
    for words in (("invoke", "Bot", "request", "7"), ("run",)):
        ran = command(*words)
        assert ran.code == 74
        assert "no space" in ran.err


def test_run_says_what_it_recovered_and_where_to_look(command: Any, engine: Any) -> None:
    engine.found = [
        Recovered("Bot", "/srv", [EVENT], [Address("Bot", (), 2)], [], "half a line"),
        Recovered(
            "Dave",
            "/srv",
            [Address("Dave", (), number) for number in range(1, 5)],
            [],
            [],
            None,
            new=[Address("Dave", (), number) for number in range(2, 5)],
        ),
        Recovered("Clerk", "/srv", [], [], [(Address("Clerk", (), 3), "no handler")], None),
    ]
    ran = command("run", "--until-idle")
    assert ran.code == 0
    for said in (
        "Bot: 1 unfinished event runs again (Bot#1); see: agentctl inspect journal Bot",
        "Dave: 1 unfinished event runs again (Dave#1), 3 events have yet to begin (Dave#2, Dave#3,",
        "agentctl requeue set-aside Bot 2",
        "cut off: half a line",
        "Clerk#3 is stuck: no handler",
    ):
        assert said in ran.err
    assert ran.out == "the user's module prints\n", "run leaves stdout to the user's code"


def test_run_until_idle_gives_1_if_something_is_stuck(command: Any, engine: Any) -> None:
    engine.stuck = [EVENT]
    ran = command("run", "--until-idle")
    assert ran.code == 1
    assert "error: an event is stuck\n  Bot#1 " in ran.err


def test_a_signal_ends_run_gracefully_with_0(command: Any, engine: Any) -> None:
    engine.during = lambda: os.kill(os.getpid(), signal.SIGTERM)
    ran = command("run", "--until-idle")
    assert ran.code == 0
    assert engine.stopped


def test_run_overrides_settings(command: Any, engine: Any) -> None:
    command("run", "--until-idle", "--grace", "none", "--concurrency", "3", "--lock-wait", "1s")
    overridden = engine.options["overrides"].on(engine.options["agents"][0].settings)
    assert (overridden.grace, overridden.concurrency) == (None, 3)
    assert engine.options["lock_wait_s"] == 1.0
    command("run", "--until-idle=0s", env={"AGENTCTL_GRACE": "9s"})
    command("run", "--until-idle")
    overridden = engine.options["overrides"].on(engine.options["agents"][0].settings)
    assert overridden.grace == timedelta(seconds=5)


def heard(engine: Any) -> None:
    listener = engine.listener
    listener.started(EVENT, "request", again=True)
    listener.called("Bot-1-1", "Payments.refund")
    listener.ended(Ended(EVENT, "request", "completed"), heard=False)
    listener.ended(Ended(EVENT, "request", "failed", type="T", text="t"), heard=False)
    logging.getLogger("shop").info("the user's own line")


def test_run_tells_a_line_for_each_event(command: Any, engine: Any) -> None:
    engine.during = lambda: heard(engine)
    err = command("run", "--until-idle").err
    said = [line.split(" ", 1)[1] for line in err.splitlines()]
    assert "Bot#1 runs again: request" in said
    assert "Bot#1 completed" in said
    assert "warning: Bot#1 failed: T: t" in said
    assert "shop: the user's own line" in said
    assert "Bot-1-1" not in err
    assert "Bot-1-1 Payments.refund" in command("run", "--until-idle", "-v").err
    quiet = command("run", "--until-idle", "-q").err
    assert "completed" not in quiet
    assert "failed" in quiet


def test_run_tells_json_lines(command: Any, engine: Any) -> None:
    engine.during = lambda: heard(engine)
    err = command("run", "--until-idle", "--log-format", "json", "-v").err
    lines = [json.loads(line) for line in err.splitlines()]
    call = next(line for line in lines if line["message"] == "Bot-1-1 Payments.refund")
    assert (call["agent"], call["event"], call["call"]) == ("Bot", "Bot#1", "Bot-1-1")
    assert {line["level"] for line in lines} >= {"info", "warning", "debug"}


def test_invoke_is_silent_about_its_own_event_and_not_about_others(
    command: Any, engine: Any
) -> None:
    other = Address("Bot", (), 9)

    def during() -> None:
        engine.listener.started(EVENT, "request", again=False)
        engine.listener.ended(Ended(EVENT, "request", "completed"), heard=True)
        engine.listener.ended(Ended(other, "request", "stuck", text="KeyError"), heard=True)

    engine.during, engine.ends = during, ends("completed")
    err = command("invoke", "Bot", "request", "7").err
    assert "Bot#1" not in err
    assert "Bot#9 is stuck: KeyError" in err


def test_a_missed_event_is_told_as_missed_and_never_as_stuck(command: Any, engine: Any) -> None:
    late = Ended(Address("Bot", (), 9), "request", "missed", text="it was due 2h ago")
    engine.during = lambda: engine.listener.ended(late, heard=True)
    engine.ends = ends("completed")
    err = command("invoke", "Bot", "request", "7").err
    assert "Bot#9 was missed: it was due 2h ago" in err
    assert "stuck" not in err


class Ended_(BaseException):
    pass


async def signalled() -> None:
    codes: list[int] = []

    def end(code: int) -> Any:
        codes.append(code)
        raise Ended_

    signals = StopSignals(end)
    with pytest.raises(Ended_):
        signals._came(signal.SIGINT, None)
    assert codes == [130], "before anything runs, the first one ends it"

    signals, asked, begun = StopSignals(end), asyncio.Event(), [False]
    signals.serve(lambda: begun[0], asked, timedelta(0))
    with pytest.raises(Ended_):
        signals._came(signal.SIGHUP, None)
    assert codes == [130, 129], "as long as no folder is held, the first one ends it"

    signals, begun[0] = StopSignals(end), True
    signals.serve(lambda: begun[0], asked, timedelta(0))
    signals._came(signal.SIGINT, None)
    await asyncio.wait_for(asked.wait(), 5)
    with pytest.raises(Ended_):
        signals._came(signal.SIGTERM, None)
    assert codes == [130, 129, 143]


def test_a_second_signal_ends_at_once() -> None:
    asyncio.run(signalled())
