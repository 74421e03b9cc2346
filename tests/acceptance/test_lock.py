"""One program an agent: the second waits, then gives up; a dead one holds nothing."""

from __future__ import annotations

import os
import signal
import time

import pytest

from .shop import make_agents
from .support import Project, wait_until
from .test_terminal import on_a_terminal

HOLDER = """
import asyncio
import os

from agentctl import start
from ledger import note, noted
from shop.bot import Bot
from shop.world import Mail, Shop


async def main() -> None:
    async with start(Bot, payments=Shop(), email=Mail()):
        note("holding", os.getpid())
        while "let go" not in noted():
            await asyncio.sleep(0.02)


asyncio.run(main())
"""


@pytest.fixture
def held(shop: Project) -> Project:
    """The shop, whose Bot runs in a program until the ledger says `let go`."""
    shop.write("holder.py", HOLDER)
    shop.start_python("holder.py")
    wait_until(lambda: shop.ledger("holding"), "the first program to hold the folder")
    return shop


def let_go(shop: Project) -> None:
    with shop.ledger_path.open("a", encoding="utf-8") as ledger:
        ledger.write("let go\n")


def test_k7_a_second_program_starts_when_the_first_ends_in_time(held: Project) -> None:
    second = held.start_agentctl("run", "--until-idle")
    time.sleep(1.0)  # long enough for the second to have met the lock
    assert second.alive, f"the second program did not wait: {second.err}"
    let_go(held)
    second.end(timeout=10).expect(0)


def test_k7_a_second_program_ends_with_code_5_and_the_full_path(held: Project) -> None:
    pid = held.ledger("holding")[0].split()[1]
    began = time.monotonic()
    second = held.agentctl("run", "--until-idle")
    waited = time.monotonic() - began
    second.expect_error(
        5,
        "the agent Bot already runs in another program: its folder "
        f"{held.folder().resolve()} is locked",
        pid,
    )
    assert 4.5 < waited < 9, f"it waited {waited:.1f} s instead of 5"


def test_k7_lock_wait_shortens_the_wait(held: Project) -> None:
    began = time.monotonic()
    held.agentctl("run", "--until-idle", "--lock-wait", "100ms").expect_error(5, "is locked")
    assert time.monotonic() - began < 4


def test_k7_a_program_that_embeds_the_agent_is_told_the_same(held: Project) -> None:
    second = held.python("holder.py")
    assert second.code == 1
    assert (
        "the agent Bot already runs in another program: its folder "
        f"{held.folder().resolve()} is locked"
    ) in second.err
    assert len(held.ledger("holding")) == 1, "two programs held one folder"


def test_k7_reading_needs_no_lock_and_changes_nothing(held: Project) -> None:
    before = held.tree()
    for what in ("journal", "audit", "set-aside", "state"):
        held.agentctl("inspect", what, "Bot", timeout=4).expect(0)
    assert held.tree() == before


def test_p11_after_kill_9_the_next_program_starts_at_once(shop: Project) -> None:
    first = shop.start_agentctl("invoke", "Bot", "request", "7", env={"HANG_IN": "send"})
    wait_until(lambda: shop.ledger("hanging"), "the first program to be in its second call")
    first.cut_power()
    shop.agentctl("run", "--until-idle", "--lock-wait", "0ms").expect(0)
    assert shop.ledger("send")[-1] == "send Bot-1-2 order 7: r7"
    assert len(shop.ledger("refund")) == 1


FORKS = """
from __future__ import annotations

import asyncio
import os
import subprocess
import time
import warnings
from abc import abstractmethod

from agentctl import Agent, Capability, handler
from ledger import note, noted


class World(Capability):
    @abstractmethod
    async def child(self, how: str) -> None: ...


class Real(World):
    async def child(self, how: str) -> None:
        if "child" in " ".join(noted()):
            return
        warnings.simplefilter("ignore")
        if how == "spawn":
            child = subprocess.Popen(["sleep", "60"], close_fds=False)
            note("child", child.pid)
        else:
            pid = os.fork()
            if pid == 0:
                if how == "fork":
                    time.sleep(60)
                os._exit(0)
            if how == "fork and end":
                os.waitpid(pid, 0)
            note("child", pid)
        await asyncio.sleep(60)


class Bot(Agent):
    world: World

    @handler
    async def go(self, how: str) -> None:
        await self.world.child(how)
"""


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_p11_a_child_keeps_no_lock_of_its_dead_parent(project: Project, how: str) -> None:
    project.write("crew.py", FORKS)
    make_agents(project, Bot="crew:Bot")
    parent = project.start_agentctl("invoke", "Bot", "go", how)
    wait_until(lambda: project.ledger("child"), "the call to have made a child")
    child = int(project.ledger("child")[0].split()[1])
    parent.cut_power()
    try:
        os.kill(child, 0)  # the child lives on: otherwise this test shows nothing
        project.agentctl("run", "--until-idle", "--lock-wait", "200ms").expect(0)
    finally:
        os.kill(child, signal.SIGKILL)


def test_p11_a_child_that_ends_does_not_free_the_lock(project: Project) -> None:
    project.write("crew.py", FORKS)
    make_agents(project, Bot="crew:Bot")
    parent = project.start_agentctl("invoke", "Bot", "go", "fork and end")
    wait_until(lambda: project.ledger("child"), "the child to have come and gone")
    project.agentctl("run", "--until-idle", "--lock-wait", "200ms").expect(5)
    assert parent.alive


def test_the_lock_file_stays_and_names_its_holder(held: Project) -> None:
    note = (held.folder() / "lock").read_text(encoding="utf-8")
    assert held.ledger("holding")[0].split()[1] in note
    let_go(held)
    held.programs[0].end().expect(0)
    assert (held.folder() / "lock").exists()


def test_on_a_terminal_it_says_whom_it_waits_for(held: Project) -> None:
    code, written = on_a_terminal(held, "run", "--lock-wait", "1s", columns=200)
    holder = held.ledger("holding")[0].split()[1]
    assert code == 5
    assert f"waiting for pid {holder} " in written
    assert "at most 1s" in written
    code, written = on_a_terminal(held, "run", "--lock-wait", "0s", columns=200)
    assert code == 5
    assert "waiting for" not in written
