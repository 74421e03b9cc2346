"""R16: to wait for an outcome that waits for oneself is refused, whichever wait was there first."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentctl import Agent, Token, WouldDeadlock, bind, handler, sleep
from agentctl.engines.local.asking import deadlocks
from agentctl.hosting import Host
from agentctl.sdk.ops import Target
from agentctl.testing import Durable


class Holder(Agent):
    """With state: each of its handlers holds the instance."""

    name: str
    runs: int = 0

    @handler
    async def note(self) -> str:
        self.runs += 1
        return self.name

    @handler
    async def hear(self, how: str) -> str:
        go = Go.ref()
        if how == "trigger":
            token = await go.between.trigger()(self.name)
        elif how == "name":
            token = await go.between.after(5, name="tick")(self.name)
        else:
            token = await go.between.after(5)(self.name)
        if how == "later":
            await sleep(60)
        return await token.result()

    @handler
    async def wait_for(self, token: Token[str]) -> str:
        return await token.result()

    @handler
    async def own(self, name: str | None) -> str:
        return await (await self.note.after(5, name=name)()).result()


class Go(Agent):
    """Without state: asks on behalf of others."""

    @handler
    async def between(self, name: str) -> str:
        await sleep(1)
        return await Holder.ref(name).note()

    @handler
    async def wait_for(self, token: Token[str]) -> str:
        return await token.result()


def world_of(durable: Durable) -> Host:
    return durable.host(bind(Holder), bind(Go))


async def asks(host: Host, name: str, handler: str, *args: Any) -> Any:
    asked = host.engine.invoker.invoke(Target("Holder", (name,), handler), args, {})
    return await asyncio.wait_for(asked, 10)


@pytest.fixture
def durable() -> Durable:
    return Durable()


@pytest.mark.parametrize("how", ["trigger", "after", "later", "name"])
def test_r16_waiting_for_one_that_asks_oneself_would_deadlock(durable: Durable, how: str) -> None:
    async def life() -> None:
        async with world_of(durable) as host:
            with pytest.raises(WouldDeadlock):
                await asks(host, "a", "hear", how)
            assert await asks(host, "a", "note") == "a", "nobody holds it any more"

    asyncio.run(life())


@pytest.mark.parametrize("name", [None, "tick"])
def test_r16_waiting_for_ones_own_instance_would_deadlock(
    durable: Durable, name: str | None
) -> None:
    async def life() -> None:
        async with world_of(durable) as host:
            with pytest.raises(WouldDeadlock):
                await asks(host, "a", "own", name)

    asyncio.run(life())


def test_r16_several_may_wait_for_one_outcome_and_each_is_in_the_line(durable: Durable) -> None:
    """`a` waits for what asks `a`, and is refused, though `b` was the last to wait for it."""

    async def life() -> list[Any]:
        async with world_of(durable) as host:
            token = await Go.ref().between.after(5)("a")
            waits = (asks(host, one, "wait_for", token) for one in "ab")
            return await asyncio.gather(*waits, return_exceptions=True)

    first, second = asyncio.run(life())
    assert {type(first), type(second)} <= {WouldDeadlock, str}
    assert WouldDeadlock in (type(first), type(second))


def test_r16_a_circle_whose_waits_are_both_on_record_is_seen_at_the_start(
    durable: Durable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash between a question and its refusal leaves both on record."""

    async def life() -> None:
        async with world_of(durable) as host:
            await Holder.ref("a").hear.trigger(key="k")("after")
            for _ in range(2000):
                await asyncio.sleep(0)
            assert host.engine.quiet

    with monkeypatch.context() as patch:
        patch.setattr(deadlocks, "check_event", lambda *_, **__: None)
        patch.setattr(deadlocks, "check", lambda *_: None)
        asyncio.run(life())
    assert b'"fn":"result"' in durable.journals["Holder"]
    assert b'"failed"' not in durable.journals["Holder"], "there it waits for itself"
    asyncio.run(life())
    assert b"WouldDeadlock" in durable.journals["Holder"]
