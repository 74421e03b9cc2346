"""The shop: the project that most tests use. A refund, then an email, and ways to break both.

The environment says what goes wrong, so that the code is the same in every run: DIE_IN=refund cuts
the power inside that call, HANG_IN waits in it, FILL_IN fills the disk, DECLINE=1 refuses.
"""

from __future__ import annotations

import json
from pathlib import Path

from .support import Project

BOT = """
from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from agentctl import Agent, AgentError, Capability, handler, uses


@dataclass
class Receipt:
    id: str


class Declined(AgentError):
    pass


class Payments(Capability):
    @abstractmethod
    async def refund(self, order_id: int) -> Receipt: ...


class Email(Capability):
    @abstractmethod
    async def send(self, to: str) -> None: ...


class Bot(Agent):
    payments: Payments
    email: Email = uses("send")

    @handler
    async def request(self, order_id: int) -> str:
        receipt = await self.payments.refund(order_id)
        await self.email.send(f"order {order_id}: {receipt.id[:9]}")
        return receipt.id

    @handler
    async def broken(self, order_id: int) -> str:
        receipt = await self.payments.refund(order_id)
        totals = {"sum": receipt.id}
        return totals["total"]

    @handler
    async def echo(self, text: str) -> str:
        return text

    @handler
    async def total(self, numbers: list[int], double: bool = False) -> int:
        return sum(numbers) * (2 if double else 1)

    @handler
    async def describe(self, text: str, count: int, ratio: float = 0.5, on: bool = False) -> str:
        return f"{text!r} {count!r} {ratio!r} {on!r}"

    @handler
    async def nothing(self) -> None:
        return None
"""

WORLD = """
from __future__ import annotations

import asyncio
import os
import resource
import sys

from agentctl import call_key, service_key
from ledger import note
from shop.bot import Declined, Email, Payments, Receipt


def fill_the_disk() -> None:
    filler = os.environ.get("FILLER")
    if not filler:
        sys.dont_write_bytecode = True  # it would be cut short, and spoil later runs
        size = os.path.getsize("agents/Bot/journal")
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        return
    with open(filler, "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass


async def trouble(where: str) -> None:
    if os.environ.get("DIE_IN") == where:
        os._exit(9)
    if os.environ.get("HANG_IN") == where:
        note("hanging", where)
        await asyncio.sleep(60)
    if os.environ.get("FILL_IN") == where:
        fill_the_disk()


class Shop(Payments):
    async def refund(self, order_id: int) -> Receipt:
        print(f"[pay] refund {order_id}, key {call_key()}")
        note("refund", order_id, call_key(), service_key())
        if os.environ.get("DECLINE"):
            raise Declined("card expired")
        await trouble("refund")
        return Receipt(id=f"r{order_id}" + "x" * int(os.environ.get("FAT", "0")))


class Mail(Email):
    async def send(self, to: str) -> None:
        print(f"[email] {to}")
        note("send", call_key(), to)
        await trouble("send")
"""

TOML = """
[project]
name = "shop"

[agents.Bot]
class = "shop.bot:Bot"

[agents.Bot.capabilities]
payments = "shop.world:Shop"
email = "shop.world:Mail"

[agents.Bot.settings]
"""


def make_shop(project: Project, **settings: str | int | bool) -> Project:
    project.write("shop/__init__.py", "")
    project.write("shop/bot.py", BOT)
    project.write("shop/world.py", WORLD)
    written = "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
    project.write("kavach.toml", TOML + written)
    return project


def make_agents(project: Project, **classes: str) -> Project:
    """A `kavach.toml` of agents by name, `module:Class`; `world` is `module:Real`."""
    parts = ['[project]\nname = "other"\n']
    for name, where in classes.items():
        module = where.partition(":")[0]
        parts.append(f'[agents.{name}]\nclass = "{where}"\n')
        parts.append(f'[agents.{name}.capabilities]\nworld = "{module}:Real"\n')
        parts.append(f"[agents.{name}.settings]\naudit = true\n")
    project.write("kavach.toml", "\n".join(parts))
    return project


def plain_lines(path: Path) -> list[bytes]:
    """A file's lines with their line feeds, to put together again otherwise."""
    return path.read_bytes().splitlines(keepends=True)
