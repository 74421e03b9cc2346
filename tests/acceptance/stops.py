"""An agent whose calls take long, in every way in which a call can, for the tests of stopping.

The agent is `Bot`; `hold(how)` makes one call `World.hold` of that kind and then `World.after`.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from .shop import make_agents
from .support import CRASH, Project, Running, wait_until

CREW = """
from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from abc import abstractmethod

from agentctl import Agent, Capability, blocking, call_key, handler
from ledger import note

CHILD = [sys.executable, "-c", (
    "import os, signal, subprocess, sys, time;"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN if 'deaf' in sys.argv else signal.SIG_DFL);"
    "below = subprocess.Popen(['sleep', '3']);"
    "ledger = open(os.environ['LEDGER'], 'a');"
    "ledger.write(f'child {os.getpid()}\\\\nchild {below.pid}\\\\n'); ledger.close();"
    "time.sleep(30)"
)]


class World(Capability):
    @abstractmethod
    async def hold(self, how: str) -> str: ...
    @abstractmethod
    async def thread(self, how: str) -> str: ...
    @abstractmethod
    async def after(self, what: str) -> None: ...


class Real(World):
    async def hold(self, how: str) -> str:
        note("hold", call_key(), how)
        if os.environ.get("MODE") == "die":
            os._exit(9)
        if "short" in os.environ.get("MODE", ""):
            return how
        if how == "child":
            await (await asyncio.create_subprocess_exec(*CHILD)).wait()
        if how == "deaf child":
            await (await asyncio.create_subprocess_exec(*CHILD, "deaf")).wait()
        await asyncio.sleep(30)
        return how

    @blocking
    def thread(self, how: str) -> str:
        note("thread", call_key(), how)
        if os.environ.get("MODE") == "die":
            os._exit(9)
        if "short" in os.environ.get("MODE", ""):
            return how
        if how == "child":
            subprocess.run(CHILD)
        time.sleep(30)
        return how

    async def after(self, what: str) -> None:
        note("after", call_key(), what)


class Bot(Agent):
    world: World

    @handler
    async def hold(self, how: str) -> str:
        done = await self.world.hold(how)
        await self.world.after(done)
        return done

    @handler
    async def thread(self, how: str) -> str:
        done = await self.world.thread(how)
        await self.world.after(done)
        return done

    @handler
    async def turn(self, how: str) -> str:
        done = await self.world.hold(how)
        note("turn")
        time.sleep(30)
        return done

    @handler
    async def spin(self, how: str) -> None:
        note("spin")
        while True:
            await asyncio.sleep(0)
            if how == "block":
                time.sleep(30)
"""


def make_crew(project: Project) -> Project:
    project.write("crew.py", CREW)
    return make_agents(project, Bot="crew:Bot")


def accept(project: Project, handler: str, how: str) -> None:
    """Let an event be on record that no program runs: it dies inside of its first call."""
    project.agentctl("invoke", "Bot", handler, how, env={"MODE": "die"}).expect(CRASH)
    project.ledger_path.write_text("")


def serving(project: Project, *flags: str, until: str = "hold", **env: str) -> Running:
    """`agentctl run`, once the ledger has a line that begins so."""
    program = project.start_agentctl("run", *flags, env=env)
    wait_until(lambda: project.ledger(until), f"the program to be at {until}: {program.err}")
    return program


def children(project: Project) -> list[int]:
    return [int(line.split()[1]) for line in project.ledger("child ")]


def lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != b"Z"


def lock_is_free(project: Project) -> bool:
    import fcntl

    with (project.folder() / "lock").open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def may_be_process_one() -> bool:
    probe = ["unshare", "--pid", "--fork", "--mount-proc", "true"]
    return os.name == "posix" and subprocess.call(probe, stderr=subprocess.DEVNULL) == 0
