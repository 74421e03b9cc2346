"""Workflows on a fake clock: attempts, backoffs, what a second run gets, and undoing (Q)."""

from __future__ import annotations

import asyncio
import traceback
from datetime import timedelta
from pathlib import Path

import pytest

from agentctl import (
    Capability,
    NonRetryable,
    RetryPolicy,
    StepFailed,
    Workflow,
    attempt,
    start,
    workflow_step,
)
from agentctl.engines.changes import RetryRequest

from .journeys import Flow, Gate, Journey, Strict, Trip, World, answer
from .rounds import HOUR, rest

MINUTE = timedelta(minutes=1)
DONE = "X FIRST, X SECOND, kept by x"


def test_q1_a_step_that_fails_once_is_made_again_and_both_attempts_are_on_record() -> None:
    journey = Journey()
    journey.real.failing["x second"] = 1

    async def life() -> object:
        async with journey.life() as host:
            caller = asyncio.ensure_future(Flow.ref("x").run())
            await rest(host)
            assert not caller.done()
            await journey.pass_time(host, HOUR)
            return await caller

    assert asyncio.run(life()) == DONE
    tried, again = journey.of_kind("Flow", "tried"), journey.of_kind("Flow", "attempt")
    assert [(one["tried"], one["attempt"]) for one in tried] == [("1-2", 1)]
    assert [(one["attempt"], one["n"]) for one in again] == [("1-2", 2)]
    assert "is down" in str(tried[0])
    assert [one["ok"] for one in journey.of_kind("Flow", "ok")] == ["1-1", "1-2", "1-3"]
    assert journey.steps("Flow") == ["first", "second", "third"]
    assert journey.ends("Flow") == ["done"]
    made = [(one.key, one.attempt) for one in journey.real.did if one.what == "x second"]
    assert made == [("Flow/x-1-2.1", 1), ("Flow/x-1-2.1", 2)], "an attempt has keys of its own"


class Diary(Workflow):
    name: str
    world: World
    tries: list[str] = []

    @workflow_step(retry=RetryPolicy(max_attempts=3))
    async def only(self) -> list[str]:
        self.tries.append(f"try {attempt()}")
        await self.world.do(f"{self.name} only")
        return self.tries


def test_q1_what_a_failed_attempt_changed_in_the_state_is_dropped() -> None:
    journey = Journey(Diary)
    journey.real.failing["x only"] = 2

    async def life() -> object:
        async with journey.life():
            return await Diary.ref("x").run()

    assert asyncio.run(life()) == ["try 3"]
    (done,) = journey.of_kind("Diary", "done")
    assert done["state"] == {"tries": ["try 3"]}


def test_q2_what_is_not_retryable_fails_at_once_whatever_attempts_are_left() -> None:
    journey = Journey()
    journey.real.hopeless.add("x only")

    async def life() -> None:
        async with journey.life():
            with pytest.raises(Exception, match="x only is hopeless"):
                await Strict.ref("x").run()

    asyncio.run(life())
    assert journey.did() == ["x only"]
    assert journey.of_kind("Strict", "tried") == journey.of_kind("Strict", "attempt") == []
    assert journey.ends("Strict") == ["failed"]


class Patience(Capability):
    async def wait(self) -> None: ...


class Endless(Patience):
    def __init__(self) -> None:
        self.begun = self.stopped = 0

    async def wait(self) -> None:
        self.begun += 1
        try:
            await asyncio.sleep(60)
        finally:
            self.stopped += 1


class Slow(Workflow):
    name: str
    patience: Patience

    @workflow_step(timeout=0.02, retry=RetryPolicy(max_attempts=2))
    async def only(self) -> None:
        await self.patience.wait()


def test_q3_a_step_that_never_ends_is_stopped_twice_and_then_fails(tmp_path: Path) -> None:
    endless = Endless()

    async def life() -> None:
        async with start(Slow, root=tmp_path, patience=endless):
            with pytest.raises((TimeoutError, StepFailed)):
                await asyncio.wait_for(asyncio.shield(Slow.ref("x").run()), 5)
            assert (endless.begun, endless.stopped) == (2, 2), "an attempt runs on"

    asyncio.run(life())
    text = (tmp_path / "agents" / "Slow" / "journal").read_text(encoding="utf-8")
    assert (text.count('{"tried":"1-1"'), text.count('{"error":"1-1"')) == (1, 1)
    assert (text.count('{"failed":1'), text.count('{"done":1')) == (1, 0)


