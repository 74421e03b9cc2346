"""Numbers and keys: they go on, they never come twice, and services can't confuse them."""

from __future__ import annotations

import re
import shutil

from .shop import make_agents
from .support import CRASH, Project

MANY = """
import asyncio

from agentctl import Agent, handler, start


class Bot(Agent):
    @handler
    async def tick(self) -> None:
        return None


async def main() -> None:
    async with start(Bot) as bot:
        for _ in range(10):
            await asyncio.gather(*(bot.tick() for _ in range(1000)))


if __name__ == "__main__":
    asyncio.run(main())
"""


def test_k11_after_10_000_events_a_start_makes_the_journal_small(project: Project) -> None:
    project.write("many.py", MANY)
    project.write("kavach.toml", '[project]\nname = "m"\n[agents.Bot]\nclass = "many:Bot"\n')
    project.python("many.py", timeout=60).expect(0)
    one = project.agentctl("invoke", "--json", "Bot", "tick").expect(0)
    assert one.json["event"] == "Bot#10001"
    assert project.journal_path().stat().st_size < 100_000
    two = project.agentctl("invoke", "--json", "Bot", "tick").expect(0)
    assert two.json["event"] == "Bot#10002"


def test_k11_numbers_go_on_after_a_set_aside(one_aside: Project) -> None:
    later = one_aside.agentctl("invoke", "--json", "Bot", "nothing").expect(0)
    assert later.json["event"] == "Bot#2"


def test_k12_without_a_journal_nothing_is_replayed(shop: Project) -> None:
    shop.edit("kavach.toml", "audit = true", "journal = false")
    shop.agentctl("invoke", "Bot", "request", "7", env={"DIE_IN": "send"}).expect(CRASH)
    shop.agentctl("run", "--until-idle").expect(0)
    assert len(shop.ledger("send")) == 1, "an event of the dead program ran again"
    assert shop.agentctl("invoke", "Bot", "request", "7").expect(0).out == '"r7"\n'
    assert not shop.journal_path().exists()
    assert not shop.set_aside()


def test_k12_without_a_journal_no_key_comes_twice(shop: Project) -> None:
    shop.edit("kavach.toml", "audit = true", "journal = false")
    for _ in range(3):
        shop.agentctl("invoke", "Bot", "request", "7").expect(0)
    keys = [line.split()[2] for line in shop.ledger("refund")]
    assert len(set(keys)) == 3, keys
    for key in keys:
        assert re.fullmatch(r"Bot-.{6,}-1", key), key
        assert key != "Bot-1-1"


def keys_of(shop: Project) -> list[tuple[str, str]]:
    """The call key and the service key of every refund, in order."""
    return [(line.split()[2], line.split()[3]) for line in shop.ledger("refund")]


def test_k15_a_deleted_folder_makes_new_service_keys(shop: Project) -> None:
    shop.agentctl("invoke", "Bot", "request", "7").expect(0)
    shutil.rmtree(shop.folder())
    shop.agentctl("invoke", "Bot", "request", "7").expect(0)
    (call, service), (call_again, service_again) = keys_of(shop)
    assert call == call_again == "Bot-1-1"
    assert service != service_again
    assert service.startswith(call)


def test_k15_a_restored_backup_makes_new_service_keys(finished_shop: Project) -> None:
    backup = finished_shop.root.parent / "backup"
    shutil.copytree(finished_shop.root / "agents", backup)
    finished_shop.agentctl("invoke", "Bot", "request", "8").expect(0)
    shutil.rmtree(finished_shop.root / "agents")
    shutil.copytree(backup, finished_shop.root / "agents")
    finished_shop.agentctl("invoke", "Bot", "request", "8").expect(0)
    _, (call, service), (call_again, service_again) = keys_of(finished_shop)
    assert call == call_again == "Bot-2-1"
    assert service != service_again


def test_k15_two_projects_never_share_a_service_key(shop: Project, one_aside: Project) -> None:
    shop.agentctl("invoke", "Bot", "request", "7").expect(0)
    assert keys_of(shop)[0][0] == keys_of(one_aside)[0][0] == "Bot-1-1"
    assert keys_of(shop)[0][1] != keys_of(one_aside)[0][1]


def test_k15_a_recovered_event_keeps_its_service_key(shop: Project) -> None:
    shop.agentctl("invoke", "Bot", "request", "7", env={"DIE_IN": "refund"}).expect(CRASH)
    shop.agentctl("run", "--until-idle").expect(0)
    first, second = keys_of(shop)
    assert first == second


CALLER = """
from __future__ import annotations

import os
from abc import abstractmethod

from agentctl import Agent, Capability, call_key, handler, random, service_key, uuid4
from ledger import note


class World(Capability):
    @abstractmethod
    async def one(self) -> None: ...

    @abstractmethod
    async def two(self, chance: float, id: str) -> None: ...


class Real(World):
    async def one(self) -> None:
        note("one", call_key(), service_key())

    async def two(self, chance: float, id: str) -> None:
        note("two", call_key(), service_key(), chance, id)
        if os.environ.get("CUT"):
            os._exit(9)


class Bot(Agent):
    world: World

    @handler
    async def go(self) -> None:
        await self.world.one()
        await self.world.two(random(), str(uuid4()))
"""


def test_k15_a_requeued_event_keeps_its_service_key_and_its_chance(project: Project) -> None:
    project.write("crew.py", CALLER)
    make_agents(project, Bot="crew:Bot")
    project.agentctl("invoke", "Bot", "go", env={"CUT": "1"}).expect(CRASH)
    for _ in range(6):
        if project.set_aside():
            break
        project.agentctl("run", "--until-idle", env={"CUT": "1"})
    assert project.set_aside()
    project.agentctl("requeue", "set-aside", "Bot").expect(0)
    project.agentctl("run", "--until-idle").expect(0)
    twos = project.ledger("two")
    assert len(twos) >= 4
    assert len(set(twos)) == 1, "keys or chance differ between runs of one event"
    assert len(project.ledger("one")) == 1
    one, two = project.ledger("one")[0].split(), twos[0].split()
    assert (one[1], two[1]) == ("Bot-1-1", "Bot-1-2")
    assert one[2] != two[2], "two calls share a service key"
