"""Onboarding: workflows and questions of a project, for tests through processes and commands.

The clerks of the desk stand beside it, for events that sleep, fail and go wrong. Gates are the
desk's: what stands at one goes on once the test opens it, and what needs one fails until then.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .desk import CREW, GATES, closing, serve
from .sailing import Fleet
from .support import Project, Result, Running

PEOPLE = """
from __future__ import annotations

import asyncio
import os
import time
from abc import abstractmethod

from agentctl import (
    Agent, Capability, Fixed, RetryPolicy, StepDef, WaitForInput, Workflow, attempt, blocking,
    call_key, handler, question, resume_input, run_steps, step, wait_for_input, workflow_step,
)
from gates import is_open
from ledger import note


class World(Capability):
    @abstractmethod
    async def mark(self, what: str) -> None: ...

    @abstractmethod
    async def gate(self, name: str) -> None: ...

    @abstractmethod
    async def need(self, name: str) -> None: ...

    @abstractmethod
    async def block(self, name: str) -> str: ...


class Real(World):
    async def mark(self, what: str) -> None:
        note(what, call_key(), attempt())

    async def gate(self, name: str) -> None:
        note("at", name, call_key(), attempt())
        while not is_open(name):
            await asyncio.sleep(0.01)

    async def need(self, name: str) -> None:
        note("need", name, call_key(), attempt())
        if not is_open(name):
            raise OSError(f"{name} is down")

    @blocking
    def block(self, name: str) -> str:
        try_number = attempt()
        note("block", name, call_key(), try_number)
        if try_number == 1:
            time.sleep(0.3)
        return f"{name} {try_number}"


class Onboard(Workflow):  # the second step waits for a person
    user: str
    world: World
    customer: str = ""

    @workflow_step
    async def create(self) -> str:
        await self.world.mark(f"create {self.user}")
        self.customer = f"c-{self.user}"
        return self.customer

    @workflow_step
    async def approval(self) -> str:
        await self.world.mark(f"approval {self.user}")
        if (answer := resume_input(str)) is None:
            raise WaitForInput(f"may {self.user} come in?", str)
        return answer

    @workflow_step
    async def welcome(self) -> str:
        by = self.result(Onboard.approval)
        await self.world.mark(f"welcome {self.user}")
        return f"{self.customer} by {by}"


class Order(Workflow):  # pack stands at a gate, ship fails until a gate is open
    name: str
    world: World

    @workflow_step
    async def pack(self) -> None:
        await self.world.gate(f"{self.name}-pack")
        await self.world.mark(f"packed {self.name}")

    @workflow_step
    async def ship(self) -> None:
        await self.world.need(f"{self.name}-ship")

    @workflow_step
    async def bill(self) -> str:
        await self.world.mark(f"billed {self.name}")
        return self.name


class Mail(Workflow):  # an hour between two attempts
    name: str
    world: World

    @workflow_step(retry=RetryPolicy(max_attempts=3, backoff=Fixed(3600)))
    async def send(self) -> str:
        await self.world.need(f"{self.name}-mail")
        return "sent"


class Trip(Workflow):  # a car that breaks down after two bookings; undoing takes a moment
    name: str
    world: World

    async def unbook(self, what: str) -> None:
        await self.world.mark(f"unbook {self.name} {what}")
        await asyncio.sleep(float(os.environ.get("SLOW", "0")))
        await self.world.mark(f"unbooked {self.name} {what}")

    @workflow_step(compensate=unbook)
    async def flight(self) -> str:
        await self.world.mark(f"book {self.name} flight")
        return "flight"

    @workflow_step(compensate=unbook)
    async def hotel(self) -> str:
        await self.world.mark(f"book {self.name} hotel")
        return "hotel"

    @workflow_step
    async def car(self) -> None:
        await self.world.need(f"{self.name}-car")


