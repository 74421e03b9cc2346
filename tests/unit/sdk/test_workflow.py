"""A workflow's class, and what its steps hand on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from agentctl import Agent, RetryPolicy, Workflow, attempt, handler, step, workflow_step
from agentctl.errors import BadAgentClass
from agentctl.testing import Durable


class Trip(Workflow):
    @workflow_step
    async def first(self) -> list[int]:
        return [1]

    @workflow_step(retry=RetryPolicy(2))
    async def second(self) -> list[int]:
        found = self.result(Trip.first)
        found.append(2)
        if attempt() == 1:
            raise OSError
        return found


def test_what_an_attempt_does_to_an_earlier_result_goes_with_it() -> None:
    assert Durable().run(Trip, "run") == [1, 2]


def test_a_step_s_place_is_taken_by_a_step_alone() -> None:
    async def first(_self: Trip) -> list[int]:
        return [7]

    type("Longer", (Trip,), {"first": workflow_step(first)})
    with pytest.raises(BadAgentClass, match=r"Longer\.first takes the place of a step"):
        type("Longer", (Trip,), {"first": first})


@dataclass
class Account:
    balance: int = 0

    def __post_init__(self) -> None:
        if self.balance < 0:
            raise ValueError("overdrawn")


class Bank(Agent):
    account: Account = Account()

    @handler
    async def draw(self) -> str:
        try:
            await step("draw", self.overdraw)
        except Exception as error:
            return f"{error}: {self.account.balance}"
        return "drawn"

    async def overdraw(self) -> None:
        self.account.balance -= 1


def test_a_state_that_could_not_be_read_back_fails_its_step() -> None:
    said = Durable().run(Bank, "draw")
    assert said.startswith("the step draw: the state account")
    assert said.endswith(": 0")


async def _with_argument(_self: Trip, more: int) -> int:
    return more


async def _alone(_self: Trip) -> int:
    return 1


async def _undo(_self: Trip, result: int) -> None: ...


def _plain(_self: Trip) -> int:
    return 1


@pytest.mark.parametrize(
    ("fn", "options", "told"),
    [
        (_plain, {}, "is no `async def`"),
        (_with_argument, {}, "takes more than self"),
        (_alone, {"compensate": "undo"}, "what undoes the step _alone is 'undo'"),
        (_alone, {"compensate": _alone}, "what undoes the step _alone"),
        (_alone, {"retry": 3}, "retry=3"),
        (_alone, {"compensate": _undo, "compensate_retry": 3}, "retry=3"),
    ],
)
def test_a_step_that_could_not_run_is_refused_where_it_is_written(
    fn: Any, options: dict[str, Any], told: str
) -> None:
    with pytest.raises(BadAgentClass, match=told):
        workflow_step(**options)(fn)


def test_a_step_that_is_fine_is_taken_with_all_its_options() -> None:
    options = {"compensate": _undo, "compensate_retry": RetryPolicy(2), "retry": RetryPolicy(3)}
    assert workflow_step(**options, timeout=3)(_alone).fn is _alone
