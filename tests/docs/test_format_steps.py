"""The reader made from the pages tells attempts, backoffs and inputs as the program does."""

from __future__ import annotations

from datetime import timedelta

from agentctl import (
    Agent,
    Capability,
    Fixed,
    RetryPolicy,
    WaitForInput,
    Workflow,
    handler,
    resume_input,
    wait_for_input,
    workflow_step,
)
from agentctl.testing import Durable

from .reader import attempt, open_events, records, waits


class World(Capability):
    async def ship(self, order: str) -> str: ...


class Down(World):
    async def ship(self, order: str) -> str:
        raise OSError("nobody answers")


class Up(World):
    async def ship(self, order: str) -> str:
        return f"parcel {order}"


class Delivery(Workflow):
    order: str
    world: World
    parcel: str = ""

    @workflow_step(retry=RetryPolicy(max_attempts=3, backoff=Fixed(3600)))
    async def ship(self) -> str:
        self.parcel = await self.world.ship(self.order)
        return self.parcel

    @workflow_step
    async def sign(self) -> str:
        if (name := resume_input(str)) is None:
            raise WaitForInput("who signs?", str)
        return name


def test_the_reader_follows_a_workflow_through_a_backoff_and_an_input() -> None:
    durable = Durable()
    durable.trigger(Delivery, "run", identity=("a",), world=Down())
    (event,) = open_events(records(durable.journals["Delivery"])).values()
    begun = durable.clock.now_us()
    tried = event["stands"]["1-1"]
    assert (tried["type"], tried["next"] - begun) == ("builtins.OSError", 3_600_000_000)
    assert attempt(event, "1-1") == 2
    durable.pass_time(Delivery, timedelta(hours=1), world=Down())
    (event,) = open_events(records(durable.journals["Delivery"])).values()
    assert attempt(event, "1-1") == 3
    durable.pass_time(Delivery, timedelta(hours=1), world=Up())
    (event,) = open_events(records(durable.journals["Delivery"])).values()
    assert event["outcomes"]["1-1"]["state"] == {"parcel": "parcel a"}
    assert waits(event) == {"1-2": ("who signs?", "str")}
    durable.resume(Delivery, "Delivery/a-1-2", "ana", world=Up())
    assert open_events(records(durable.journals["Delivery"])) == {}


class Desk(Agent):
    @handler
    async def refund(self, amount: int) -> bool:
        return await wait_for_input(f"refund {amount}?", bool)


def test_the_reader_finds_an_open_question_and_its_answer() -> None:
    durable = Durable()
    for amount in (7, 8):
        durable.trigger(Desk, "refund", amount)
    durable.resume(Desk, "Desk-2-1", True, by="ana")
    (event,) = open_events(records(durable.journals["Desk"])).values()
    assert waits(event) == {"1-1": ("refund 7?", "bool")}
    answered, fired = [r for r in records(durable.journals["Desk"]) if "2-1" in r.values()][1:]
    assert (answered["answer"], answered["value"], answered["by"]) == ("2-1", True, "ana")
    assert "fired" in fired