def test_q5_run_again_while_a_step_waits_joins_and_the_step_does_not_run() -> None:
    journey = Journey()

    async def life() -> list[object]:
        async with journey.life() as host:
            callers = [asyncio.ensure_future(Gate.ref("x").run())]
            await rest(host)
            callers.append(asyncio.ensure_future(Gate.ref("x").run()))
            await rest(host)
            assert journey.did() == ["x before", "x approval None"]
            await answer(host, Gate, "ana", identity=("x",), event=1)
            return list(await asyncio.gather(*callers))

    assert asyncio.run(life()) == ["passed: ana"] * 2
    assert journey.did("x approval") == ["x approval None", "x approval ana"]
    assert len(journey.of_kind("Gate", "event")) == 1
    assert journey.ends("Gate") == ["done"]


def test_q5_run_again_after_completion_gives_the_recorded_result_also_8_days_later() -> None:
    journey = Journey()

    async def lives() -> list[object]:
        results: list[object] = []
        async with journey.life():
            results += [await Flow.ref(name).run() for name in ("x", "x", "y", "z")]
        journey.clock.advance(timedelta(days=8))
        for _ in range(2):  # each start may drop what is no longer kept
            async with journey.life() as host:
                results.append(await Flow.ref("x").run())
                await journey.pass_time(host, timedelta(days=8))
        return results

    first, second, _, _, *later = asyncio.run(lives())
    assert [first, second, *later] == [DONE] * 4
    assert journey.did("x ") == ["x first", "x second", "x third, kept by x"]
    assert len([one for one in journey.of_kind("Flow", "done") if one["done"] == 1]) <= 1


def test_q5_run_again_after_a_failure_gives_the_recorded_failure() -> None:
    journey = Journey()
    journey.real.hopeless.add("x second")

    async def lives() -> list[str]:
        told = []
        for _ in range(2):
            async with journey.life():
                for _ in range(2):
                    with pytest.raises(Exception, match="x second is hopeless") as failure:
                        await Flow.ref("x").run()
                    told.append(f"{type(failure.value).__name__}: {failure.value}")
            journey.clock.advance(timedelta(days=8))
        return told

    told = asyncio.run(lives())
    assert len(told) == 4
    assert len(set(told)) == 1, told
    assert journey.did() == ["x first", "x second"]


def test_q6_two_runs_at_once_run_the_body_once_and_both_succeed() -> None:
    journey = Journey()

    async def life() -> list[object]:
        async with journey.life():
            return list(await asyncio.gather(*(Flow.ref("x").run() for _ in range(2))))

    assert asyncio.run(life()) == [DONE] * 2
    assert journey.did() == ["x first", "x second", "x third, kept by x"]
    assert len(journey.of_kind("Flow", "event")) == 1


def test_q8_a_backoff_of_an_hour_that_died_after_10_minutes_lasts_50_more() -> None:
    journey = Journey()
    journey.real.failing["x second"] = 1

    async def lives() -> Journey:
        async with journey.life() as host:
            caller = asyncio.ensure_future(Flow.ref("x").run())
            await rest(host)
            twin = journey.killed()
            caller.cancel()
        twin.clock.advance(10 * MINUTE)
        async with twin.life() as host:
            await twin.pass_time(host, 49 * MINUTE)
            assert len(twin.did("x second")) == 1, "the backoff was cut short"
            await twin.pass_time(host, MINUTE)
            assert len(twin.did("x second")) == 2, "the backoff began anew"
            assert await Flow.ref("x").run() == DONE
        return twin

    twin = asyncio.run(lives())
    tries = [(one.key, one.attempt) for one in twin.real.did if one.what == "x second"]
    assert tries == [("Flow/x-1-2.1", 1), ("Flow/x-1-2.1", 2)]
    assert twin.did("x first") == ["x first"], "a step that was done ran again"


def test_q8_a_clock_that_was_set_back_makes_a_backoff_no_longer() -> None:
    journey = Journey()
    journey.real.failing["x second"] = 1

    async def lives() -> Journey:
        async with journey.life() as host:
            caller = asyncio.ensure_future(Flow.ref("x").run())
            await rest(host)
            twin = journey.killed()
            caller.cancel()
        twin.clock.set_wall(twin.clock.now_us() - 2 * 3600 * 1_000_000)
        async with twin.life() as host:
            await twin.pass_time(host, 59 * MINUTE)
            assert twin.did("x second") == ["x second"]
            await twin.pass_time(host, MINUTE)
        return twin

    assert asyncio.run(lives()).ends("Flow") == ["done"]


