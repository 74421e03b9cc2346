"""The agent: a model and tools, and the rounds in which one uses the other."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from agentctl import Agent, AgentError, Capability, Exponential, RetryPolicy, call, handler

PROMPT = "You help the customers of a shop. Look an order up before you refund it."
MOST_ROUNDS = 8
PATIENT = RetryPolicy(max_attempts=5, backoff=Exponential(base=1, cap=60), jitter=0.2)


@dataclass
class ToolCall:
    """What the model wants to be done; its arguments are JSON, as it wrote them."""

    id: str
    tool: str
    arguments: str


@dataclass
class Message:
    """One part of a conversation.

    Attributes:
        role: `system`, `user`, `assistant` or `tool`.
        calls: of an assistant; `answers` says of a tool's result which call it is for.
    """

    role: str
    text: str
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    answers: str = ""


@dataclass
class Tool:
    """A tool as the model is told of it; `parameters` is a JSON Schema of its arguments."""

    name: str
    about: str
    parameters: dict[str, Any]


class Model(Capability):
    """Thinks."""

    # match="name": an answer on record is given from there, whatever the prompt says by then.
    @call(match="name", timeout=120, retry=PATIENT)
    @abstractmethod
    async def answer(self, messages: list[Message], tools: list[Tool]) -> Message: ...


class Orders(Capability):
    """What the tools do to the world."""

    @abstractmethod
    async def find(self, order_id: int) -> str: ...

    @abstractmethod
    async def refund(self, order_id: int, amount: int) -> str: ...


def _tool(name: str, about: str, *arguments: str) -> Tool:
    """A tool that takes whole numbers."""
    properties = {argument: {"type": "integer"} for argument in arguments}
    schema = {"type": "object", "properties": properties, "required": list(arguments)}
    return Tool(name, about, schema)


TOOLS = [
    _tool("find_order", "What was ordered, and its price", "order_id"),
    _tool("refund_order", "Pay an amount back", "order_id", "amount"),
]


class Undecided(AgentError):
    """The model came to no end; whoever asked sees this error."""


class Assistant(Agent):
    """Answers questions."""

    model: Model
    orders: Orders

    @handler
    async def ask(self, question: str) -> str:
        """Let the model use its tools, until it has an answer."""
        messages = [Message("system", PROMPT), Message("user", question)]
        for _ in range(MOST_ROUNDS):
            said = await self.model.answer(messages, TOOLS)
            messages.append(said)
            if not said.calls:
                return said.text
            for one in said.calls:
                messages.append(Message("tool", await self._use(one), answers=one.id))
        raise Undecided(f"no answer after {MOST_ROUNDS} rounds")

    async def _use(self, wanted: ToolCall) -> str:
        """Use a tool; what goes wrong is told to the model, which may try something else."""
        tools: dict[str, Callable[..., Awaitable[str]]] = {
            "find_order": self.orders.find,
            "refund_order": self.orders.refund,
        }
        if wanted.tool not in tools:
            return f"error: there is no tool {wanted.tool}; there are {', '.join(tools)}"
        try:
            return await tools[wanted.tool](**json.loads(wanted.arguments))
        except Exception as error:  # noqa: BLE001 - whatever it is, the model hears of it
            return f"error: {error}"
