"""What the agent promises."""

from __future__ import annotations

from datetime import timedelta

import pytest
from agentctl.testing import Durable

from desk import cashier
from desk.cashier import Cashier


class Shop(cashier.Payments):
    """Remembers what it paid."""

    def __init__(self) -> None:
        self.paid: list[tuple[int, int]] = []

    async def refund(self, order_id: int, amount: int) -> str:
        """Pay, and remember it."""
        self.paid.append((order_id, amount))
        return f"r{order_id}"


class Chat(cashier.Chat):
    """Remembers what was posted."""

    def __init__(self) -> None:
        self.posted: list[str] = []

    async def post(self, text: str) -> None:
        """Post, and remember it."""
        self.posted.append(text)


@pytest.fixture
def shop() -> Shop:
    return Shop()


@pytest.fixture
def chat() -> Chat:
    return Chat()


def test_a_small_refund_is_paid_at_once(durable: Durable, shop: Shop, chat: Chat) -> None:
    assert durable.run(Cashier, "refund", 7, 500, payments=shop, chat=chat) == "r7"
    assert chat.posted == ["order 7: 500 refunded, r7"]


def test_a_large_one_is_paid_once_a_person_approves(
    durable: Durable, shop: Shop, chat: Chat
) -> None:
    durable.trigger(Cashier, "refund", 7, 900, payments=shop, chat=chat)
    assert shop.paid == []
    key = chat.posted[0].split()[-1]  # it was posted before the wait
    durable.resume(Cashier, key, True, by="ana", payments=shop, chat=chat)
    assert shop.paid == [(7, 900)]


def test_one_that_is_denied_is_not_paid(durable: Durable, shop: Shop, chat: Chat) -> None:
    event = durable.trigger(Cashier, "refund", 7, 900, payments=shop, chat=chat)
    durable.resume(Cashier, event, False, payments=shop, chat=chat)
    assert chat.posted[-1] == "order 7: no refund, it was denied"
    assert shop.paid == []


def test_nobody_answers_in_time_and_that_is_a_refusal(
    durable: Durable, shop: Shop, chat: Chat
) -> None:
    durable.trigger(Cashier, "refund", 7, 900, payments=shop, chat=chat)
    durable.pass_time(Cashier, timedelta(days=2, hours=23), payments=shop, chat=chat)
    assert len(chat.posted) == 1
    durable.pass_time(Cashier, timedelta(hours=1), payments=shop, chat=chat)
    assert chat.posted[-1] == "order 7: no refund, nobody answered in time"
    assert shop.paid == []
