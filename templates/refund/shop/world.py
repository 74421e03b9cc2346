"""The world: here it only prints. Put real services in their place."""

from __future__ import annotations

from agentctl import call_key

from shop.bot import Declined, Email, Payments, Receipt


class Shop(Payments):
    """A payment service. The call key is the same whenever this call is made again."""

    async def refund(self, order_id: int) -> Receipt:
        """Pay the order's price back."""
        if order_id < 1:
            raise Declined(f"there is no order {order_id}")
        print(f"[pay] refund {order_id}, key {call_key()}")
        return Receipt(id=f"r{order_id}")


class Mail(Email):
    """A mail service."""

    async def send(self, to: str) -> None:
        """Send one email."""
        print(f"[email] {to}")
