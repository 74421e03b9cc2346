"""`with`, `timeout` and `limit` of a capability, as a person writes them into kavach.toml."""

from __future__ import annotations

import pytest

from .support import Project

SENDER = """
class Sender(Shop):
    def __init__(self, host: str, port: int, key: Secret[str]) -> None:
        print(f"[made] {host}:{port} {key}")
        assert key.reveal() == "hunter2"
"""


def test_a_capability_gets_its_arguments_and_secrets_stay_unseen(shop: Project) -> None:
    path = shop.root / "shop" / "world.py"
    text = path.read_text(encoding="utf-8")
    shop.write("shop/world.py", text + "\n\nfrom agentctl import Secret\n" + SENDER)
    shop.write("secrets/key", "hunter2\n")
    shop.write(
        "kavach.local.toml",
        '[agents.Bot.capabilities.payments]\nuse = "shop.world:Sender"\nlimit = 1\n'
        'with = { host = { env = "PAY_HOST" }, port = 25, key = { file = "secrets/key" } }\n',
    )
    told = shop.agentctl("invoke", "Bot", "request", "7", env={"PAY_HOST": "pay.example"})
    told.expect(0)
    assert "[made] pay.example:25 ***" in told.err
    shown = shop.agentctl("config", "show", env={"PAY_HOST": "pay.example"}).expect(0)
    assert "with.host\tenv PAY_HOST\tkavach.local.toml:4\n" in shown.out
    assert "with.key\tfile secrets/key\tkavach.local.toml:4\n" in shown.out
    assert "pay.example" not in shown.both
    assert "hunter2" not in told.both + shown.both
    shop.agentctl("invoke", "Bot", "request", "7").expect_error(
        7, "kavach.local.toml:4", "with.host", "PAY_HOST"
    )


SLOW = """
class Slow(Shop):
    now = most = 0

    async def refund(self, order_id: int) -> Receipt:
        Slow.now += 1
        Slow.most = max(Slow.most, Slow.now)
        await asyncio.sleep(0.02 if order_id < 100 else 60)
        Slow.now -= 1
        return Receipt(id=str(Slow.most))
"""
MANY = """
    @handler
    async def many(self, count: int) -> list[str]:
        import asyncio

        calls = [self.payments.refund(order) for order in range(1, count + 1)]
        return [receipt.id for receipt in await asyncio.gather(*calls)]

    @handler
    async def patient(self) -> str:
        try:
            return (await self.payments.refund(100)).id
        except TimeoutError:
            return "too slow"

    @handler
    async def nothing("""


@pytest.fixture
def slow(shop: Project) -> Project:
    path = shop.root / "shop" / "world.py"
    shop.write("shop/world.py", path.read_text(encoding="utf-8") + "\n\n" + SLOW)
    shop.edit("shop/bot.py", "\n    @handler\n    async def nothing(", MANY)
    shop.edit("kavach.toml", '"shop.world:Shop"', '{ use = "shop.world:Slow" }')
    return shop


def test_no_more_calls_run_at_once_than_the_limit(slow: Project) -> None:
    assert slow.agentctl("invoke", "Bot", "many", "5").expect(0).json == ["5"] * 5
    limit = ("--set", "agents.Bot.capabilities.payments.limit=2")
    told = slow.agentctl("invoke", "Bot", "many", "5", *limit).expect(0)
    assert max(told.json) == "2"


def test_a_call_that_takes_longer_than_the_timeout_raises_in_the_handler(slow: Project) -> None:
    timeout = ("--set", "agents.Bot.capabilities.payments.timeout=50ms")
    assert slow.agentctl("invoke", "Bot", "patient", *timeout).expect(0).json == "too slow"


def test_failed_attempts_are_made_again_as_the_table_says(slow: Project) -> None:
    slow.edit(
        "kavach.toml",
        ':Slow" }',
        ':Slow", timeout = "50ms", retry = { max_attempts = 3, delay = "10ms" } }',
    )
    assert slow.agentctl("invoke", "Bot", "patient").expect(0).json == "too slow"
    kinds = [next(iter(record)) for record in slow.records()]
    assert kinds.count("tried") == kinds.count("attempt") == 2
    assert kinds.count("call") == kinds.count("error") == 1
    fewer = ("--set", "agents.Bot.capabilities.payments.retry.max_attempts=0")
    slow.agentctl("invoke", "Bot", "nothing", *fewer).expect_error(2, "max_attempts", "from 1 on")
