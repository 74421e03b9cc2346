"""What isn't over in time is stopped; what can't be stopped is left behind, and said so."""

from __future__ import annotations

import asyncio
import threading

import pytest

from agentctl import (
    Agent,
    Capability,
    RetryPolicy,
    WaitForInput,
    attempt,
    call,
    handler,
    step,
)
from agentctl.engines.local.events import within as module
from agentctl.engines.local.events.within import within
from agentctl.errors import UsageError
from agentctl.testing import Durable

A_MOMENT_US = 10_000


class Stubborn:
    """Code that goes on although it was cancelled."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.over = asyncio.Event()

    async def __call__(self) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await self.go_on.wait()
            self.over.set()
        return "late"


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(module, "STOPS_WITHIN_S", 0.01)


def test_what_comes_in_time_comes_through():
    async def works() -> int:
        return 7

    async def fails() -> int:
        raise KeyError("x")

    assert asyncio.run(within(A_MOMENT_US, works(), "Bot-1-1: x")) == 7
    with pytest.raises(KeyError):
        asyncio.run(within(A_MOMENT_US, fails(), "Bot-1-1: x"))


def test_q3_what_swallows_its_cancellation_is_left_behind_and_told_when_it_ends(caplog):
    async def life() -> None:
        code = Stubborn()
        with pytest.raises(TimeoutError, match=r"longer than 0\.01 s"):
            await within(A_MOMENT_US, code(), "Bot-1-1: x")
        assert not caplog.messages
        code.go_on.set()
        await code.over.wait()
        await asyncio.sleep(0)

    asyncio.run(life())
    assert caplog.messages == [
        "Bot-1-1: x went on after its time was over; what came of it is dropped"
    ]


def test_what_cleans_up_when_it_is_stopped_has_the_time_for_it_and_is_not_told_of(caplog):
    cleaned = []

    async def tidy() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append("up")

    with pytest.raises(TimeoutError):
        asyncio.run(within(A_MOMENT_US, tidy(), "Bot-1-1: x"))
    assert (cleaned, caplog.messages) == (["up"], [])


def test_who_is_dropped_from_outside_stops_the_code_too():
    async def life() -> bool:
        code = Stubborn()
        code.go_on.set()
        task = asyncio.ensure_future(within(60_000_000, code(), "Bot-1-1: x"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return code.over.is_set()

    assert asyncio.run(life())


class World(Capability):
    made: list[int] = []

    async def note(self) -> None:
        self.made.append(attempt() or 0)

    @call(timeout=5)
    async def exit(self) -> None:
        raise SystemExit(3)

    async def waits(self) -> None:
        raise WaitForInput("for whom?", str)


class Bot(Agent):
    world: World

    @handler
    async def dies(self) -> None:
        await self.world.exit()

    @handler
    async def asks(self) -> str:
        try:
            await self.world.waits()
        except UsageError as error:
            return error.message
        return "asked"

    @handler
    async def lingers(self) -> None:
        again, ended = asyncio.Event(), threading.Event()

        async def body() -> None:
            if attempt() == 2:
                again.set()
                while not ended.is_set():
                    await asyncio.sleep(0)
                return
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                await again.wait()
            try:
                await self.world.note()
            finally:
                ended.set()

        await step("body", body, timeout=0.02, retry=RetryPolicy(max_attempts=2))


def test_an_attempt_that_was_left_behind_calls_nothing_beside_the_next_one(caplog):
    world = World()
    Durable().run(Bot, "lingers", world=world)
    assert world.made == []
    assert "went on after its time was over" in caplog.text


def test_r7_an_exit_within_its_time_is_the_program_s_death_and_no_stop():
    durable = Durable()
    with pytest.raises(SystemExit):
        durable.run(Bot, "dies", world=World())
    assert durable.journals["Bot"].splitlines()[-1].startswith(b'{"call":"1-1"')


def test_a_wait_for_an_input_outside_of_a_step_is_an_error_and_no_death():
    said = Durable().run(Bot, "asks", world=World())
    assert said == "World.waits raised WaitForInput, which only a step may"
