"""Workflows and questions on a fake clock: agents of this process, and programs that are killed.

A journey's world lives in memory. `life` is one program in it; `killed` is what the next program
finds after `kill -9`, and `cut` what it finds if the program died right after a certain record.
What the agents did is one list over all of a journey's programs.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Any

from msgspec import Raw

from agentctl import (
    Agent,
    AgentSettings,
    Capability,
    Fixed,
    Host,
    NonRetryable,
    RetryPolicy,
    WaitForInput,
    Workflow,
    attempt,
    bind,
    call_key,
    handler,
    question,
    resume_input,
    sleep,
    wait_for_input,
    workflow_step,
)
from agentctl.engines.changes import Cancelled, CancelRequest, ResumeRequest
from agentctl.storage.memory import MemoryDisk
from agentctl.testing import Durable, FakeClock

from .rounds import HOUR, START, rest

ENDS = ("done", "failed", "cancelled", "missed")
TURNS = 2000
REQUESTS = count(1)


@dataclass(frozen=True)
class Did:
    """One thing that was done to the world, and in which call and attempt."""

    what: str
    key: str | None
    attempt: int | None
    after: timedelta


class World(Capability):
    """What agents do is kept in a list."""

    async def do(self, what: str) -> str: ...


@dataclass
class Real(World):
    """The list; what fails the next so many times, for good, or is held until it is let go.

    `failing` goes by the whole deed; `hopeless` and `held` by how it begins. Each deed takes
    `turns` of the loop.
    """

    clock: FakeClock
    did: list[Did] = field(default_factory=list)
    failing: dict[str, int] = field(default_factory=dict)
    hopeless: set[str] = field(default_factory=set)
    held: set[str] = field(default_factory=set)
    turns: int = 0

    async def do(self, what: str) -> str:
        after = self.clock.now - START
        self.did.append(Did(what, call_key(), attempt(), after))
        for _ in range(self.turns):
            await asyncio.sleep(0)
        while any(what.startswith(one) for one in self.held):
            await asyncio.sleep(0)
        if any(what.startswith(one) for one in self.hopeless):
            raise NonRetryable(f"{what} is hopeless")
        if self.failing.get(what, 0) > 0:
            self.failing[what] -= 1
            raise OSError(f"{what} is down")
        return what.upper()


class Flow(Workflow):
    """Three steps: the second is tried twice, an hour apart; the first sets the state."""

    name: str
    world: World
    kept: str = ""

    @workflow_step
    async def first(self) -> str:
        done = await self.world.do(f"{self.name} first")
        self.kept = f"kept by {self.name}"
        return done

    @workflow_step(retry=RetryPolicy(max_attempts=2, backoff=Fixed(3600)))
    async def second(self) -> str:
        return await self.world.do(f"{self.name} second")

    @workflow_step
    async def third(self) -> str:
        await self.world.do(f"{self.name} third, {self.kept}")
        return f"{self.result(Flow.first)}, {self.result(Flow.second)}, {self.kept}"


class Strict(Workflow):
    """One step with five attempts."""

    name: str
    world: World

    @workflow_step(retry=RetryPolicy(max_attempts=5, backoff=Fixed(1)))
    async def only(self) -> str:
        return await self.world.do(f"{self.name} only")


class Trip(Workflow):
    """Two steps that can be undone, one that can't, and a last one."""

    name: str
    world: World

    async def unfly(self, flight: str) -> None:
        await self.world.do(f"unfly {flight}")

    async def leave(self, hotel: str) -> None:
        await self.world.do(f"leave {hotel}")

    @workflow_step(compensate=unfly)
    async def flight(self) -> str:
        return await self.world.do(f"{self.name} flight")

    @workflow_step
    async def tell(self) -> str:
        return await self.world.do(f"{self.name} tell")

    @workflow_step(compensate=leave)
    async def hotel(self) -> str:
        return await self.world.do(f"{self.name} hotel")

    @workflow_step
    async def car(self) -> str:
        return await self.world.do(f"{self.name} car")


class Gate(Workflow):
    """Three steps: the middle one waits for a person."""

    name: str
    world: World

    @workflow_step
    async def before(self) -> str:
        return await self.world.do(f"{self.name} before")

    @workflow_step
    async def approval(self) -> str:
        answer = resume_input(str)
        await self.world.do(f"{self.name} approval {answer}")
        if answer is None:
            raise WaitForInput(f"may {self.name} pass?", str)
        return answer

    @workflow_step
    async def behind(self) -> str:
        await self.world.do(f"{self.name} behind")
        return f"passed: {self.result(Gate.approval)}"


