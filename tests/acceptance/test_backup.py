"""`agentctl backup`: one file beside a running program, and a start from it elsewhere."""

from __future__ import annotations

import re
import tarfile
from pathlib import Path

from .shop import make_agents
from .support import Project, wait_until

BUSY = """
from __future__ import annotations

import asyncio
from abc import abstractmethod

from agentctl import Agent, Capability, handler


class World(Capability):
    @abstractmethod
    async def fetch(self, name: str) -> str: ...


class Real(World):
    async def fetch(self, name: str) -> str:
        await asyncio.sleep(0.002)
        return name * 20


class Bot(Agent):
    world: World
    total: int = 0

    @handler
    async def go(self, name: str) -> str:
        first = await self.world.fetch(name)
        await self.world.fetch(first)
        self.total += 1
        return first
"""

# Each event is noted once it is known to be accepted: it has ended.
LOAD = """
import asyncio

from agentctl import start
from busy import Bot, Real
from ledger import note


async def main() -> None:
    async with start(Bot, world=Real()) as bot:

        async def client(number: int) -> None:
            for turn in range(100_000):
                await bot.go(f"{number}.{turn}")
                note("ended", number, turn)

        await asyncio.gather(*(client(number) for number in range(4)))


asyncio.run(main())
"""


def restored(project: Project, archive: Path, folder: Path) -> Path:
    folder.mkdir()
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder


def test_a_backup_under_load_starts_elsewhere_with_all_that_was_accepted_before(
    project: Project, tmp_path: Path
) -> None:
    project.write("busy.py", BUSY)
    project.write("load.py", LOAD)
    make_agents(project, Bot="busy:Bot")
    program = project.start_python("load.py")
    for turn in range(3):
        known = len(project.ledger("ended"))
        wait_until(lambda known=known: len(project.ledger("ended")) > known + 30, "some events")
        before = len(project.ledger("ended"))
        archive = tmp_path / f"{turn}.tar.gz"
        told = project.agentctl("backup", str(archive)).expect(0)
        assert program.alive
        assert told.out == f"{archive}\n"
        assert archive.stat().st_mode & 0o777 == 0o600
        root = restored(project, archive, tmp_path / f"root-{turn}")
        run = project.agentctl("--root", str(root), "run", "--until-idle").expect(0)
        assert "cut off" not in run.err
        log = (root / "agents" / "Bot" / "audit.log").read_text(encoding="utf-8")
        accepted = [int(n) for n in re.findall(r"accepted: event #(\d+) ", log)]
        ended = [int(n) for n in re.findall(r"completed: event #(\d+) ", log)]
        assert accepted == list(range(1, len(accepted) + 1)), "a line is lost or doubled"
        assert sorted(ended) == accepted
        assert len(accepted) >= before
    program.kill()


def test_a_backup_holds_what_is_set_aside_and_overwrites_nothing(
    one_aside: Project, tmp_path: Path
) -> None:
    one_aside.agentctl("backup", "b.tar.gz").expect(0)
    packed = (one_aside.root / "b.tar.gz").read_bytes()
    one_aside.agentctl("backup", "b.tar.gz").expect_error(4, "exists")
    assert (one_aside.root / "b.tar.gz").read_bytes() == packed
    root = restored(one_aside, one_aside.root / "b.tar.gz", tmp_path / "root")
    at = ("--root", str(root))
    one_aside.agentctl(*at, "requeue", "set-aside", "Bot", "1").expect(0)
    listed = one_aside.agentctl(*at, "invocation", "list").expect(0)
    assert listed.out.split("\t")[:2] == ["Bot#1", "queued"]


def test_where_nothing_ran_there_is_nothing_to_back_up(shop: Project) -> None:
    shop.agentctl("backup", "b.tar.gz").expect_error(3, "no agent has a folder")
    assert not (shop.root / "b.tar.gz").exists()


def test_a_backup_for_a_program_is_one_document(finished_shop: Project) -> None:
    document = finished_shop.agentctl("backup", "b.tar.gz", "--json").expect(0).json
    assert document["schema"] == "agentctl.backup/1"
    assert document["file"] == str(finished_shop.root / "b.tar.gz")
    assert document["agents"][0]["records"] == len(finished_shop.records())