class Asker(Agent):  # no state: events side by side
    world: World

    @handler
    async def refund(self, name: str) -> str:
        answer = await wait_for_input(f"refund {name}?", bool)
        await self.world.mark(f"heard {name} {answer}")
        return "paid" if answer else "refused"

    @handler
    async def word(self, name: str) -> str:
        return await wait_for_input(f"a word for {name}?", str)

    @handler
    async def limited(self, name: str, seconds: float) -> str:
        return await wait_for_input(f"in time, {name}?", str, timeout=seconds)

    @handler
    async def early(self, name: str) -> str:
        ask = await question(f"early {name}?", str)
        await self.world.mark(f"posted {name} {ask.key}")
        await self.world.gate(name)
        return await ask

    @handler
    async def two(self, name: str) -> str:
        first = await question(f"first {name}?", str)
        second = await question(f"second {name}?", bool)
        return f"{await first} {await second}"

    @handler
    async def work(self, name: str) -> str:
        await self.world.gate(name)
        return name

    @handler
    async def planned(self, plan: list[StepDef]) -> dict[str, object]:
        return await run_steps(plan, {"one": self.one, "two": self.two_of_a_plan})

    @handler
    async def needs(self, name: str) -> str:
        await self.world.need(name)
        return name

    @handler
    async def blocks(self, name: str) -> str:
        twice = RetryPolicy(max_attempts=2)
        done = await step("block", self.world.block, name, retry=twice, timeout=0.05)
        await asyncio.sleep(0.6)
        return done

    async def one(self) -> int:
        await self.world.mark("plan one")
        return 1

    async def two_of_a_plan(self) -> int:
        await self.world.mark("plan two")
        return 2
"""

ACCEPTED = {
    "Onboard": "people",
    "Order": "people",
    "Mail": "people",
    "Trip": "people",
    "Asker": "people",
    "Clerk": "crew",
    "Desk": "crew",
}


def make_onboarding(project: Project, *agents: str, **settings: str | int | bool) -> Project:
    """A project of these agents (left out: all), whose calls have a short grace."""
    project.write("gates.py", GATES)
    project.write("crew.py", CREW)
    project.write("people.py", PEOPLE)
    written = {"audit": True, "grace": "100ms", **settings}
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in written.items())
    parts = ['[project]\nname = "onboarding"\n']
    for name in agents or ACCEPTED:
        module = ACCEPTED[name]
        parts.append(f'[agents.{name}]\nclass = "{module}:{name}"\n')
        parts.append(f'[agents.{name}.capabilities]\nworld = "{module}:Real"\n')
        parts.append(f"[agents.{name}.settings]\n{lines}")
    project.write("kavach.toml", "\n".join(parts))
    return project


@dataclass
class Office(Project):
    """A project with a program that runs its code; commands on it come out of a fleet."""

    fleet: Fleet | None = None

    def agentctl(self, *args: str, **options: Any) -> Result:
        if self.fleet is None or options:
            return super().agentctl(*args, **options)
        ended = self.fleet.run("-C", str(self.root), *args)
        return Result(("agentctl", *args), ended.code, ended.out, ended.err)


@contextmanager
def office_in(
    folder: Path, fleet: Fleet, *agents: str, **settings: str | int | bool
) -> Iterator[Office]:
    """A running onboarding for the tests of a module, which use names of their own."""
    office = Office.create(folder)
    assert isinstance(office, Office)
    make_onboarding(office, *agents, **settings)
    with closing(office):
        serve_onboarding(office, watched=agents[0] if agents else "Onboard")
        office.fleet = fleet
        yield office


def serve_onboarding(project: Project, *words: str, watched: str = "Onboard") -> Running:
    return serve(project, *words, watched=watched)


def resume(project: Project, *words: str, value: object) -> Result:
    """`invocation resume` with a value as JSON."""
    return project.agentctl("invocation", "resume", *words, "--input", json.dumps(value))


def of_kind(project: Project, agent: str, kind: str) -> list[dict[str, Any]]:
    """The records of the journal whose first key is this one."""
    return [record for record in project.records(agent) if next(iter(record)) == kind]


def document(told: Result, *allowed: int) -> Any:
    """The JSON document of a command, which bears its schema."""
    assert told.code in (allowed or (0,)), told
    found = told.json
    assert str(found["schema"]).startswith("agentctl."), found
    assert str(found["schema"]).endswith("/1"), found
    return found
