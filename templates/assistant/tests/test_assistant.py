"""What the assistant promises."""

from __future__ import annotations

import json

import pytest
from agentctl.testing import Durable

from helpdesk.assistant import MOST_ROUNDS, Assistant, Message, Model, Tool, ToolCall, Undecided
from helpdesk.world import Scripted, Shop


class Books(Shop):
    """Remembers what was paid."""

    def __init__(self) -> None:
        self.paid: list[tuple[int, int]] = []

    async def refund(self, order_id: int, amount: int) -> str:
        """Pay, and remember it."""
        self.paid.append((order_id, amount))
        return await super().refund(order_id, amount)


class Stubborn(Model):
    """Wants the same again and again; remembers what it heard."""

    def __init__(self, tool: str, arguments: str) -> None:
        self.wants = ToolCall("c", tool, arguments)
        self.heard: list[str] = []

    async def answer(self, messages: list[Message], tools: list[Tool]) -> Message:
        """Want it once more."""
        self.heard.append(messages[-1].text)
        return Message("assistant", "", [self.wants])


def test_the_model_uses_its_tools_until_it_has_an_answer(durable: Durable) -> None:
    shop = Books()
    said = durable.run(Assistant, "ask", "refund order 7", model=Scripted(), orders=shop)
    assert said == "Order 7 is refunded: receipt r7"
    assert shop.paid == [(7, 40)]


def test_what_goes_wrong_in_a_tool_is_told_to_the_model(durable: Durable) -> None:
    said = durable.run(Assistant, "ask", "refund it", model=Scripted(), orders=Shop())
    assert said == "I can't do that: error: there is no order 0"


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("drop_tables", "{}", "error: there is no tool drop_tables; there are find_order,"),
        ("refund_order", '{"order_id": 7', "error: "),
        ("refund_order", json.dumps({"order_id": 7, "amount": "all"}), "error: "),
        ("refund_order", json.dumps({"order_id": 7}), "error: "),
        ("refund_order", "[7, 40]", "error: "),
    ],
)
def test_what_makes_no_sense_is_refused_and_has_an_end(
    durable: Durable, tool: str, arguments: str, told: str
) -> None:
    model, shop = Stubborn(tool, arguments), Books()
    with pytest.raises(Undecided, match=f"after {MOST_ROUNDS} rounds"):
        durable.run(Assistant, "ask", "refund order 7", model=model, orders=shop)
    assert all(one.startswith(told) for one in model.heard[1:])
    assert len(model.heard) == MOST_ROUNDS
    assert shop.paid == []
