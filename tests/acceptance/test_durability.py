"""Kill the program anywhere, start it again, and it carries on: nothing finished is done twice."""

from __future__ import annotations

from .shop import make_agents
from .support import CRASH, Project

REFUND = """
from __future__ import annotations

import asyncio
import os
import sys
from abc import abstractmethod
from dataclasses import dataclass

from agentctl import Agent, Capability, call_key, handler, start, uses


@dataclass
class Receipt:
    id: str


class Payments(Capability):
    @abstractmethod
    async def refund(self, order_id: int) -> Receipt: ...


class Email(Capability):
    @abstractmethod
    async def send(self, to: str) -> None: ...


class Shop(Payments):
    async def refund(self, order_id: int) -> Receipt:
        print(f"[pay] refund {order_id}")
        return Receipt(id=f"r{order_id}")


class Mail(Email):
    def __init__(self, power_cut: bool) -> None:
        self.power_cut = power_cut

    async def send(self, to: str) -> None:
        if self.power_cut:
            os._exit(3)
        print(f"[email] {to}")


class Bot(Agent):
    payments: Payments
    email: Email = uses("send")

    @handler
    async def request(self, order_id: int) -> str:
        receipt = await self.payments.refund(order_id)
        await self.email.send(f"order {order_id}: {receipt.id}")
        return receipt.id


async def main() -> None:
    power_cut = "power-cut" in sys.argv
    async with start(Bot, payments=Shop(), email=Mail(power_cut)) as bot:
        if power_cut:
            await bot.request(7)
        print("started")


asyncio.run(main())
"""

KEYS = """
from __future__ import annotations

import asyncio
import os
import sys
from abc import abstractmethod

from agentctl import Agent, Capability, call_key, handler, start


class Payments(Capability):
    @abstractmethod
    async def refund(self, order_id: int) -> None: ...


class Email(Capability):
    @abstractmethod
    async def send(self, to: str) -> None: ...


class Bank(Payments):
    async def refund(self, order_id: int) -> None:
        print(f"[pay] refund {order_id}, key {call_key()}")


class Mail(Email):
    async def send(self, to: str) -> None:
        print(f"[email] {to}, key {call_key()}")
        if "crash" in sys.argv:
            os._exit(3)


class Bot(Agent):
    payments: Payments
    email: Email

    @handler
    async def request(self, order_id: int) -> None:
        await self.payments.refund(order_id)
        await self.email.send(f"order {order_id}")


async def main() -> None:
    async with start(Bot, payments=Bank(), email=Mail()) as bot:
        print(f"outside a call: {call_key()}")
        if "crash" in sys.argv:
            await bot.request(7)


asyncio.run(main())
"""

CRASH_LOOP = """
from __future__ import annotations

import asyncio
import os
import sys
from abc import abstractmethod

from agentctl import Agent, AgentSettings, Capability, handler, start


class Payments(Capability):
    @abstractmethod
    async def pay(self, order_id: int) -> int: ...


class Till(Payments):
    async def pay(self, order_id: int) -> int:
        if "crash" in sys.argv:
            os._exit(3)
        return order_id


class Bot(Agent):
    settings = AgentSettings(audit=True)
    payments: Payments

    @handler
    async def request(self, order_id: int) -> int:
        return await self.payments.pay(order_id)


async def main() -> None:
    async with start(Bot, payments=Till()) as bot:
        if "crash" in sys.argv or "more" in sys.argv:
            print(await bot.request(7))
        print("started")


asyncio.run(main())
"""


def test_k1_a_refund_before_the_power_cut_is_paid_once(project: Project) -> None:
    project.write("bot.py", REFUND)
    first = project.python("bot.py", "power-cut")
    second = project.python("bot.py")
    assert (first.code, first.out) == (3, "[pay] refund 7\n")
    assert (second.code, second.out) == (0, "[email] order 7: r7\nstarted\n"), second.err


def test_k1_a_third_start_does_neither_again(project: Project) -> None:
    project.write("bot.py", REFUND)
    project.python("bot.py", "power-cut")
    project.python("bot.py").expect(0)
    assert project.python("bot.py").expect(0).out == "started\n"


def test_k1_through_the_command_line(shop: Project) -> None:
    shop.agentctl("invoke", "Bot", "request", "7", env={"DIE_IN": "send"}).expect(CRASH)
    shop.agentctl("run", "--until-idle").expect(0)
    assert len(shop.ledger("refund 7")) == 1, "the refund was paid again"
    assert shop.ledger("send")[-1] == "send Bot-1-2 order 7: r7"
    assert "Bot completed: event #1 of request" in "\n".join(shop.audit())
    before = shop.ledger()
    shop.agentctl("run", "--until-idle").expect(0)
    assert shop.ledger() == before, "an event that had ended ran again"


def test_k2_a_call_that_was_cut_off_has_the_same_key_in_both_runs(project: Project) -> None:
    project.write("bot.py", KEYS)
    first = project.python("bot.py", "crash")
    second = project.python("bot.py")
    assert first.out == (
        "outside a call: None\n[pay] refund 7, key Bot-1-1\n[email] order 7, key Bot-1-2\n"
    )
    assert second.out == "[email] order 7, key Bot-1-2\noutside a call: None\n", second.err
    assert (first.code, second.code) == (3, 0)


