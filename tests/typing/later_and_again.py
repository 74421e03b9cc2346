"""Other agents, later, and again: timings hang on the handler and take its arguments."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, assert_type
from zoneinfo import ZoneInfo

from agentctl import (
    Agent,
    BoundHandler,
    Cancellation,
    Capability,
    ScheduleHandle,
    Token,
    backoff,
    handler,
    now,
    query,
)


class Api(Capability):
    @abstractmethod
    async def fetch(self, url: str) -> bool: ...


class Other(Agent):
    key: str

    @handler
    async def total(self) -> int:
        return 1


class Poller(Agent):
    name: str
    api: Api
    failures: int = 0
    stopped: bool = False
    pending: Token[None] | None = None
    state_version: ClassVar[int] = 2

    @classmethod
    def migrate(cls, state: dict[str, Any], version: int) -> dict[str, Any]:
        return state

    @handler
    async def poll(self, endpoint: str) -> None:
        if self.stopped:
            return
        ok = await self.api.fetch(endpoint)
        self.failures = 0 if ok else self.failures + 1
        await self.poll.after(backoff(60, self.failures, cap=3600), name="tick")(endpoint)

    @handler
    async def stop(self) -> None:
        self.stopped = True
        if tick := self.schedules.get("tick"):
            await tick.cancel()

    @query
    async def health(self) -> int:
        return self.failures

    @handler
    async def cleanup(self) -> None: ...

    @handler
    async def report(self) -> None: ...

    @handler
    async def once(self, url: str) -> None:
        self.pending = await self.poll.trigger(key="k", priority="high")(url)
        assert_type(await self.poll.trigger()(url), Token[None])
        assert_type(await self.poll.after(60, name="tick")(endpoint=url), Token[None])
        assert_type(await self.poll.after(timedelta(1), max_late=5)(url), Token[None])
        assert_type(await self.poll.at(now())(url), Token[None])
        assert_type(self.pending.address, str)
        assert_type(self.pending.name, str | None)
        assert_type(self.pending.due, datetime | None)
        assert_type(self.pending.handler, str)
        assert_type(await self.pending.cancel(), Cancellation)
        assert_type(await self.pending.result(), None)

    @handler
    async def again(self) -> None:
        hourly = await self.cleanup.every(timedelta(hours=1), name="cleanup", first=60)()
        assert_type(hourly, ScheduleHandle)
        nine = self.report.cron(
            "0 9 * * 1-5", tz="Europe/Berlin", name="report", missed="all", overlap="queue"
        )
        assert_type(await nine(), ScheduleHandle)
        assert_type(await self.report.cron("0 9 * * *", tz=UTC, name="r")(), ScheduleHandle)
        zone = ZoneInfo("Europe/Berlin")
        await self.report.cron("0 9 * * *", tz=zone, name="r", jitter=60, max_late=timedelta(1))()
        await self.cleanup.every(timedelta(1), name="c", first=timedelta(0), missed="skip")()
        await self.cleanup.every(timedelta(1), name="c", first=now(), overlap="allow", jitter=0.5)()
        assert_type(hourly.name, str)
        assert_type(self.schedules, Mapping[str, ScheduleHandle])
        assert_type(hourly.due, datetime)
        assert_type(hourly.period, timedelta | None)
        assert_type(hourly.handler, str)
        assert_type(await hourly.cancel(), Cancellation)

    @handler
    async def others(self) -> int:
        assert_type(await Other.ref("k").total(), int)
        assert_type(await Other.ref("k", priority="high").total(), int)
        token = await Other.ref("k").total.trigger()()
        assert_type(token, Token[int])
        assert_type(await token.result(), int)
        same: Token[int | str] = token  # a token of what is one is a token of either
        await same.result()
        assert_type(Other.ref("k").total, BoundHandler[[], int])
        later: Awaitable[Token[int]] = Other.ref("k").total.at(now(), name="n", key="k")()
        await later
        return await token.result()

    @handler
    async def keep(self, token: Token[int], handles: list[ScheduleHandle]) -> ScheduleHandle | None:
        await self.keep.after(1)(token, handles=handles)
        assert_type(await token.result(), int)
        return handles[0] if handles else None


class Careful(Poller):
    @handler
    async def poll(self, endpoint: str) -> None:
        await super().poll(endpoint)


async def a_host(poller: Poller) -> None:
    assert_type(await poller.health(), int)
    assert_type(await poller.poll("https://example.org"), None)
    token = await poller.poll.after(timedelta(days=1), key="k")("https://example.org")
    assert_type(token, Token[None])
    assert_type(await token.cancel(), Cancellation)
    assert_type(await poller.cleanup.every(timedelta(1), name="c")(), ScheduleHandle)
    assert_type(poller.schedules["c"].period, timedelta | None)
    assert_type(await Other.ref("k").total.trigger()(), Token[int])
    assert_type(backoff(1, 2, cap=3, factor=1.5), float)
