"""`agentctl run`: recovers, serves, and stops without losing anything or counting it as a death."""

from __future__ import annotations

import signal
import time

import pytest

from .support import CRASH, Project, Running, wait_until


def test_run_until_idle_ends_when_there_is_nothing_to_do(shop: Project) -> None:
    shop.agentctl("run", "--until-idle", timeout=10).expect(0)


def test_run_finishes_what_was_cut_off_and_tells_of_it(shop: Project) -> None:
    shop.agentctl("invoke", "Bot", "request", "7", env={"DIE_IN": "send"}).expect(CRASH)
    told = shop.agentctl("run", "--until-idle").expect(0)
    assert "Bot#1" in told.both, "run does not name the event that it recovered"
    assert shop.ledger("send")[-1] == "send Bot-1-2 order 7: r7"


def test_run_only_the_agents_that_are_named(shop: Project) -> None:
    second = '[agents.Clerk]\nclass = "clerk:Clerk"\n'
    shop.write("clerk.py", CLERK)
    shop.write("kavach.toml", (shop.root / "kavach.toml").read_text() + second)
    shop.agentctl("run", "Clerk", "--until-idle").expect(0)
    assert not shop.journal_path("Bot").exists()
    assert (shop.folder("Clerk") / "lock").exists()


CLERK = """
from agentctl import Agent, handler


class Clerk(Agent):
    @handler
    async def go(self) -> str:
        return "here"
"""


def test_run_until_idle_with_a_stuck_event_exits_with_1(shop: Project) -> None:
    shop.agentctl("invoke", "Bot", "broken", "7").expect(1)
    told = shop.agentctl("run", "--until-idle").expect(1)
    assert "KeyError" in told.err
    assert len(shop.ledger("refund")) == 1, "a recorded call was made again"


def test_a_stuck_event_is_finished_by_a_fixed_program(shop: Project) -> None:
    shop.agentctl("invoke", "Bot", "broken", "7").expect(1)
    shop.edit("shop/bot.py", 'totals["total"]', 'totals["sum"]')
    shop.agentctl("run", "--until-idle").expect(0)
    assert len(shop.ledger("refund")) == 1
    assert "Bot completed: event #1 of broken" in "\n".join(shop.audit())


def test_an_event_whose_handler_is_gone_is_stuck_and_the_rest_runs(shop: Project) -> None:
    shop.agentctl("invoke", "Bot", "request", "7", env={"DIE_IN": "send"}).expect(CRASH)
    shop.edit("shop/bot.py", "async def request(", "async def renamed(")
    other = shop.agentctl("invoke", "Bot", "echo", "still here").expect(0)
    assert other.out == '"still here"\n'
    assert "request" in other.err
    shop.edit("shop/bot.py", "async def renamed(", "async def request(")
    shop.agentctl("run", "--until-idle").expect(0)
    assert len(shop.ledger("refund")) == 1


def serving(shop: Project, *flags: str, **env: str) -> Running:
    """Start `run`, and wait until it has taken the folder and begun its first live call."""
    before = len(shop.ledger("hanging"))
    program = shop.start_agentctl("run", *flags, env=env)
    wait_until(lambda: len(shop.ledger("hanging")) > before, "run to be inside a call")
    return program


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["TERM", "INT"])
def test_run_stops_gracefully_with_code_0(finished_shop: Project, number: signal.Signals) -> None:
    program = finished_shop.start_agentctl("run")
    wait_until(lambda: program.out + program.err, "run to say what it recovered")
    time.sleep(0.3)  # it must go on by itself, with nothing to do
    assert program.alive, f"run ended by itself: {program.err}"
    program.send(number)
    program.end(timeout=8).expect(0)
    assert "stop" in finished_shop.records()[-1], "no stop record as the last line"


