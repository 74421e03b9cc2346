"""A step's code knows a copy in its agent's place, however it got to know the agent."""

from __future__ import annotations

import functools
import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from agentctl import Agent, blocking, handler, step
from agentctl.sdk.step_body import StepBody
from agentctl.testing import Durable


class Bot:
    """Stands for an agent's object."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def note(self, n: int) -> Bot:
        self.seen.append(n)
        return self


def by_method(bot: Bot) -> Callable[[int], Bot]:
    return bot.note


def by_closure(bot: Bot) -> Callable[[int], Bot]:
    def note(n: int) -> Bot:
        return bot.note(n)

    return note


def by_partial(bot: Bot) -> Callable[[int], Bot]:
    return functools.partial(Bot.note, bot)


def by_a_method_that_is_closed_over(bot: Bot) -> Callable[[int], Bot]:
    note = bot.note
    return lambda n: note(n + 1)


def by_itself_again(bot: Bot) -> Callable[[int], Bot]:
    def note(n: int) -> Bot:
        return note(n - 1) if n > 7 else bot.note(n)

    return note


def by_two_that_know_each_other(bot: Bot) -> Callable[[int], Bot]:
    def note(n: int) -> Bot:
        return other(n) if n > 7 else bot.note(n)

    def other(n: int) -> Bot:
        return note(n - 1)

    return other


WAYS = [
    by_method,
    by_closure,
    by_partial,
    by_a_method_that_is_closed_over,
    by_itself_again,
    by_two_that_know_each_other,
]


@pytest.mark.parametrize("way", WAYS)
def test_the_copy_is_worked_on_and_the_original_left_alone(way: Any) -> None:
    original, copy = Bot(), Bot()
    assert StepBody(way(original)).on(original, copy)(8) is copy
    assert copy.seen
    assert not original.seen


def test_code_that_does_not_know_the_agent_is_the_same_function() -> None:
    other = Bot()
    for fn in (other.note, by_itself_again(other), len):
        assert StepBody(fn).on(Bot(), Bot()) is fn


def test_what_a_function_shares_with_its_surroundings_it_still_shares() -> None:
    bot, count = Bot(), 0

    def note() -> None:
        nonlocal count
        count += 1
        bot.note(count)

    StepBody(note).on(bot, Bot())()
    assert count == 1


def test_a_blocking_function_stays_one(durable: Durable) -> None:
    class Counter(Agent):
        total: int = 0

        @handler
        async def count(self) -> list[int]:
            @blocking
            def add(n: int) -> int:
                self.total += n
                return self.total

            first = await step("local", add, 3)
            return [first, await step("partial", functools.partial(add, 4)), self.total]

    assert durable.run(Counter, "count") == [3, 7, 7]


def test_nothing_of_an_event_outlives_it(durable: Durable) -> None:
    alive: list[weakref.ref[Bot]] = []

    class Keeper(Agent):
        @handler
        async def keep(self) -> None:
            bot = Bot()
            alive.append(weakref.ref(bot))

            async def note(n: int) -> None:
                bot.note(n)

            await step("note", note, 1)

    durable.run(Keeper, "keep")
    gc.collect()
    assert alive[0]() is None


@pytest.fixture
def durable() -> Durable:
    return Durable()
