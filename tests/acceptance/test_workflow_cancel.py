"""Cancelling a workflow, at every stage of its life; and at its very end, many times (Q7, P18)."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from pathlib import Path

import pytest

from agentctl import (
    Agent,
    Cancellation,
    Cancelled,
    Capability,
    Host,
    Workflow,
    bind,
    handler,
    sleep,
    step,
    workflow_step,
)
from agentctl.engines.changes import CancelRequest
from agentctl.errors import Conflict

from .journeys import ENDS, Flow, Gate, Journey, Trip, World, answer, cancel, until
from .rounds import HOUR, rest

CANCELLED = Cancellation.CANCELLED
ALREADY = Cancellation.ALREADY_CANCELLED
FINISHED = Cancellation.FINISHED


async def hear_cancelled(caller: asyncio.Future[object]) -> None:
    with pytest.raises((Cancelled, asyncio.CancelledError)):
        await caller


def test_q7_while_a_step_runs_its_attempt_ends_and_the_next_does_not_run() -> None:
    journey = Journey()

    async def life() -> None:
        async with journey.life() as host:
            journey.real.held.add("x first")
            caller = asyncio.ensure_future(Flow.ref("x").run())
            await until(journey.did, "the first step to run")
            told = await cancel(host, Flow, "x")
            assert (told.answer, told.event) == (CANCELLED, "Flow/x#1")
            assert not caller.done() or not journey.of_kind("Flow", "ok")
            journey.real.held.clear()
            await hear_cancelled(caller)
            await rest(host)

    asyncio.run(life())
    assert [one["ok"] for one in journey.of_kind("Flow", "ok")] == ["1-1"], "it was cut off"
    assert journey.did() == ["x first"]
    assert journey.ends("Flow") == ["cancelled"]


def test_q7_an_attempt_that_fails_once_it_was_cancelled_is_not_made_again() -> None:
    journey = Journey()
    journey.real.failing["x second"] = 1

    async def life() -> None:
        async with journey.life() as host:
            journey.real.held.add("x second")
            caller = asyncio.ensure_future(Flow.ref("x").run())
            await until(lambda: journey.did("x second"), "the second step to run")
            assert (await cancel(host, Flow, "x")).answer is CANCELLED
            journey.real.held.clear()
            await hear_cancelled(caller)
            await journey.pass_time(host, 2 * HOUR)

    asyncio.run(life())
    assert journey.did() == ["x first", "x second"]
    assert journey.of_kind("Flow", "attempt") == []
    assert journey.ends("Flow") == ["cancelled"]


def test_q7_in_a_backoff_no_attempt_follows_and_done_steps_are_undone() -> None:
    journey = Journey()
    journey.real.failing["x second"] = 1

    async def life() -> None:
        async with journey.life() as host:
            caller = asyncio.ensure_future(Flow.ref("x").run())
            await rest(host)
            assert (await cancel(host, Flow, "x")).answer is CANCELLED
            await hear_cancelled(caller)
            await journey.pass_time(host, 2 * HOUR)

    asyncio.run(life())
    assert journey.did() == ["x first", "x second"]
    assert journey.ends("Flow") == ["cancelled"]


def test_q7_while_a_step_waits_and_then_an_answer_is_refused() -> None:
    journey = Journey()

    async def life() -> None:
        async with journey.life() as host:
            caller = asyncio.ensure_future(Gate.ref("x").run())
            await rest(host)
            assert (await cancel(host, Gate, "x")).answer is CANCELLED
            await hear_cancelled(caller)
            await rest(host)
            with pytest.raises(Conflict):
                await answer(host, Gate, "ana", identity=("x",), event=1)
            await rest(host)

    asyncio.run(life())
    assert journey.did() == ["x before", "x approval None"]
    assert journey.of_kind("Gate", "answer") == []
    assert journey.ends("Gate") == ["cancelled"]


def test_q7_cancelled_twice_has_one_end_and_one_that_completed_is_finished() -> None:
    journey = Journey()

    async def life() -> list[Cancellation]:
        async with journey.life() as host:
            caller = asyncio.ensure_future(Gate.ref("x").run())
            await rest(host)
            told = [(await cancel(host, Gate, "x")).answer for _ in range(2)]
            await hear_cancelled(caller)
            told.append((await cancel(host, Gate, "x")).answer)
            await Flow.ref("y").run()
            told.append((await cancel(host, Flow, "y")).answer)
            assert await Flow.ref("y").run() == "Y FIRST, Y SECOND, kept by y"
            return told

    assert asyncio.run(life()) == [CANCELLED, ALREADY, ALREADY, FINISHED]
    assert journey.ends("Gate") == ["cancelled"]
    assert journey.ends("Flow") == ["done"]


def test_q14_what_a_cancelled_workflow_had_done_is_undone_in_reverse() -> None:
    journey = Journey()

    async def lives() -> Journey:
        async with journey.life() as host:
            journey.real.held.add("x car")
            caller = asyncio.ensure_future(Trip.ref("x").run())
            await until(lambda: journey.did("x car"), "the last step to run")
            assert (await cancel(host, Trip, "x")).answer is CANCELLED
            twin = journey.killed()
            journey.real.held.clear()
            await hear_cancelled(caller)
            await rest(host)
        return twin

    twin = asyncio.run(lives())
    made = ["x flight", "x tell", "x hotel", "x car", "leave X HOTEL", "unfly X FLIGHT"]
    assert journey.did() == made
    assert journey.ends("Trip") == ["cancelled"]
    journey.real.did.clear()

    async def after_the_kill() -> None:
        async with twin.life() as host:
            await rest(host)

    asyncio.run(after_the_kill())
    assert [one for one in twin.did() if one != "x car"] == made[-2:]
    assert twin.ends("Trip") == ["cancelled"]


class Moody(Agent):
    """Has done a step, and then waits; its clean-up has a bug, or swallows the cancellation."""

    world: World

    async def undo(self, done: str) -> None:
        await self.world.do(f"undo {done}")

    @handler
    async def wait(self, name: str) -> None:
        await step("first", self.world.do, name, compensate=self.undo)
        try:
            await sleep(HOUR)
        except asyncio.CancelledError:
            if name == "buggy":
                raise ValueError("a bug in the clean-up") from None


@pytest.mark.parametrize("name", ["buggy", "calm"])
def test_q14_a_cancelled_event_is_undone_whatever_its_clean_up_does(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    journey = Journey(Moody)
    journey.real.hopeless.add("undo CALM")

    async def life() -> None:
        async with journey.life() as host:
            caller = asyncio.ensure_future(Moody.ref().wait(name))
            await rest(host)
            await host.carry_out(CancelRequest("Moody", "c", event=1, running=True))
            await hear_cancelled(caller)

    asyncio.run(life())
    assert journey.did() == [name, f"undo {name.upper()}"]
    assert journey.ends("Moody") == ["cancelled"]
    wrong = {"buggy": "a bug in the clean-up", "calm": "wasn't all undone"}[name]
    assert wrong in caplog.text


def test_q7_p18_at_each_turn_of_the_loop_no_step_follows_and_there_is_one_end() -> None:
    answers: Counter[Cancellation] = Counter()
    ended_after: set[int] = set()

    async def life(journey: Journey, turns: int) -> None:
        journey.real.turns = 5
        async with journey.life() as host:
            caller = asyncio.ensure_future(Flow.ref("x").run())
            await until(lambda: journey.did("x first"), "the first step")
            for _ in range(turns):
                await asyncio.sleep(0)
            told = (await cancel(host, Flow, "x")).answer
            answers[told] += 1
            begun = journey.steps("Flow")
            outcome = (await asyncio.gather(caller, return_exceptions=True))[0]
            await rest(host)
            assert journey.steps("Flow") == begun, f"a step began after the cancel ({turns} turns)"
            ended_after.add(len(begun))
            kinds = [next(iter(one)) for one in journey.records("Flow")]
            assert "call" not in kinds[kinds.index("cancel") if "cancel" in kinds else len(kinds) :]
            if told is CANCELLED:
                assert isinstance(outcome, (Cancelled, asyncio.CancelledError)), turns
                assert journey.ends("Flow") == ["cancelled"], turns
            else:
                assert (told, outcome) == (FINISHED, "X FIRST, X SECOND, kept by x"), turns
                assert journey.ends("Flow") == ["done"], turns

    for turns in range(400):
        asyncio.run(life(Journey(), turns))
        if answers[FINISHED] > 10:
            break
    assert set(answers) == {CANCELLED, FINISHED}
    assert ended_after == {1, 2, 3}, "some place between the steps was not met"


class Last(Capability):
    async def step(self, name: str) -> None: ...


class Racing(Last):
    """Its call ends about when the cancel comes, which the same process asks for."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.host: Host | None = None
        self.asked: dict[str, asyncio.Future[Cancellation]] = {}

    async def step(self, name: str) -> None:
        self.asked[name] = asyncio.ensure_future(self.cancel(name, self.chance.uniform(0, 0.004)))
        await asyncio.sleep(self.chance.uniform(0, 0.002))

    async def cancel(self, name: str, after_s: float) -> Cancellation:
        await asyncio.sleep(after_s)
        assert self.host is not None
        return (await cancel(self.host, Racer, name)).answer


