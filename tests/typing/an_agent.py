"""An agent, its capabilities, and running it: what type checkers must see of it.

Nothing in this folder runs. `assert_type` is a `reveal_type` that fails when the type is another
one, `Any` included.
"""

from __future__ import annotations

import enum
import uuid
from abc import abstractmethod
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import ClassVar, assert_type

from agentctl import (
    Agent,
    AgentError,
    AgentSettings,
    Capability,
    Denied,
    Host,
    RetryPolicy,
    Secret,
    attempt,
    bind,
    blocking,
    call,
    call_key,
    handler,
    service_key,
    start,
    uses,
)


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
        assert_type(receipt, Receipt)
        await self.email.send(f"order {order_id}: {receipt.id}")
        return receipt.id

    @handler
    async def forgiving(self, order_id: int) -> str:
        try:
            return (await self.payments.refund(order_id)).id
        except Declined as error:
            return str(error)
        except Denied as error:
            assert_type(error.reason, str)
            assert_type(error.hint, str | None)
            raise


class Shop(Payments):
    async def refund(self, order_id: int) -> Receipt:
        assert_type(call_key(), str | None)
        assert_type(service_key(), str | None)
        assert_type(attempt(), int | None)
        print(f"[pay] refund {order_id}, key {call_key()}")
        return Receipt(id=f"r{order_id}")


class Mail(Email):
    @blocking
    def send(self, to: str) -> None:
        print(to)


class Retrying(Payments):
    @call(retry=RetryPolicy(max_attempts=3), timeout=30)
    async def refund(self, order_id: int) -> Receipt:
        return Receipt("r")


class Once(Payments):
    @call(repeat=False)
    @blocking
    def refund(self, order_id: int) -> Receipt:
        return Receipt("r")


class Loose(Payments):
    @call(match="name", record="digest", timeout=timedelta(minutes=1))
    async def refund(self, order_id: int) -> Receipt:
        return Receipt("r")


class Api(Capability):
    @abstractmethod
    async def fetch(self, url: str) -> bool: ...


class Http(Api):
    def __init__(self, token: Secret[str]) -> None:
        assert_type(token.reveal(), str)

    async def fetch(self, url: str) -> bool:
        return True


class Region(enum.Enum):
    EU = "eu"


class Poller(Agent):
    name: str
    api: Api
    failures: int = 0
    seen: list[str] = []  # copied for each instance, not shared
    settings: ClassVar[AgentSettings] = AgentSettings(audit=True, max_starts=3)

    @handler
    async def poll(self, endpoint: str) -> None:
        assert_type(await self.api.fetch(endpoint), bool)
        assert_type(self.seen, list[str])
        self.failures += 1

    @handler(exclusive=True, fails_on=(ValueError,))
    async def total(self, start: int = 1) -> int:
        return start


async def a_program() -> None:
    async with start(Bot, payments=Shop(), email=Mail()) as bot:
        assert_type(bot, Bot)
        assert_type(await bot.request(7), str)
        print(await bot.request(order_id=7))

    async with start(Poller, api=Http(Secret("t"))):
        await Poller.ref("my-poller").poll("https://example.org")
        assert_type(Poller.ref("my-poller"), Poller)
        assert_type(Poller.ref("my-poller").failures, int)
        assert_type(await Poller.ref("my-poller").total(), int)
        assert_type(await Poller.ref(Region.EU, 3, uuid.UUID(int=1)).total(2), int)

    async with Host(
        bind(Bot, payments=Shop(), email=Mail()),
        bind(Poller, api=Http(Secret("t")), settings=AgentSettings(journal=False)),
        root=Path("state"),
    ) as host:
        assert_type(host, Host)


def where_and_how() -> AbstractAsyncContextManager[Poller]:
    settings = AgentSettings(
        concurrency=8, permits={"low": 2}, audit=False, grace=timedelta(seconds=1)
    )
    return start(Poller, api=Http(Secret("t")), root="state", settings=settings)
