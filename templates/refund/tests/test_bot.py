"""What the agent promises."""

from __future__ import annotations

import pytest
from agentctl.testing import Durable

from shop.bot import Bot, Declined, Receipt
from shop.world import Mail, Shop


class CountingShop(Shop):
    """Remembers what it paid."""

    def __init__(self) -> None:
        self.paid: list[int] = []

    async def refund(self, order_id: int) -> Receipt:
        """Pay, and remember it."""
        self.paid.append(order_id)
        return await super().refund(order_id)


def test_refund_is_paid_once(durable: Durable) -> None:
    payments = CountingShop()

    assert durable.run(Bot, "request", 7, payments=payments, email=Mail()) == "r7"
    assert payments.paid == [7]


def test_a_declined_refund_reaches_whoever_asked(durable: Durable) -> None:
    with pytest.raises(Declined, match="no order 0"):
        durable.run(Bot, "request", 0, payments=Shop(), email=Mail())
