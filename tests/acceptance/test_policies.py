"""Policies that make no sense, plans that can't be run: refused clearly, before anything runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from agentctl import (
    Agent,
    Capability,
    Exponential,
    Fixed,
    RetryPolicy,
    StepDef,
    Workflow,
    attempt,
    call,
    call_key,
    handler,
    run_steps,
    start,
    step,
    workflow_step,
)
from agentctl.errors import AgentctlError, UsageError

from .desk import open_gate
from .onboarding import make_onboarding
from .support import Project

NONSENSE: dict[str, tuple[Callable[[], object], str]] = {
    "no attempt": (lambda: RetryPolicy(max_attempts=0), "max_attempts"),
    "less than none": (lambda: RetryPolicy(max_attempts=-1), "max_attempts"),
    "cap below base": (lambda: Exponential(base=10, cap=1), "cap"),
    "base below 0": (lambda: Exponential(base=-1, cap=1), "base"),
    "factor below 1": (lambda: Exponential(base=1, cap=2, factor=0.5), "factor"),
    "delay below 0": (lambda: Fixed(-1), "delay"),
    "endless delay": (lambda: Fixed(float("inf")), "delay"),
    "no number": (lambda: Fixed(float("nan")), "delay"),
    "jitter below 0": (lambda: RetryPolicy(jitter=-0.1), "jitter"),
    "jitter above 1": (lambda: RetryPolicy(jitter=1.5), "jitter"),
    "call timeout": (lambda: call(timeout=-1), "timeout"),
}


@pytest.mark.parametrize("case", NONSENSE)
def test_a_policy_that_makes_no_sense_is_refused_where_it_is_written(case: str) -> None:
    make, word = NONSENSE[case]
    with pytest.raises(UsageError, match=word):
        make()


def test_a_policy_that_makes_sense_is_not() -> None:
    backoff = Exponential(base=1, cap=1)
    assert RetryPolicy(max_attempts=1, backoff=backoff, jitter=1.0).backoff is backoff
    assert Fixed(0).delay == 0


def test_a_workflow_step_with_a_timeout_below_0_is_refused() -> None:
    with pytest.raises(UsageError, match="timeout"):

        class Bad(Workflow):
            @workflow_step(timeout=timedelta(seconds=-1))
            async def only(self) -> None: ...


class World(Capability):
    async def do(self, what: str) -> str: ...


class Real(World):
    def __init__(self) -> None:
        self.did: list[str] = []
        self.failing = 0

    async def do(self, what: str) -> str:
        self.did.append(what)
        if self.failing > 0:
            self.failing -= 1
            raise OSError(f"{what} is down")
        return what.upper()


class Planner(Agent):
    world: World

    @handler
    async def planned(self, names: list[str]) -> dict[str, object]:
        plan = [StepDef(name, RetryPolicy(max_attempts=2)) for name in names]
        return await run_steps(plan, {"one": self.one, "two": self.two})

    async def one(self) -> str:
        return await self.world.do("one")

    async def two(self) -> str:
        return await self.world.do("two")

    @handler
    async def picky(self) -> str:
        policy = RetryPolicy(max_attempts=3, retry_on=(ConnectionError,))
        return await step("picky", self.one, retry=policy)

    @handler
    async def nested(self) -> str:
        return await step("outer", self.inner)

    async def inner(self) -> str:
        await asyncio.sleep(0)  # the ordinary loop's, not the journal's
        return await step("inner", self.one)


@pytest.fixture
def real() -> Real:
    return Real()


def run(tmp_path: Path, real: Real, handler: str, *args: object) -> object:
    async def life() -> object:
        async with start(Planner, root=tmp_path, world=real) as planner:
            return await getattr(planner, handler)(*args)

    return asyncio.run(life())


def journal(tmp_path: Path) -> str:
    return (tmp_path / "agents" / "Planner" / "journal").read_text(encoding="utf-8")


def test_a_plan_runs_in_its_order_with_its_policies(tmp_path: Path, real: Real) -> None:
    real.failing = 1
    result = run(tmp_path, real, "planned", ["two", "one"])
    assert result == {"two": "TWO", "one": "ONE"}
    assert list(result) == ["two", "one"]  # type: ignore[call-overload]
    assert real.did == ["two", "two", "one"]


def test_a_plan_with_an_unknown_body_fails_before_any_step_runs(tmp_path: Path, real: Real) -> None:
    with pytest.raises(AgentctlError, match="three"):
        run(tmp_path, real, "planned", ["one", "three"])
    assert real.did == []
    assert '"fn":"step"' not in journal(tmp_path)
    assert '{"failed":1' in journal(tmp_path)


def test_a_plan_that_names_a_step_twice_is_refused(tmp_path: Path, real: Real) -> None:
    """Its results go by name, so one of two would be lost without a word."""
    with pytest.raises(AgentctlError, match="one"):
        run(tmp_path, real, "planned", ["one", "one"])
    assert real.did == []


def test_retry_on_leaves_other_errors_as_they_are(tmp_path: Path, real: Real) -> None:
    real.failing = 1
    with pytest.raises(OSError, match="one is down"):
        run(tmp_path, real, "picky")
    assert real.did == ["one"]
    assert '{"tried"' not in journal(tmp_path)


def test_a_step_inside_a_step_says_what_to_do_instead(tmp_path: Path, real: Real) -> None:
    with pytest.raises(AgentctlError):
        run(tmp_path, real, "nested")
    assert real.did == []


PLAN = [{"name": "one"}, {"name": "three"}]


def test_by_the_command_a_plan_as_data(project: Project) -> None:
    make_onboarding(project, "Asker")
    told = project.agentctl("invoke", "Asker", "planned", json.dumps(PLAN))
    told.expect_error(1, "three")
    assert project.ledger() == []
    done = project.agentctl("invoke", "Asker", "planned", json.dumps(PLAN[:1])).expect(0)
    assert done.json == {"one": 1}


def test_by_the_command_a_senseless_policy_of_a_plan(project: Project) -> None:
    make_onboarding(project, "Asker")
    plan = json.dumps([{"name": "one", "retry": {"max_attempts": 0}}])
    project.agentctl("invoke", "Asker", "planned", plan).expect_error(2, "max_attempts")


@pytest.mark.parametrize(
    ("retry", "word"),
    [
        ("{ max_attempts = 0 }", "max_attempts"),
        ('{ max_attempts = 3, base = "10s", cap = "1s" }', "cap"),
        ('{ max_attempts = 3, base = "-1s", cap = "1s" }', "base"),
        ("{ max_attempts = 3, jitter = 2.0 }", "jitter"),
    ],
    ids=["attempts", "cap", "base", "jitter"],
)
def test_in_the_file_it_is_refused_with_its_line(project: Project, retry: str, word: str) -> None:
    make_onboarding(project, "Asker")
    written = f'world = {{ use = "people:Real", retry = {retry} }}'
    project.edit("kavach.toml", 'world = "people:Real"', written)
    told = project.agentctl("invoke", "Asker", "planned", "[]")
    told.expect_error(7, "kavach.toml:", word)


def test_in_the_code_it_is_refused_when_the_class_is_loaded(project: Project) -> None:
    make_onboarding(project, "Mail")
    project.edit("people.py", "max_attempts=3", "max_attempts=0")
    project.agentctl("invoke", 'Mail("x")', "run").expect_error(7, "max_attempts")


def test_in_the_file_it_holds_for_each_call(project: Project) -> None:
    make_onboarding(project, "Asker")
    retry = '{ max_attempts = 3, base = "10ms", cap = "20ms" }'
    project.edit("kavach.toml", '"people:Real"', f'{{ use = "people:Real", retry = {retry} }}')
    project.agentctl("invoke", "Asker", "needs", "it").expect_error(1, "it is down")
    assert project.ledger() == [f"need it Asker-1-1 {number}" for number in (1, 2, 3)]
    text = project.journal_path("Asker").read_text(encoding="utf-8")
    assert (text.count('{"tried":"1-1"'), text.count('{"attempt":"1-1"')) == (2, 2)
    open_gate(project, "it")
    assert project.agentctl("invoke", "Asker", "needs", "it").expect(0).json == "it"


def test_a_thread_that_cannot_be_stopped_has_its_late_result_dropped(project: Project) -> None:
    make_onboarding(project, "Asker")
    told = project.agentctl("invoke", "Asker", "blocks", "it").expect(0)
    assert told.json == "it 2"
    assert [line.split()[-1] for line in project.ledger("block ")] == ["1", "2"]
    assert "Asker-1-1" in told.err, "nothing is said of the late result"
    assert "it 1" not in project.journal_path("Asker").read_text(encoding="utf-8")


class Policied(Capability):
    @call(retry=RetryPolicy(max_attempts=3, backoff=Fixed(0.01)))
    async def do(self, what: str) -> str: ...


class Thrice(Policied):
    def __init__(self) -> None:
        self.attempts: list[tuple[int | None, str | None]] = []

    async def do(self, what: str) -> str:
        self.attempts.append((attempt(), call_key()))
        if len(self.attempts) < 3:
            raise OSError(f"{what} is down")
        return what.upper()


class Caller(Agent):
    policied: Policied

    @handler
    async def go(self) -> str:
        return await self.policied.do("it")


def test_a_call_with_a_policy_is_made_again_before_anything_reaches_the_handler(
    tmp_path: Path,
) -> None:
    thrice = Thrice()

    async def life() -> str:
        async with start(Caller, root=tmp_path, policied=thrice) as caller:
            return await caller.go()

    assert asyncio.run(life()) == "IT"
    assert thrice.attempts == [(number, "Caller-1-1") for number in (1, 2, 3)]
