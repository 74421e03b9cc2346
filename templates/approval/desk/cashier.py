"""The agent: what it may do to the world, and what it does."""

from __future__ import annotations

from abc import abstractmethod
from datetime import timedelta

from agentctl import Agent, Capability, handler, question

LIMIT = 500
PATIENCE = timedelta(days=3)


class Payments(Capability):
    """Moves money."""

    @abstractmethod
    async def refund(self, order_id: int, amount: int) -> str: ...


class Chat(Capability):
    """Where people look."""

    @abstractmethod
    async def post(self, text: str) -> None: ...


class Cashier(Agent):
    """Refunds orders; a person decides on large ones."""

    payments: Payments
    chat: Chat

    @handler
    async def refund(self, order_id: int, amount: int) -> str:
        """Refund an order, and answer with the receipt's id, or with why not."""
        if amount > LIMIT:
            refused = await self.ask(order_id, amount)
            if refused:
                await self.chat.post(f"order {order_id}: no refund, {refused}")
                return refused
        receipt = await self.payments.refund(order_id, amount)
        await self.chat.post(f"order {order_id}: {amount} refunded, {receipt}")
        return receipt

    async def ask(self, order_id: int, amount: int) -> str:
        """Ask a person; return why not, or nothing."""
        # From here on it can be answered, also before the chat shows it.
        ask = await question(f"refund {amount} for order {order_id}?", bool, timeout=PATIENCE)
        await self.chat.post(
            f"order {order_id} wants {amount} back: agentctl approval approve {ask.key}"
        )
        try:
            return "" if await ask else "it was denied"
        except TimeoutError:
            return "nobody answered in time"
