"""The assistant of its template is killed at every point, and asks and does nothing twice.

An answer of the model costs money, a tool moves it: what is on record of either is given from
there. A prompt that was changed before the restart must make no difference to that.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from matrix import Scenario, die_everywhere
from mortal import Life, State
from mortal_world import World, check_rest

from agentctl import bind
from agentctl.engines.port import InvokeRequest
from agentctl.storage.memory import MemoryDisk

TEMPLATE = Path(__file__).parents[2] / "templates" / "assistant"
QUESTION = "Please refund order 7"


@pytest.fixture(scope="module")
def helpdesk() -> Iterator[SimpleNamespace]:
    """The template's code; its modules are forgotten afterwards."""
    sys.path.insert(0, str(TEMPLATE))
    try:
        from helpdesk import assistant, world

        yield SimpleNamespace(assistant=assistant, world=world)
    finally:
        sys.path.remove(str(TEMPLATE))
        for name in [name for name in sys.modules if name.partition(".")[0] == "helpdesk"]:
            del sys.modules[name]


def living(helpdesk: SimpleNamespace, life: Life) -> dict[str, Any]:
    """The template's own world; whoever calls it is seen by the world of the matrix."""

    class Model(helpdesk.world.Scripted):
        async def answer(self, messages: list[Any], tools: list[Any]) -> Any:
            life.enter("answer", (len(messages),), [])
            return await super().answer(messages, tools)

    class Orders(helpdesk.world.Shop):
        async def find(self, order_id: int) -> str:
            life.enter("find", (order_id,), [])
            return await super().find(order_id)

        async def refund(self, order_id: int, amount: int) -> str:
            life.enter("refund", (order_id, amount), [])
            return await super().refund(order_id, amount)

    return {"model": Model(), "orders": Orders()}


def asking(helpdesk: SimpleNamespace, prompt: Callable[[Life], str]) -> Any:
    """A program that is asked one question, with whatever prompt it has in this life."""
    Assistant = helpdesk.assistant.Assistant

    async def step(life: Life) -> None:
        helpdesk.assistant.PROMPT = prompt(life)
        host = await life.start(bind(Assistant, **living(helpdesk, life)))
        try:
            if not life.world.requests:
                request = InvokeRequest("Assistant", (), "ask", (QUESTION,), key="order-7")
                life.world.accepted((await host.submit(request)).event)
                life.world.requests += 1
            await life.rest()
        except BaseException:
            if not life.disk.dead:  # as `async with` would
                await life.stop()
            raise
        await life.stop()

    return step


def checked(world: World, disk: MemoryDisk) -> None:
    """Three answers and two tools: no further call was made, and none with other arguments."""
    check_rest(world, disk, "Assistant")
    assert world.made.keys() == {f"Assistant-1-{n}" for n in range(1, 6)}


def test_killed_anywhere_it_pays_for_no_answer_twice_and_uses_each_tool_once(helpdesk, capsys):
    def prompt(life: Life) -> str:
        return f"The prompt as it is in life {life.world.lives}."

    scenario = Scenario("Assistant", (asking(helpdesk, prompt),), checked)
    assert die_everywhere(scenario, State.fresh(), seeds=1).points > 30