class Racer(Workflow):
    name: str
    last: Last

    @workflow_step
    async def only(self) -> str:
        await self.last.step(self.name)
        return self.name


def test_p18_a_cancel_at_the_very_end_of_a_workflow_never_meets_a_completion(
    tmp_path: Path,
) -> None:
    count, seed = 400, random.randrange(1_000_000)
    racing = Racing(seed)
    slots = asyncio.Semaphore(4)
    heard: dict[str, str] = {}

    async def one(name: str) -> None:
        async with slots:
            try:
                heard[name] = f"completed {await Racer.ref(name).run()}"
            except (Cancelled, asyncio.CancelledError):
                heard[name] = "cancelled"

    async def race() -> dict[str, Cancellation]:
        async with Host(bind(Racer, last=racing), root=tmp_path) as host:
            racing.host = host
            await asyncio.gather(*(one(f"r{number}") for number in range(count)))
            return {name: await asked for name, asked in racing.asked.items()}

    answers = asyncio.run(race())
    records = map(json.loads, (tmp_path / "agents/Racer/journal").read_bytes().splitlines())
    ends = Counter((kind, one[kind]) for one in records for kind in ENDS if kind in one)
    assert max(ends.values()) == 1
    assert len({number for _, number in ends}) == len(ends), "an event has two ends"
    for name in (f"r{number}" for number in range(count)):
        wanted = "cancelled" if answers[name] is CANCELLED else f"completed {name}"
        assert heard[name] == wanted, f"seed {seed}, {name}: {answers[name]}, {heard[name]}"
    words = Counter(answers.values())
    assert set(words) == {CANCELLED, FINISHED}, words
    assert min(words.values()) >= count // 20, f"no race: {words}"