def test_k3_an_event_that_stops_the_program_three_times_is_set_aside(project: Project) -> None:
    project.write("bot.py", CRASH_LOOP)
    for _ in range(3):
        assert project.python("bot.py", "crash").code == 3
        assert project.set_aside() == []
    fourth = project.python("bot.py")
    assert (fourth.code, fourth.out) == (0, "started\n"), fourth.err
    assert project.set_aside() == [
        '{"event":1,"handler":"request","args":[7]}',
        '{"again":1}',
        '{"again":1}',
    ]
    line = "Bot set aside: event #1 of request (started 3 times without finishing)"
    assert project.audit().count(line) == 1


def test_k3_the_agent_goes_on_with_the_next_number(project: Project) -> None:
    project.write("bot.py", CRASH_LOOP)
    for _ in range(3):
        project.python("bot.py", "crash")
    assert project.python("bot.py", "more").expect(0).out == "7\nstarted\n"
    assert "Bot completed: event #2 of request" in "\n".join(project.audit())
    assert len(project.set_aside()) == 3


def test_k8_a_changed_handler_stops_only_its_own_event(shop: Project) -> None:
    old = 'await self.email.send(f"order {order_id}: {receipt.id[:9]}")'
    new = "await self.payments.refund(order_id + 100)"
    shop.agentctl("invoke", "Bot", "request", "7", env={"DIE_IN": "send"}).expect(CRASH)
    shop.edit("shop/bot.py", old, new)
    other = shop.agentctl("invoke", "Bot", "request", "8").expect(0)
    assert other.out == '"r8"\n'
    for word in ("Bot-1-2", "Email.send", "Payments.refund", "bot.py"):
        assert word in other.err, f"the report of the divergence does not say {word}: {other.err}"
    assert shop.ledger("refund 107") == [], "an event that diverged made a call"
    shop.edit("shop/bot.py", new, old)
    shop.agentctl("run", "--until-idle").expect(0)
    assert len(shop.ledger("refund 7 ")) == 1
    assert shop.ledger("send")[-1] == "send Bot-1-2 order 7: r7"


def test_k8_run_until_idle_says_that_an_event_is_stuck(shop: Project) -> None:
    shop.agentctl("invoke", "Bot", "request", "7", env={"DIE_IN": "send"}).expect(CRASH)
    shop.edit("shop/bot.py", "await self.email.send", "await self.echo")
    stuck = shop.agentctl("run", "--until-idle").expect(1)
    assert "stuck" in stuck.both
    assert not shop.ledger("send")[1:], "the email was sent though the program asks for none"


def test_k14_a_declared_error_after_a_restart_is_told_and_ends_the_event(shop: Project) -> None:
    shop.agentctl("invoke", "Bot", "request", "7", env={"DIE_IN": "refund"}).expect(CRASH)
    second = shop.agentctl("run", "--until-idle", env={"DECLINE": "1"}).expect(0)
    assert "card expired" in second.err
    failed = [line for line in shop.audit() if line.startswith("Bot failed: event #1 of request")]
    assert len(failed) == 1
    assert "card expired" in failed[0]
    before = shop.ledger()
    shop.agentctl("run", "--until-idle").expect(0)
    assert shop.ledger() == before, "a failed event ran again"


def test_k14_a_failure_nobody_waits_for_is_printed_without_an_audit_log(shop: Project) -> None:
    shop.edit("kavach.toml", "audit = true", "audit = false")
    shop.agentctl("invoke", "Bot", "request", "7", env={"DIE_IN": "refund"}).expect(CRASH)
    second = shop.agentctl("run", "--until-idle", env={"DECLINE": "1"}).expect(0)
    assert "card expired" in second.err
    assert not (shop.folder() / "audit.log").exists()


ONCE_ONLY = """
from __future__ import annotations

import os
from abc import abstractmethod

from agentctl import Agent, Capability, UnknownOutcome, call, handler
from ledger import note


class World(Capability):
    @call(repeat=False)
    @abstractmethod
    async def launch(self, name: str) -> str: ...


class Real(World):
    async def launch(self, name: str) -> str:
        note("launch", name)
        if os.environ.get("CUT"):
            os._exit(9)
        return "launched"


class Bot(Agent):
    world: World

    @handler
    async def go(self) -> str:
        try:
            return await self.world.launch("rocket")
        except UnknownOutcome:
            return "ask a person"
"""


def test_a_call_that_may_not_repeat_is_not_made_again(project: Project) -> None:
    project.write("crew.py", ONCE_ONLY)
    make_agents(project, Bot="crew:Bot")
    project.agentctl("invoke", "Bot", "go", env={"CUT": "1"}).expect(CRASH)
    project.agentctl("run", "--until-idle").expect(0)
    assert project.ledger("launch") == ["launch rocket"]
    assert any("completed" in line and "ask a person" in line for line in project.audit())
