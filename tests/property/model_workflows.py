"""The model of steps: what a plan comes to, by its policies and what each attempt comes to.

`Planner` runs a plan as data, or by `step`; `Path` is a workflow, whose policies are its own. What
an attempt comes to says the world, by the step's name; `expected` says the same of a whole plan.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentctl import (
    Agent,
    Capability,
    Fixed,
    NonRetryable,
    RetryPolicy,
    StepDef,
    WaitForInput,
    Workflow,
    attempt,
    call_key,
    handler,
    resume_input,
    run_steps,
    step,
    workflow_step,
)

TIMEOUT_S = 0.002
BACKOFF_S = 30.0
PATH_POLICY = RetryPolicy(max_attempts=2, backoff=Fixed(BACKOFF_S))
UNDO_POLICY = RetryPolicy(max_attempts=2, backoff=Fixed(60))


@dataclass
class Planned:
    """One step of a plan.

    Attributes:
        most: how often it may be tried.
        comes_to: what its attempts come to: ok, fail, final, slow; all further ones are ok.
        waits: it needs an input first.
        undo: what the attempts of what undoes it come to; None: nothing does.
    """

    name: str
    most: int
    backoff_s: float
    comes_to: list[str]
    waits: bool
    undo: list[str] | None = None


def attempts_of(comes_to: Sequence[str], most: int) -> tuple[int, str]:
    """How often a step is tried, and how it ends."""
    for number in range(1, most + 1):
        come = comes_to[number - 1] if number <= len(comes_to) else "ok"
        if come == "ok":
            return number, "ok"
        if come == "final":
            return number, "error"
    return most, "error"


class World(Capability):
    async def do(self, name: str) -> str: ...


@dataclass(eq=False)
class Told(World):
    """What steps do to the world, as often as they do it.

    Attributes:
        tables: what each step's attempts come to, by name.
        entered: the attempts that were made, by the step's key.
        settled, tried: what was on record when the program started, and is never made again.
        broken: what was done all the same.
        on_enter: hears of each attempt.
        is_over: the program is dead, and what it goes on to do doesn't count.
    """

    tables: dict[str, list[str]] = field(default_factory=dict)
    entered: dict[str, list[int]] = field(default_factory=dict)
    settled: set[str] = field(default_factory=set)
    tried: set[tuple[str, int]] = field(default_factory=set)
    broken: list[str] = field(default_factory=list)
    on_enter: Callable[[], None] | None = None
    is_over: bool = False

    async def do(self, name: str) -> str:
        number = attempt()
        key = str(call_key()).rpartition(".")[0]
        assert number is not None
        if self.is_over:
            await asyncio.get_running_loop().create_future()
        self.entered.setdefault(key, []).append(number)
        if key in self.settled or (key, number) in self.tried:
            self.broken.append(f"attempt {number} of {key} ({name}) was made again")
        if self.on_enter is not None:
            self.on_enter()
        await asyncio.sleep(0)
        table = self.tables[name]
        come = table[number - 1] if number <= len(table) else "ok"
        if come == "slow":
            await asyncio.get_running_loop().create_future()
        if come == "final":
            raise NonRetryable(name)
        if come == "fail":
            raise ConnectionError(name)
        return name


async def worked(agent: Planner | Path, name: str, *, waits: bool) -> str:
    """A step's code: what it changes of the state before it fails doesn't count."""
    answer = resume_input(str)
    if waits and answer is None:
        raise WaitForInput(name, str)
    agent.done.append(name)
    await agent.world.do(name)
    return f"{name} {answer}"


class Planner(Agent):
    name: str
    world: World
    done: list[str] = []

    @handler
    async def by_step(self, plan: list[Planned]) -> list[str]:
        results = []
        for one in plan:
            results.append(
                await step(
                    one.name,
                    self._body(one),
                    retry=RetryPolicy(one.most, Fixed(one.backoff_s)),
                    timeout=TIMEOUT_S,
                    compensate=None if one.undo is None else self.undo,
                    compensate_retry=UNDO_POLICY,
                )
            )
        return results

    @handler
    async def by_plan(self, plan: list[Planned]) -> list[str]:
        steps = [
            StepDef(one.name, RetryPolicy(one.most, Fixed(one.backoff_s)), TIMEOUT_S)
            for one in plan
        ]
        bodies = {one.name: self._body(one) for one in plan}
        return [str(result) for result in (await run_steps(steps, bodies)).values()]

    def _body(self, one: Planned) -> Callable[[], Any]:
        async def body() -> str:
            return await worked(self, one.name, waits=one.waits)

        return body

    async def undo(self, result: str) -> None:
        await self.world.do(f"undo {result.split(maxsplit=1)[0]}")


class Path(Workflow):
    """Three steps; the second waits, and the last can't be undone."""

    name: str
    world: World
    done: list[str] = []

    async def undo(self, result: str) -> None:
        await self.world.do(f"undo {result.split(maxsplit=1)[0]}")

    @workflow_step(
        retry=PATH_POLICY, timeout=TIMEOUT_S, compensate=undo, compensate_retry=UNDO_POLICY
    )
    async def first(self) -> str:
        return await worked(self, f"{self.name}1", waits=False)

    @workflow_step(
        retry=PATH_POLICY, timeout=TIMEOUT_S, compensate=undo, compensate_retry=UNDO_POLICY
    )
    async def second(self) -> str:
        return await worked(self, f"{self.name}2", waits=True)

    @workflow_step(retry=PATH_POLICY, timeout=TIMEOUT_S)
    async def third(self) -> list[str]:
        mine = await worked(self, f"{self.name}3", waits=False)
        return [self.result(Path.first), self.result(Path.second), mine]