def test_q9_one_that_died_between_two_steps_goes_on_with_the_second_and_its_state() -> None:
    journey = Journey()

    async def lives() -> tuple[Journey, object]:
        async with journey.life():
            await Flow.ref("x").run()
        twin = journey.cut("Flow", '{"ok":"1-1"')
        assert twin.steps("Flow") == ["first"]
        journey.real.did.clear()
        async with twin.life() as host:
            await rest(host)
            assert twin.ends("Flow") == ["done"], "nobody went on with it"
            return twin, await Flow.ref("x").run()

    twin, result = asyncio.run(lives())
    assert result == DONE
    assert twin.did() == ["x second", "x third, kept by x"]


def undone(journey: Journey) -> list[str]:
    return [one for one in journey.did() if one.startswith(("unfly", "leave"))]


async def take_a_trip_that_fails(journey: Journey) -> None:
    journey.real.failing["x car"] = 1
    async with journey.life():
        with pytest.raises(Exception, match="x car is down"):
            await Trip.ref("x").run()


def test_q14_what_was_done_before_a_failure_is_undone_in_reverse_once_each() -> None:
    journey = Journey()
    asyncio.run(take_a_trip_that_fails(journey))
    assert journey.did() == [
        "x flight", "x tell", "x hotel", "x car", "leave X HOTEL", "unfly X FLIGHT",
    ]  # fmt: skip
    undoing = [one for one in journey.of_kind("Trip", "call") if "undoes" in one]
    assert [(one["step"], one["undoes"]) for one in undoing] == [
        ("hotel", "1-3"),
        ("flight", "1-1"),
    ]
    assert len({one.key for one in journey.real.did}) == 6
    assert journey.ends("Trip") == ["failed"]
    asyncio.run(look_again(journey))
    assert len(undone(journey)) == 2, "what was undone is undone again"


def test_q14_an_undoing_that_fails_for_good_fails_the_event_with_both_errors() -> None:
    journey = Journey()
    journey.real.hopeless.add("leave")

    async def life() -> str:
        journey.real.failing["x car"] = 1
        async with journey.life():
            with pytest.raises(Exception) as failure:
                await Trip.ref("x").run()
        return "".join(traceback.format_exception(failure.value))

    told = asyncio.run(life())
    assert "x car is down" in told
    assert "leave X HOTEL is hopeless" in told
    assert journey.ends("Trip") == ["failed"]


def test_q14_a_retry_undoes_what_could_not_be_undone_wherever_it_dies() -> None:
    journey = Journey()
    journey.real.hopeless |= {"leave", "unfly", "x car"}
    undoings = ["leave X HOTEL", "unfly X FLIGHT"]

    async def life(journey: Journey, *, retries: bool = False) -> None:
        async with journey.life() as host:
            if retries:
                with pytest.raises(ExceptionGroup, match="wasn't all undone"):
                    await Trip.ref("x").run()
                journey.real.hopeless = {"x car"}
                await host.carry_out(RetryRequest("Trip", "again", ("x",), event=1))
            with pytest.raises(NonRetryable, match="x car is hopeless"):
                await Trip.ref("x").run()

    asyncio.run(life(journey, retries=True))
    assert journey.did()[4:] == undoings * 2
    assert len({one.key for one in journey.real.did}) == 6, "what is made again has another key"
    records = journey.records("Trip")
    retried = next(number for number, one in enumerate(records, 1) if "retry" in one)
    for lines in range(retried, len(records)):
        twin = journey.cut_at("Trip", lines)
        over = {one.get("ok") for one in records[:lines]}
        twin.real.did.clear()
        asyncio.run(life(twin))
        left = [
            what for key, what in zip(("1-5.1", "1-5.2"), undoings, strict=True) if key not in over
        ]
        assert twin.did() == left, records[lines - 1]


async def look_again(journey: Journey) -> None:
    async with journey.life():
        with pytest.raises(Exception, match="x car is down"):
            await Trip.ref("x").run()


def test_q14_also_across_a_crash_after_each_record() -> None:
    journey = Journey()
    asyncio.run(take_a_trip_that_fails(journey))
    records = journey.records("Trip")
    calls = {one["call"]: one for one in records if "call" in one}
    failed_at = next(n for n, one in enumerate(records) if "error" in one)
    for lines in range(failed_at + 1, len(records) + 1):
        twin = journey.cut_at("Trip", lines)
        before = {one["ok"] for one in records[:lines] if "ok" in one}
        twin.real.did.clear()
        asyncio.run(look_again(twin))
        left = [
            "leave X HOTEL" if one["step"] == "hotel" else "unfly X FLIGHT"
            for key, one in calls.items()
            if "undoes" in one and key not in before
        ]
        assert twin.did() == left, f"died after {records[lines - 1]}"
        assert twin.ends("Trip") == ["failed"]
        undoes = [one["undoes"] for one in twin.of_kind("Trip", "call") if "undoes" in one]
        assert undoes == ["1-3", "1-1"]