def test_a_call_cut_off_by_sigterm_is_said_and_never_counted(shop: Project) -> None:
    shop.agentctl("invoke", "Bot", "request", "7", env={"DIE_IN": "send"}).expect(CRASH)
    for _ in range(4):
        program = serving(shop, "--grace", "100ms", HANG_IN="send")
        program.send(signal.SIGTERM)
        stopped = program.end(timeout=8).expect(0)
        assert "1" in stopped.err
        assert "cut off" in stopped.err
    assert shop.set_aside() == [], "graceful stops were counted as deaths"
    shop.agentctl("run", "--until-idle").expect(0)
    assert len(shop.ledger("refund")) == 1
    assert {line.split()[1] for line in shop.ledger("send")} == {"Bot-1-2"}


def test_a_call_that_ends_within_the_grace_keeps_its_result(shop: Project) -> None:
    shop.edit("shop/world.py", "await asyncio.sleep(60)", "await asyncio.sleep(1)")
    shop.agentctl("invoke", "Bot", "request", "7", env={"DIE_IN": "refund"}).expect(CRASH)
    program = serving(shop, "--grace", "10s", HANG_IN="refund")
    program.send(signal.SIGTERM)
    program.end(timeout=10).expect(0)
    made = len(shop.ledger("refund"))
    shop.agentctl("run", "--until-idle").expect(0)
    assert len(shop.ledger("refund")) == made, "a call that ended in time was made again"
    assert shop.ledger("send")[-1] == "send Bot-1-2 order 7: r7"


def test_a_second_signal_ends_run_at_once(shop: Project) -> None:
    shop.agentctl("invoke", "Bot", "request", "7", env={"DIE_IN": "send"}).expect(CRASH)
    program = serving(shop, "--grace", "none", HANG_IN="send")
    program.send(signal.SIGTERM)
    wait_until(
        lambda: b'{"stopping"' in shop.journal_path().read_bytes(), "the signal to be on record"
    )
    program.send(signal.SIGTERM)
    program.end(timeout=5).expect(143)
    shop.agentctl("run", "--until-idle").expect(0)
    assert len(shop.ledger("refund")) == 1


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["TERM", "INT"]
)
def test_an_interrupted_invoke_says_so_and_its_event_goes_on_later(
    shop: Project, number: signal.Signals, code: int
) -> None:
    shop.edit("kavach.toml", "audit = true", 'audit = true\ngrace = "100ms"')
    program = shop.start_agentctl("invoke", "Bot", "request", "7", env={"HANG_IN": "send"})
    wait_until(lambda: shop.ledger("hanging"), "invoke to be inside a call")
    program.send(number)
    stopped = program.end(timeout=8).expect(code)
    assert stopped.out == ""
    shop.agentctl("run", "--until-idle").expect(0)
    assert len(shop.ledger("refund")) == 1
    assert shop.ledger("send")[-1] == "send Bot-1-2 order 7: r7"


def test_run_an_unknown_agent_suggests_the_nearest(shop: Project) -> None:
    shop.agentctl("run", "Bott", "--until-idle").expect_error(3, "Bott", "Bot")
    assert not (shop.root / "agents").exists()


def test_a_denied_call_fails_with_the_reason(shop: Project) -> None:
    denied = '[agents.Bot.deny]\n"payments.refund" = "closed for the audit"\n'
    shop.write("kavach.toml", (shop.root / "kavach.toml").read_text() + denied)
    shop.agentctl("invoke", "Bot", "request", "7").expect_error(1, "closed for the audit")
    assert shop.ledger() == []
    assert any(line.startswith("Bot denied:") for line in shop.audit())


def test_files_are_for_their_owner_alone(shop: Project) -> None:
    launch = ("umask=0",)
    env = {"DIE_IN": "refund"}
    shop.agentctl("invoke", "Bot", "request", "7", env=env, launch=launch).expect(CRASH)
    for _ in range(6):
        if shop.set_aside():
            break
        shop.agentctl("run", "--until-idle", env=env, launch=launch)
    modes = {
        path.name: path.stat().st_mode & 0o777
        for path in [shop.root / "agents", *(shop.root / "agents").rglob("*")]
    }
    assert {"agents", "Bot", "journal", "set-aside", "audit.log", "lock"} <= modes.keys()
    for name, mode in modes.items():
        assert mode == (0o700 if name in {"agents", "Bot", "blobs"} else 0o600), (name, oct(mode))
