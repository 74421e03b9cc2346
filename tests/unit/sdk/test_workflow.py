"""A workflow's class, and what its steps hand on."""

from __future__ import annotations

from dataclasses import dataclass

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