class Asker(Agent):
    """Without state: its events wait side by side."""

    world: World

    @handler
    async def ask(self, text: str, seconds: float | None = None) -> str:
        try:
            answer = await wait_for_input(text, bool, timeout=seconds)
        except TimeoutError:
            await self.world.do(f"too late: {text}")
            return "too late"
        await self.world.do(f"heard: {text} {answer}")
        return "yes" if answer else "no"

    @handler
    async def early(self, text: str) -> str:
        ask = await question(text, str)
        await self.world.do(f"posted: {ask.key}")
        return await ask

    @handler
    async def two(self, text: str) -> str:
        first = await question(f"{text} first", str)
        second = await question(f"{text} second", str)
        return f"{await first} {await second}"

    @handler
    async def nap(self, text: str) -> str:
        await sleep(HOUR)
        return await self.world.do(f"slept: {text}")

    @handler
    async def spawn(self, text: str) -> list[str]:
        async def part(number: int) -> str:
            await sleep(60 * number)
            return await self.world.do(f"{text} {number}")

        tasks = [asyncio.create_task(part(number)) for number in (3, 2, 1)]
        return [await task for task in tasks]


AGENTS: tuple[type[Agent], ...] = (Flow, Strict, Trip, Gate, Asker)


class Journey:
    """One world with its clock, its disk and its list; the agents of this module, and others."""

    def __init__(
        self, *others: type[Agent], real: Real | None = None, disk: MemoryDisk | None = None
    ) -> None:
        self.others = others
        self.real = real or Real(FakeClock(START))
        self.clock = self.real.clock
        self.world = Durable(clock=self.clock, disk=disk)

    @asynccontextmanager
    async def life(self) -> AsyncIterator[Host]:
        """One program, from its start, when all that is due by now has run, to its end."""
        settings = AgentSettings(keep=1, audit=True)
        bound = [
            bind(agent, world=self.real, settings=settings) for agent in (*AGENTS, *self.others)
        ]
        async with self.world.host(*bound, jumps=False) as host:
            if not self.real.held:
                await rest(host)
            yield host

    async def pass_time(self, host: Host, duration: timedelta) -> None:
        """Let so much time pass at once, with all that it brings about."""
        self.clock.advance(duration)
        await rest(host)

    def on(self, disk: MemoryDisk) -> Journey:
        """The same on another disk."""
        return Journey(*self.others, real=self.real, disk=disk)

    def killed(self) -> Journey:
        """The same world as the next program finds it after `kill -9` right now."""
        return self.on(self.world.disk.after_kill())

    def cut(self, agent: str, record: str) -> Journey:
        """The world as if the program had died right after the first record with this text."""
        lines = self.world.journals[agent].splitlines(keepends=True)
        last = next(number for number, line in enumerate(lines) if record in line.decode())
        return self.cut_at(agent, last + 1)

    def cut_at(self, agent: str, lines: int) -> Journey:
        """The world as if the program had died after so many of the journal's lines."""
        disk = MemoryDisk()
        for name, content in self.world.journals.items():
            kept = content.splitlines(keepends=True)[: lines if name == agent else None]
            disk.put_file(f"/memory/agents/{name}/journal", b"".join(kept))
        return self.on(disk)

    def records(self, agent: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.world.journals[agent].splitlines()]

    def of_kind(self, agent: str, kind: str) -> list[dict[str, Any]]:
        """The records whose first key is this one."""
        return [record for record in self.records(agent) if next(iter(record)) == kind]

    def steps(self, agent: str) -> list[str]:
        """The names of the steps that are on record as started, in order; undoings too."""
        return [one["step"] for one in self.of_kind(agent, "call") if one["fn"] == "step"]

    def ends(self, agent: str, number: int = 1) -> list[str]:
        """How the event ended, by its journal; more than one would be a contradiction."""
        return [kind for one in self.records(agent) for kind in ENDS if one.get(kind) == number]

    def did(self, beginning: str = "") -> list[str]:
        return [one.what for one in self.real.did if one.what.startswith(beginning)]

    def audit(self, agent: str, verb: str) -> list[str]:
        """The audit log's lines with this verb."""
        text = self.world.disk.read_file(f"/memory/agents/{agent}/audit.log").decode()
        return [line for line in text.splitlines() if f" {verb}: " in line]


async def until(true: Callable[[], object], what: str) -> None:
    """Let the loop turn until something is so."""
    for _ in range(TURNS):
        if true():
            return
        await asyncio.sleep(0)
    raise AssertionError(f"in vain waited for: {what}")


async def cancel(
    host: Host, agent: type[Agent], *identity: str, event: int | None = None
) -> Cancelled:
    """Cancel an event, or an instance's run, as the command does without `--running`."""
    key = "run" if event is None else None
    request = CancelRequest(
        agent.__name__, f"c-{next(REQUESTS)}", identity, event=event, key=key, by="ana"
    )
    told = await host.carry_out(request)
    assert isinstance(told, Cancelled)
    return told


async def answer(
    host: Host,
    agent: type[Agent],
    value: object,
    *,
    identity: tuple[str, ...] = (),
    event: int | None = None,
    call: str | None = None,
) -> None:
    """Answer as `invocation resume` does; `call` is the whole key of a call.

    Raises:
        AgentctlError: it was refused.
    """
    if call is not None:
        _, number, call = call.rsplit("-", 2)
        event = int(number)
    request = ResumeRequest(
        agent=agent.__name__,
        id=f"a-{next(REQUESTS)}",
        identity=identity,
        event=event,
        call=call,
        value=Raw(json.dumps(value).encode()),
        by="ana",
    )
    await host.carry_out(request)
