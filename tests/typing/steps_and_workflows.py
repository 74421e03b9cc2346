"""Steps, workflows, and a plan as data."""

from __future__ import annotations

from abc import abstractmethod
from datetime import timedelta
from typing import assert_type

from agentctl import (
    Agent,
    Capability,
    Exponential,
    Fixed,
    NonRetryable,
    RetryPolicy,
    StepDef,
    WaitForInput,
    Workflow,
    attempt,
    backoff,
    handler,
    resume_input,
    run_steps,
    step,
    workflow_step,
)


class Payments(Capability):
    @abstractmethod
    async def charge(self, order_id: int) -> str: ...
    @abstractmethod
    async def undo(self, receipt: str) -> None: ...


class Email(Capability):
    @abstractmethod
    async def send(self, to: str) -> None: ...


class Bot(Agent):
    payments: Payments

    @handler
    async def go(self, order_id: int) -> str:
        receipt = await step(
            "charge",
            self.payments.charge,
            order_id,
            retry=RetryPolicy(max_attempts=3, backoff=Exponential(base=1, cap=30)),
            timeout=10,
        )
        assert_type(receipt, str)
        undoable = step("again", self.payments.charge, order_id, compensate=self.payments.undo)
        assert_type(await undoable, str)
        assert_type(await step("two", self.two, 1, "x", timeout=timedelta(1)), tuple[int, str])
        return receipt

    @handler
    async def by_plan(self, plan: list[StepDef]) -> dict[str, object]:
        done = await run_steps(plan, {"a": self.body})
        assert_type(done, dict[str, object])
        assert_type(plan[0].name, str)
        return done

    async def body(self) -> int:
        return 1

    async def two(self, number: int, text: str) -> tuple[int, str]:
        return number, text


class Onboard(Workflow):
    user: str
    email: Email
    customer: str = ""

    @workflow_step(retry=RetryPolicy(max_attempts=3, backoff=Exponential(base=1, cap=30)))
    async def send_welcome_email(self) -> str:
        await self.email.send(self.user)
        self.customer = "c-" + self.user
        return "sent"

    @workflow_step
    async def approval(self) -> str:
        assert_type(resume_input(str), str | None)
        if (answer := resume_input(str)) is None:
            raise WaitForInput("waiting on manager approval", str)
        assert_type(self.result(Onboard.send_welcome_email), str)
        return answer

    async def undo(self, count: int) -> None: ...

    @workflow_step(compensate=undo, retry=RetryPolicy(backoff=Fixed(2), retry_on=(OSError,)))
    async def create(self) -> int:
        if attempt() == 3:
            raise NonRetryable("invalid recipient")
        return 1

    @workflow_step
    async def check(self) -> None:
        assert_type(self.result(Onboard.create), int)


async def a_host() -> None:
    assert_type(await Onboard.ref("ana").run(), object)
    assert_type(backoff(60, 3, cap=3600), float)
