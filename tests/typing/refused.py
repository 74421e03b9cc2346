"""Uses that a type checker must refuse.

Each carries the ignore comments of both checkers, with the rule by which it is refused. The
checkers run with "an ignore comment that isn't needed is an error": a use that begins to pass
fails the check.
"""

from __future__ import annotations

from abc import abstractmethod
from datetime import timedelta

from agentctl import (
    Agent,
    AgentSettings,
    Capability,
    RetryPolicy,
    Token,
    WaitForInput,
    Workflow,
    backoff,
    bind,
    blocking,
    call,
    every,
    handler,
    sleep,
    start,
    step,
    today,
    wait_for_input,
    workflow_step,
)


class Payments(Capability):
    @abstractmethod
    async def charge(self, order_id: int) -> str: ...


class Shop(Payments):
    async def charge(self, order_id: int) -> str:
        return "r"


class WrongResult(Payments):
    async def charge(self, order_id: int) -> int:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        return 1


class WrongArgument(Payments):
    @blocking
    def charge(self, order_id: str) -> str:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        return order_id


class NotAwaitable(Payments):
    def charge(self, order_id: int) -> str:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        return "r"


class Bot(Agent):
    payments: Payments
    pending: Token[str] | None = None

    @handler
    async def request(self, order_id: int) -> str:
        return await self.payments.charge(order_id)

    @handler  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    def not_async(self) -> str:
        return ""

    @handler
    async def lone(self) -> None: ...

    @handler(exclusive="yes")  # type: ignore[call-overload, untyped-decorator]  # pyright: ignore[reportArgumentType]
    async def unsure(self) -> None: ...

    @handler
    async def inside(self) -> None:
        await self.payments.charge("7")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        await self.payments.refund(7)  # type: ignore[attr-defined]  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue]
        await sleep("1d")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        today()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
        await wait_for_input("really?", True)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        await step("charge", self.payments.charge, "7")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        await step("charge", self.payments.charge)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        await step("charge", self.payments.charge, 7, retry=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    @handler
    async def timed(self) -> None:
        await self.request.after(60)("7")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        await self.request.after(60)()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
        await self.request.after(60, nme="x")(7)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
        await self.request.trigger()(order="7")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
        await self.request.trigger(priority="urgent")(7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        await self.request.at("tomorrow")(7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        await self.request.every(60, name="hourly")(7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        await self.request.every(timedelta(1))(7)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
        await self.request.cron("0 9 * * *", name="nine")(7)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
        self.pending = await self.lone.trigger()()  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]

    @handler
    async def again(self) -> None:
        async for _ in every(300):  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
            break
        backoff(60, 3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
        await self.lone.every(timedelta(1), name="n", missed="most")()  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        await self.lone.cron("0 9 * * *", tz=2, name="n")()  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        await self.lone.trigger()  # type: ignore[misc]  # pyright: ignore[reportGeneralTypeIssues]
        self.schedules["n"] = None  # type: ignore[index]  # pyright: ignore[reportIndexIssue]


class Onboard(Workflow):
    async def undo(self, count: int) -> None: ...

    @workflow_step(compensate=undo)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    async def wrong_result(self) -> str:
        return "x"

    @workflow_step  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    async def takes_more(self, more: int) -> None: ...

    @workflow_step
    async def waits(self) -> None:
        raise WaitForInput("why")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


class Odd(Capability):
    @call(match="nothing")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    async def fetch(self) -> None: ...

    @call(record="hash", retry=RetryPolicy(attempts=3))  # type: ignore[arg-type, call-arg]  # pyright: ignore[reportArgumentType, reportCallIssue]
    async def push(self) -> None: ...


async def a_host(bot: Bot) -> None:
    await bot.request("7")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await bot.request()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    await bot.nothing()  # type: ignore[attr-defined]  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue]
    async with start(Bot, payments=1):  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        ...
    async with start(Shop):  # type: ignore[type-var]  # pyright: ignore[reportArgumentType]
        ...
    bind(Bot, payments=Shop(), settings={})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    AgentSettings(max_start=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    Bot.ref("k", priority="urgent")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    AgentSettings(permits={"urgent": 1})  # type: ignore[dict-item]  # pyright: ignore[reportArgumentType]
    Bot.ref(1.5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    number: int = await bot.request(7)  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    print(number)
