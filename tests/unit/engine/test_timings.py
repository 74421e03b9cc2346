"""What timings made: waited for, cancelled, and left alone when nobody waits any more."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from agentctl import Agent, Cancellation, Capability, bind, handler
from agentctl.engines.changes import Cancelled, CancelRequest
from agentctl.engines.port import InvokeRequest
from agentctl.errors import Interrupted
from agentctl.records import kind_of
from agentctl.testing import Durable


class Door(Capability):
    @abstractmethod
    async def open(self) -> int: ...


class Held(Door):
    """A door at which a call waits."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.let_in = asyncio.Event()

    async def open(self) -> int:
        self.entered.set()
        await self.let_in.wait()
        return 1


class Slow(Door):
    async def open(self) -> int:
        for _ in range(5):
            await asyncio.sleep(0)
        return 5


class Worker(Agent):
    door: Door

    @handler
    async def work(self) -> int:
        return await self.door.open()


class Heir(Agent):
    @handler
    async def follow(self, number: int) -> None:
        await self.follow.after(timedelta(days=1), key=f"day-{number}")(number + 1)
        passing = await self.follow.after(timedelta(days=900), name=f"never-{number}")(0)
        await passing.cancel()


class Boss(Agent):
    door: Door

    @handler
    async def wait_first(self) -> int:
        token = await Worker.ref().work.after(1)()
        return await token.result() + await self.door.open()

    @handler
    async def delegate(self) -> int:
        token = await Worker.ref().work.trigger()()
        return await token.result()


def asked(name: str) -> InvokeRequest:
    return InvokeRequest("Boss", (), name)


def test_an_event_that_goes_on_with_an_outcome_runs_and_is_not_cancelled_as_if_it_waited() -> None:
    async def life() -> Any:
        world, held = Durable(), Held()
        async with world.host(bind(Boss, door=held), bind(Worker, door=Slow()), jumps=False) as one:
            event = await one.submit(asked("wait_first"))
            await one.idle()
            world.clock.advance(1)
            await held.entered.wait()
            answer = await one.carry_out(CancelRequest("Boss", "", (), event.event))
            held.let_in.set()
            return answer, await one.ended(event)

    answer, ended = asyncio.run(life())
    assert isinstance(answer, Cancelled)
    assert (answer.answer, ended.result) == (Cancellation.RUNNING, b"6")


def test_a_program_is_not_idle_while_an_outcome_is_on_its_way() -> None:
    async def life() -> Any:
        world = Durable()
        async with world.host(
            bind(Boss, door=Slow()), bind(Worker, door=Slow()), jumps=False
        ) as one:
            await one.submit(asked("delegate"))
            await one.idle()
            return dict(one.engine.agents["Boss"].open)

    assert asyncio.run(life()) == {}


def test_a_kept_handle_cancels_its_schedule_however_often_that_has_fired() -> None:
    async def life() -> Any:
        world = Durable()
        async with world.host(bind(Worker, door=Slow()), jumps=False) as one:
            work = Worker.ref().work
            handles = [
                await work.cron("* * * * *", tz="UTC", name="cron")(),
                await work.every(timedelta(minutes=1), name="every")(),
            ]
            world.clock.advance(61)
            await one.idle()
            answers = [await handle.cancel() for handle in handles]
            return answers, dict(Worker.ref().schedules)

    assert asyncio.run(life()) == ([Cancellation.CANCELLED] * 2, {})


@pytest.mark.parametrize("name", ["tick", None])
def test_who_waits_for_an_outcome_hears_that_the_program_stopped(name: str | None) -> None:
    async def life() -> Any:
        async with Durable().host(bind(Worker, door=Slow()), jumps=False):
            token = await Worker.ref().work.after(60, name=name)()
            waiting = asyncio.ensure_future(token.result())
            await asyncio.sleep(0)
        with pytest.raises(Interrupted):
            await token.result()
        return await waiting

    with pytest.raises(Interrupted):
        asyncio.run(asyncio.wait_for(life(), 10))


def test_who_gives_up_waiting_for_a_schedule_leaves_nothing_behind() -> None:
    async def life() -> Any:
        async with Durable().host(bind(Worker, door=Slow()), jumps=False) as one:
            token = await Worker.ref().work.after(60, name="tick")()
            for _ in range(3):
                waiting = asyncio.ensure_future(token.result())
                await asyncio.sleep(0)
                waiting.cancel()
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            return dict(one.engine.agents["Worker"].waiters._moves)

    assert asyncio.run(life()) == {}


def test_what_keys_and_schedules_leave_behind_is_forgotten_though_nobody_invokes() -> None:
    async def life() -> Any:
        world = Durable()
        async with world.host(bind(Heir), jumps=False) as one:
            await Heir.ref().follow(0)
            for _ in range(30):
                world.clock.jump()
                await one.idle()
            history = one.engine.agents["Heir"].history
            return len(history.outcomes), len(history.schedules.gone)

    outcomes, gone = asyncio.run(life())
    assert max(outcomes, gone) <= 8  # `retention` is a week


def test_r18_what_an_event_cancels_goes_on_record_with_the_calls_result() -> None:
    async def life() -> Any:
        world = Durable()
        async with world.host(bind(Heir), jumps=False) as one:
            store = one.engine.agents["Heir"].store
            writes: list[list[str]] = []
            append = store.append

            def noted(bodies: Sequence[bytes]) -> int:
                writes.append([kind_of(body) for body in bodies])
                return append(bodies)

            store.append = noted  # type: ignore[method-assign]
            await Heir.ref().follow(0)
            return [kinds for kinds in writes if "unschedule" in kinds]

    assert asyncio.run(life()) == [["answered", "unschedule", "ok"]]
