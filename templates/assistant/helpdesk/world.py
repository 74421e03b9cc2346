"""The world: a shop that only prints, and a script in place of a model."""

from __future__ import annotations

import json
import re

from agentctl import call_key

from helpdesk.assistant import Message, Model, Orders, Tool, ToolCall


class Shop(Orders):
    """The shop's books. The call key is the same whenever this call is made again."""

    async def find(self, order_id: int) -> str:
        """Look an order up."""
        if order_id < 1:
            raise LookupError(f"there is no order {order_id}")
        print(f"[orders] find {order_id}")
        return f"order {order_id}: a lamp, 40"

    async def refund(self, order_id: int, amount: int) -> str:
        """Pay so much back."""
        print(f"[pay] {amount} for order {order_id}, key {call_key()}")
        return f"receipt r{order_id}"


class Scripted(Model):
    """Plays a model, offline: it looks up the order that is named, refunds it, and says so."""

    async def answer(self, messages: list[Message], tools: list[Tool]) -> Message:
        """Say what comes next, by what the tools have said so far."""
        print(f"[model] {len(messages)} messages, key {call_key()}")
        order = next(iter(re.findall(r"\d+", messages[1].text)), "0")
        heard = [one.text for one in messages if one.role == "tool"]
        if not heard:
            return _use("find_order", order_id=int(order))
        if heard[-1].startswith("error"):
            return Message("assistant", f"I can't do that: {heard[-1]}")
        if len(heard) == 1:
            price = heard[0].split()[-1]
            return _use("refund_order", order_id=int(order), amount=int(price))
        return Message("assistant", f"Order {order} is refunded: {heard[-1]}")


def _use(tool: str, **arguments: int) -> Message:
    return Message("assistant", "", [ToolCall(f"call-{tool}", tool, json.dumps(arguments))])
