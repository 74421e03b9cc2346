"""R11: a forked child is nobody: it writes nothing of its parent's, and keeps no lock."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PROGRAM = textwrap.dedent("""
    import asyncio, os, sys, time
    from agentctl import Agent, Capability, handler, start

    class World(Capability):
        async def act(self) -> int:
            child = os.fork()
            if child == 0:
                if sys.argv[1] == "raises":
                    raise ValueError("in the child")
                if sys.argv[1] == "execs":
                    os.execvp("/there/is/no/such/program", ["no"])
                return 0
            _, status = os.waitpid(child, 0)
            return os.waitstatus_to_exitcode(status)

    class Bot(Agent):
        world: World

        @handler
        async def go(self) -> int:
            return await self.world.act()

    async def main():
        async with start(Bot, world=World()) as bot:
            if sys.argv[1] != "again":
                print("child ended with", await bot.go())
            print("started")

    asyncio.run(main())
""")


@pytest.mark.parametrize("how", ["returns", "raises", "execs"])
def test_p11_a_child_that_comes_back_ends_and_leaves_the_journal_whole(tmp_path, how):
    (tmp_path / "program.py").write_text(PROGRAM)

    def run(argument):
        command = [sys.executable, "-W", "ignore::DeprecationWarning", "program.py", argument]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        where = {"cwd": tmp_path, "env": environment}
        return subprocess.run(command, capture_output=True, text=True, check=False, **where)

    first = run(how)
    assert "child ended with 70" in first.stdout, first.stderr
    assert "forked in a call" in first.stderr
    kinds = [
        next(iter(json.loads(line)))
        for line in (tmp_path / "agents/Bot/journal").read_text().splitlines()
    ]
    assert kinds == ["journal", "event", "start", "call", "ok", "done", "stop"]
    assert run("again").stdout == "started\n"
