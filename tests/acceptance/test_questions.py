"""Questions and their answers on a fake clock: what is kept, refused, decided, timed out (R21)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta

import pytest

from agentctl import (
    Agent,
    AgentctlError,
    Secret,
    WaitForInput,
    Workflow,
    handler,
    resume_input,
    wait_for_input,
    workflow_step,
)
from agentctl.errors import Conflict, NotFound, UsageError

from .journeys import Asker, Gate, Journey, World, answer, cancel, until
from .rounds import HOUR, rest

DAY = timedelta(days=1)
SEEDS = range(20)


@dataclass
class Form:
    name: str
    amount: int


class Clerk(Agent):
    world: World

    @handler
    async def form(self) -> str:
        form = await wait_for_input("whom, and how much?", Form)
        return f"{form.name}: {form.amount + 1}"

    @handler
    async def secret(self) -> bool:
        return (await wait_for_input("the word?", Secret[str])).reveal() == "hunter2"

    @handler
    async def each(self) -> list[str]:
        async def one(number: int) -> str:
            return await wait_for_input(f"part {number}?", str)

        return list(await asyncio.gather(*map(one, range(3))))


class Picky(Workflow):
    name: str
    world: World

    @workflow_step
    async def only(self) -> str:
        got = resume_input(str)
        await self.world.do(f"{self.name} {got}")
        if got != "right":
            raise WaitForInput(f"and after {got}?", str, timeout=3600)
        return got


def test_q15_an_answer_before_the_handler_waits_is_kept_and_given() -> None:
    journey = Journey()

    async def life() -> str:
        async with journey.life() as host:
            journey.real.held.add("posted")
            caller = asyncio.ensure_future(Asker.ref().early("colour?"))
            await until(journey.did, "the key to be posted")
            assert journey.did() == ["posted: Asker-1-1"]
            await answer(host, Asker, "red", call="Asker-1-1")
            assert [one["value"] for one in journey.of_kind("Asker", "answer")] == ["red"]
            journey.real.held.clear()
            return await caller

    assert asyncio.run(life()) == "red"


@pytest.mark.parametrize("answered", [True, False], ids=["answered-before", "answered-after"])
def test_q15_also_if_the_program_dies_before_the_handler_waits(*, answered: bool) -> None:
    journey = Journey()

    async def lives() -> Journey:
        async with journey.life() as host:
            journey.real.held.add("posted")
            caller = asyncio.ensure_future(Asker.ref().early("colour?"))
            await until(journey.did, "the key to be posted")
            if answered:
                await answer(host, Asker, "red", call="Asker-1-1")
            twin = journey.killed()
            journey.real.held.clear()
            caller.cancel()
        async with twin.life() as host:
            if not answered:
                await answer(host, Asker, "red", call="Asker-1-1")
            await rest(host)
        return twin

    twin = asyncio.run(lives())
    assert [one["value"] for one in twin.of_kind("Asker", "done")] == ["red"]
    assert len(twin.of_kind("Asker", "answer")) == 1


def test_r21_a_question_and_an_answer_are_durable_before_anybody_hears_of_them() -> None:
    """Whatever a power cut leaves, what a person was told or had told stands on it."""
    journey = Journey()

    def kept(word: str) -> bool:
        disks = [journey.world.disk.after_power_cut(seed) for seed in SEEDS]
        path = "/memory/agents/Asker/journal"
        return all(f'"{word}"' in disk.read_file(path).decode() for disk in disks)

    async def life() -> None:
        async with journey.life() as host:
            journey.real.held.add("posted")
            caller = asyncio.ensure_future(Asker.ref().early("colour?"))
            await until(journey.did, "the key to be posted")
            assert kept("question")
            await answer(host, Asker, "red", call="Asker-1-1")
            assert kept("answer")
            journey.real.held.clear()
            assert await caller == "red"

    asyncio.run(life())


def test_r21_there_is_nothing_to_answer_before_it_is_asked_nor_after_it_was() -> None:
    journey = Journey()

    async def life() -> None:
        async with journey.life() as host:
            with pytest.raises(NotFound):
                await answer(host, Asker, "red", call="Asker-1-1")
            journey.real.held.add("posted")
            caller = asyncio.ensure_future(Asker.ref().early("colour?"))
            await until(journey.did, "the key to be posted")
            for call in ("Asker-1-2", "Asker-1-7"):  # a call that is no question; none at all
                with pytest.raises((NotFound, Conflict)):
                    await answer(host, Asker, "red", call=call)
            await answer(host, Asker, "red", call="Asker-1-1")
            with pytest.raises(Conflict, match="already decided"):
                await answer(host, Asker, "blue", call="Asker-1-1")
            journey.real.held.clear()
            assert await caller == "red"
            with pytest.raises(Conflict):
                await answer(host, Asker, "blue", call="Asker-1-1")

    asyncio.run(life())
    assert [one["value"] for one in journey.of_kind("Asker", "answer")] == ["red"]


@pytest.mark.parametrize("wrong", ["yes", 1, None, [True]], ids=repr)
def test_q15_an_answer_of_a_wrong_type_is_refused_and_the_question_stays(wrong: object) -> None:
    journey = Journey()

    async def life() -> str:
        async with journey.life() as host:
            caller = asyncio.ensure_future(Asker.ref().ask("refund 900?"))
            await rest(host)
            with pytest.raises(UsageError):
                await answer(host, Asker, wrong, event=1)
            await rest(host)
            assert not caller.done()
            await answer(host, Asker, False, event=1)
            return await caller

    assert asyncio.run(life()) == "no"
    assert len(journey.of_kind("Asker", "answer")) == 1


def test_q15_the_input_of_a_step_has_its_type_too() -> None:
    journey = Journey()

    async def life() -> object:
        async with journey.life() as host:
            caller = asyncio.ensure_future(Gate.ref("x").run())
            await rest(host)
            with pytest.raises(UsageError):
                await answer(host, Gate, 7, identity=("x",), event=1)
            await answer(host, Gate, "ana", identity=("x",), call="Gate/x-1-2")
            return await caller

    assert asyncio.run(life()) == "passed: ana"
    assert journey.did("x approval") == ["x approval None", "x approval ana"]


def test_q15_an_answer_has_the_fields_that_were_asked_for() -> None:
    journey = Journey(Clerk)

    async def life() -> str:
        async with journey.life() as host:
            caller = asyncio.ensure_future(Clerk.ref().form())
            await rest(host)
            for wrong in ({"name": "ana"}, {"name": "ana", "amount": "9"}, ["ana", 9], "ana"):
                with pytest.raises(UsageError):
                    await answer(host, Clerk, wrong, event=1)
            await answer(host, Clerk, {"name": "ana", "amount": 9}, event=1)
            return await caller

    assert asyncio.run(life()) == "ana: 10"


def test_p15_an_answer_that_is_secret_stands_in_no_log() -> None:
    journey = Journey(Clerk)

    async def life() -> bool:
        async with journey.life() as host:
            caller = asyncio.ensure_future(Clerk.ref().secret())
            await rest(host)
            with pytest.raises(UsageError) as refused:
                await answer(host, Clerk, ["hunter2"], event=1)
            assert "hunter2" not in f"{refused.value} {refused.value.hint}"
            await answer(host, Clerk, "hunter2", event=1)
            return await caller

    assert asyncio.run(life())
    (line,) = journey.audit("Clerk", "answered")
    assert "hunter2" not in line


def test_r21_answers_in_any_order_reach_the_branches_that_asked() -> None:
    journey = Journey(Clerk)

    async def lives() -> Journey:
        async with journey.life() as host:
            caller = asyncio.ensure_future(Clerk.ref().each())
            await rest(host)
            calls = {one["text"]: one["call"] for one in journey.of_kind("Clerk", "call")}
            await answer(host, Clerk, "two", call=f"Clerk-{calls['part 2?']}")
            twin = journey.killed()
            caller.cancel()
        async with twin.life() as host:
            for number, text in ((0, "nought"), (1, "one")):
                await answer(host, Clerk, text, call=f"Clerk-{calls[f'part {number}?']}")
            await rest(host)
        return twin

    twin = asyncio.run(lives())
    assert [one["value"] for one in twin.of_kind("Clerk", "done")] == [["nought", "one", "two"]]


def test_q4_a_step_may_wait_again_with_each_input_once_and_not_for_ever() -> None:
    journey = Journey(Picky)

    async def life() -> None:
        async with journey.life() as host:
            callers = [asyncio.ensure_future(Picky.ref(name).run()) for name in ("x", "y")]
            await rest(host)
            for word in ("wrong", "right"):
                await answer(host, Picky, word, identity=("x",), event=1)
                await rest(host)
            assert await callers[0] == "right"
            await journey.pass_time(host, HOUR)
            with pytest.raises(TimeoutError):
                await callers[1]
            with pytest.raises(Conflict):
                await answer(host, Picky, "right", identity=("y",), event=2)

    asyncio.run(life())
    assert journey.did("x") == ["x None", "x wrong", "x right"]
    assert journey.did("y") == ["y None"]
    assert (journey.ends("Picky", 1), journey.ends("Picky", 2)) == (["done"], ["failed"])


def test_q15_with_two_open_one_has_to_say_which() -> None:
    journey = Journey()

    async def life() -> str:
        async with journey.life() as host:
            caller = asyncio.ensure_future(Asker.ref().two("name?"))
            await rest(host)
            with pytest.raises(UsageError) as refused:
                await answer(host, Asker, "x", event=1)
            told = f"{refused.value} {refused.value.hint}"
            assert "Asker-1-1" in told
            assert "Asker-1-2" in told
            await answer(host, Asker, "doe", call="Asker-1-2")
            await answer(host, Asker, "ana", event=1)  # the only one left
            return await caller

    assert asyncio.run(life()) == "ana doe"


def test_r21_nobody_answers_and_the_wait_ends_after_three_days_with_a_timeout() -> None:
    journey = Journey()

    async def lives() -> Journey:
        async with journey.life() as host:
            caller = asyncio.ensure_future(Asker.ref().ask("refund 900?", 3 * DAY.total_seconds()))
            await rest(host)
            await journey.pass_time(host, DAY)
            twin = journey.killed()
            caller.cancel()
        twin.clock.advance(DAY)
        async with twin.life() as host:
            await twin.pass_time(host, DAY - timedelta(seconds=1))
            assert twin.did() == []
            await twin.pass_time(host, timedelta(seconds=1))
            assert twin.did() == ["too late: refund 900?"]
            with pytest.raises(Conflict):
                await answer(host, Asker, True, call="Asker-1-1")
        return twin

    twin = asyncio.run(lives())
    assert twin.of_kind("Asker", "answer") == []
    assert [one["value"] for one in twin.of_kind("Asker", "done")] == ["too late"]


def test_r21_an_answer_just_before_the_timeout_counts_and_no_timeout_follows() -> None:
    journey = Journey()

    async def life() -> str:
        async with journey.life() as host:
            caller = asyncio.ensure_future(Asker.ref().ask("refund 900?", 3600))
            await rest(host)
            await journey.pass_time(host, HOUR - timedelta(seconds=1))
            await answer(host, Asker, True, event=1)
            await journey.pass_time(host, 2 * HOUR)
            return await caller

    assert asyncio.run(life()) == "yes"
    assert journey.did() == ["heard: refund 900? True"]


def test_k10_one_sleeps_one_waits_for_an_input_one_has_tasks_and_each_gets_its_own() -> None:
    journey = Journey()

    async def lives() -> Journey:
        async with journey.life() as host:
            asker = Asker.ref()
            callers = [asyncio.ensure_future(asker.nap("n")), asyncio.ensure_future(asker.ask("q"))]
            callers += [asyncio.ensure_future(asker.ask("r"))]
            tasks = asyncio.ensure_future(asker.spawn("t"))
            await rest(host)
            await journey.pass_time(host, timedelta(seconds=90))
            assert journey.did() == ["t 1"]
            await answer(host, Asker, True, event=3)
            twin = journey.killed()
            for caller in (*callers, tasks):
                caller.cancel()
        async with twin.life() as host:
            await twin.pass_time(host, timedelta(seconds=90))
            await answer(host, Asker, False, event=2)
            await twin.pass_time(host, HOUR)
        return twin

    twin = asyncio.run(lives())
    results = {one["done"]: one["value"] for one in twin.of_kind("Asker", "done")}
    assert results == {1: "SLEPT: N", 2: "no", 3: "yes", 4: ["T 3", "T 2", "T 1"]}
    once = [one for one in twin.did() if not one.startswith("heard: r")]
    assert sorted(once) == ["heard: q False", "slept: n", "t 1", "t 2", "t 3"]


def test_r21_who_answered_is_in_the_audit_log() -> None:
    journey = Journey()

    async def life() -> None:
        async with journey.life() as host:
            caller = asyncio.ensure_future(Asker.ref().ask("refund 900?"))
            await rest(host)
            await answer(host, Asker, True, event=1)
            await caller

    asyncio.run(life())
    assert len(journey.audit("Asker", "asked")) == 1
    assert "refund 900?" in journey.audit("Asker", "asked")[0]
    (line,) = journey.audit("Asker", "answered")
    assert "ana" in line


def test_r20_a_question_that_is_cancelled_is_not_to_be_answered_any_more() -> None:
    journey = Journey()

    async def life() -> None:
        async with journey.life() as host:
            caller = asyncio.ensure_future(Asker.ref().ask("refund 900?"))
            await rest(host)
            told = await cancel(host, Asker, event=1)
            assert told.answer == "cancelled"
            with pytest.raises((AgentctlError, asyncio.CancelledError)):
                await caller
            await rest(host)
            with pytest.raises(Conflict):
                await answer(host, Asker, True, event=1)

    asyncio.run(life())
    assert journey.did() == []
    assert journey.ends("Asker") == ["cancelled"]
