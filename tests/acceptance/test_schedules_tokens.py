"""Cancelling what is to come, by token and handle, and what becomes of a deleted instance's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from agentctl import AgentctlError, Cancellation, Cancelled, Token

from .rounds import HOUR, Many, One, Rounds, minutes, rest

MINUTE = timedelta(minutes=1)
HALF = timedelta(minutes=30)

Setting = Callable[[One], Awaitable[Token[str]]]
SINGLE: dict[str, Setting] = {
    "after": lambda one: one.note.after(3600)("x"),
    "after-key": lambda one: one.note.after(3600, key="k")("x"),
    "after-name": lambda one: one.note.after(3600, name="tick")("x"),
}


@pytest.mark.parametrize("how", SINGLE)
def test_g3_cancelled_by_its_token_before_it_is_due_it_never_runs(how: str) -> None:
    rounds = Rounds()

    async def lives() -> list[Cancellation]:
        async with rounds.life() as host:
            token = await SINGLE[how](One.ref("a"))
            await rounds.pass_time(host, HALF, HALF)
            answers = [await token.cancel(), await token.cancel()]
            await rounds.pass_time(host, 2 * HOUR, HALF)
        async with rounds.life() as host:
            await rounds.pass_time(host, 2 * HOUR, HALF)
        return answers

    answers = asyncio.run(lives())
    assert answers == [Cancellation.CANCELLED, Cancellation.ALREADY_CANCELLED]
    assert rounds.ran() == []


@pytest.mark.parametrize("between", ["the-same-program", "a-restart"])
def test_g3_a_token_that_was_kept_in_state_cancels_after_a_restart_too(between: str) -> None:
    from .keeping import Keeper

    rounds = Rounds(Keeper)

    async def lives() -> list[Cancellation]:
        async with rounds.life():
            address = await Keeper.ref("k").keep("x", 3600.0)
            assert await Keeper.ref("k").kept() == address
            first = [await Keeper.ref("k").drop()] if between == "the-same-program" else []
        async with rounds.life() as host:
            assert await Keeper.ref("k").kept() == address
            first = first or [await Keeper.ref("k").drop()]
            second = await Keeper.ref("k").drop()
            await rounds.pass_time(host, 2 * HOUR, HALF)
        return [*first, second]

    answers = asyncio.run(lives())
    assert answers == [Cancellation.CANCELLED, Cancellation.ALREADY_CANCELLED]
    assert rounds.ran() == []


def test_a_token_answers_running_and_finished_in_the_words_of_the_table() -> None:
    rounds = Rounds()

    async def life() -> list[Cancellation]:
        async with rounds.life() as host:
            sleeping = await Many.ref("a").slow.trigger()("x", 60.0)
            done = await Many.ref("a").note.trigger()("y")
            failed = await Many.ref("a").refuse.trigger()("z")
            await rest(host)
            return [await one.cancel() for one in (done, failed, sleeping, sleeping)]

    assert asyncio.run(life()) == [
        Cancellation.FINISHED,
        Cancellation.FINISHED,
        Cancellation.CANCELLED,
        Cancellation.ALREADY_CANCELLED,
    ]


def test_the_result_of_what_was_cancelled_is_an_error_of_its_own() -> None:
    rounds = Rounds()

    async def life() -> None:
        async with rounds.life() as host:
            token = await One.ref("a").note.after(60)("x")
            waits = asyncio.ensure_future(token.result())
            await rest(host)
            await token.cancel()
            with pytest.raises(Cancelled):
                await asyncio.wait_for(waits, 5)

    asyncio.run(life())
    assert rounds.ran() == []


def test_a_handler_waits_for_the_outcome_through_a_token_over_a_restart() -> None:
    from .keeping import Keeper, Waiter

    rounds = Rounds(Keeper, Waiter)

    async def lives() -> str:
        async with rounds.life() as host:
            token = await Waiter.ref().give("late", 3600.0)
            key = await Waiter.ref().outcome.trigger(key="w")(token)
            await rounds.pass_time(host, HALF, MINUTE)
            assert rounds.ran() == []
            assert key.address.startswith("Waiter#")
        async with rounds.life() as host:
            await rounds.pass_time(host, HOUR, MINUTE)
            again = await Waiter.ref().outcome.trigger(key="w")(token)
            return await asyncio.wait_for(again.result(), 5)

    assert asyncio.run(lives()) == "late"
    assert [one.what for one in rounds.ran()] == ["k late"]


def test_an_outcome_that_is_no_longer_kept_is_said_to_be_gone() -> None:
    from .keeping import Keeper, Waiter

    rounds = Rounds(Keeper, Waiter)

    async def lives() -> tuple[str, str]:
        async with rounds.life() as host:
            token = await Waiter.ref().give("x", 60.0)
            await rounds.pass_time(host, 2 * MINUTE, MINUTE)
            kept = await Waiter.ref().outcome(token)
            for number in range(120):  # the last 100 are kept
                await Keeper.ref("other").note(str(number))
        for _ in range(2):  # a start compacts
            async with rounds.life():
                await Keeper.ref("other").note("more")
        async with rounds.life():
            return kept, await asyncio.wait_for(Waiter.ref().outcome(token), 5)

    assert asyncio.run(lives()) == ("x", "raised OutcomeGone")
    assert len(rounds.ran("k x")) == 1


# -- handles


def test_c5_a_handle_cancelled_twice_is_no_error_and_runs_no_more() -> None:
    rounds = Rounds()

    async def lives() -> None:
        async with rounds.life() as host:
            handle = await One.ref("a").note.every(HOUR, name="tick")("x")
            await rounds.pass_time(host, HOUR, HALF)
            await handle.cancel()
            await handle.cancel()
            await rounds.pass_time(host, HOUR, HALF)
        async with rounds.life() as host:
            assert await One.ref("a").names() == []
            await rounds.pass_time(host, 2 * HOUR, HALF)

    asyncio.run(lives())
    assert rounds.times("a x") == minutes(60)


def test_c5_a_handler_cancels_its_own_handle_twice() -> None:
    rounds = Rounds()

    async def life() -> str:
        async with rounds.life() as host:
            answers = await One.ref("a").twice("tick")
            await rounds.pass_time(host, 2 * HOUR, HALF)
            return answers

    assert asyncio.run(life()) == "cancelled already_cancelled"
    assert rounds.ran() == []


def test_c5_a_name_is_cancelled_through_the_schedules_of_its_instance_alone() -> None:
    rounds = Rounds()

    async def life() -> Cancellation:
        async with rounds.life() as host:
            for name in ("a", "b"):
                await One.ref(name).hourly("x")
            answer = await One.ref("a").end("hourly")
            assert await One.ref("a").names() == []
            await rounds.pass_time(host, 2 * HOUR, HALF)
            return answer

    assert asyncio.run(life()) == Cancellation.CANCELLED
    assert [one.what for one in rounds.ran()] == ["b x", "b x"]
    assert [" One/a schedule cancelled: " in line for line in _cancelled(rounds)] == [True]


def _cancelled(rounds: Rounds) -> list[str]:
    return rounds.audit("One", "schedule cancelled")


def test_c5_a_name_that_was_cancelled_can_be_set_anew() -> None:
    rounds = Rounds()

    async def life() -> None:
        async with rounds.life() as host:
            first = await One.ref("a").note.every(HOUR, name="tick")("first")
            await first.cancel()
            await rounds.pass_time(host, HALF, HALF)
            await One.ref("a").note.every(HOUR, name="tick")("second")
            await rounds.pass_time(host, 2 * HOUR, HALF)

    asyncio.run(life())
    assert [one.what for one in rounds.ran()] == ["a second", "a second"]
    assert rounds.times() == minutes(90, 150)


def test_c5_what_is_running_when_its_schedule_is_cancelled_runs_to_its_end() -> None:
    rounds = Rounds()

    async def life() -> None:
        async with rounds.life() as host:
            handle = await Many.ref("a").slow.every(HOUR, name="tick")("x", 600.0)
            await rounds.pass_time(host, HOUR, MINUTE)
            await handle.cancel()
            await rounds.pass_time(host, 2 * HOUR, MINUTE)

    asyncio.run(life())
    assert [one.what for one in rounds.ran()] == ["a begin x", "a end x"]


def test_setting_and_cancelling_each_leave_one_audit_line() -> None:
    rounds = Rounds()

    async def lives() -> None:
        async with rounds.life():
            await One.ref("a").hourly("x")
            await One.ref("a").hourly("x")  # changes nothing
            await One.ref("a").end("hourly")
        async with rounds.life():
            pass

    asyncio.run(lives())
    assert len(rounds.audit("One", "schedule set")) == 1
    assert len(_cancelled(rounds)) == 1


def test_the_token_of_what_was_replaced_leaves_nothing_half_cancelled() -> None:
    rounds = Rounds()

    async def life() -> tuple[Cancellation, list[str]]:
        async with rounds.life() as host:
            old = await One.ref("a").note.after(3600, name="tick")("old")
            await One.ref("a").note.after(7200, name="tick")("new")
            await rest(host)
            # The old one was replaced: there is nothing left of it that could be cancelled.
            answer = await old.cancel()
            names = await One.ref("a").names()
            await rounds.pass_time(host, 3 * HOUR, HALF)
            return answer, names

    answer, names = asyncio.run(life())
    if answer == Cancellation.CANCELLED:  # the token stands for the name
        assert (names, rounds.ran()) == ([], [])
    else:
        assert names == ["tick"]
        assert [one.what for one in rounds.ran()] == ["a new"]


def test_a_timing_that_is_none_is_refused_and_sets_nothing() -> None:
    rounds = Rounds()
    ref = One.ref("a").note

    async def life() -> None:
        async with rounds.life():
            for wrong in (
                lambda: ref.every(timedelta(0), name="x")("w"),
                lambda: ref.every(timedelta(seconds=-5), name="x")("w"),
                lambda: ref.cron("61 * * * *", tz="UTC", name="x")("w"),
                lambda: ref.cron("* * * *", tz="UTC", name="x")("w"),
                lambda: ref.cron("0 0 30 2 *", tz="UTC", name="x")("w"),
                lambda: ref.cron("0 9 * * *", tz="Europe/Berln", name="x")("w"),
                lambda: ref.every(HOUR, name="")("w"),
                lambda: ref.every(HOUR, name="x")("w", "too many"),  # type: ignore[call-arg]
                lambda: ref.every(HOUR, name="x")(7),  # type: ignore[arg-type]
                lambda: ref.every(HOUR, name="x", missed="never")("w"),  # type: ignore[arg-type]
                lambda: ref.every(HOUR, name="x", overlap="never")("w"),  # type: ignore[arg-type]
            ):
                with pytest.raises((AgentctlError, TypeError, ValueError)) as raised:
                    await wrong()
                assert "isn't in this version" not in str(raised.value)
            assert await One.ref("a").names() == []

    asyncio.run(life())
    assert rounds.audit("One", "schedule set") == []
