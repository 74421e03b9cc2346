"""The world: here it only prints. Put real services in their place."""

from __future__ import annotations

from agentctl import call_key

from desk import cashier


class Shop(cashier.Payments):
    """A payment service. The call key is the same whenever this call is made again."""

    async def refund(self, order_id: int, amount: int) -> str:
        """Pay so much back."""
        print(f"[pay] {amount} for order {order_id}, key {call_key()}")
        return f"r{order_id}"


class Chat(cashier.Chat):
    """A room in a chat."""

    async def post(self, text: str) -> None:
        """Write one message."""
        print(f"[chat] {text}")
