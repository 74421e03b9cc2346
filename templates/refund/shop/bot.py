"""The agent: what it may do to the world, and what it does."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from agentctl import Agent, AgentError, Capability, handler


@dataclass
class Receipt:
    """What a payment service answers."""

    id: str


class Declined(AgentError):
    """The payment service refuses; whoever asked for the refund sees this error."""


class Payments(Capability):
    """Moves money."""

    @abstractmethod
    async def refund(self, order_id: int) -> Receipt: ...


class Email(Capability):
    """Writes to the customer."""

    @abstractmethod
    async def send(self, to: str) -> None: ...


class Bot(Agent):
    """Refunds orders."""

    payments: Payments
    email: Email

    @handler
    async def request(self, order_id: int) -> str:
        """Refund an order, tell the customer, and answer with the receipt's id."""
        receipt = await self.payments.refund(order_id)
        await self.email.send(f"order {order_id}: {receipt.id}")
        return receipt.id
