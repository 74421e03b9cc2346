"""A turn that doesn't let go is told of while it lasts, once; and which one a stop broke off."""

from __future__ import annotations

import asyncio
import queue
import sys

import pytest

from agentctl.engines.local.events.turns import Turns


class Clock:
    def __init__(self):
        self.s = 0.0

    def monotonic_s(self):
        return self.s


class Run:
    title = "Bot#1"
    handler_name = "spin"

    def __init__(self, coro=None):
        self.coro = coro
        self.broken_off = []

    def break_off(self, took_s, line):
        self.broken_off.append((took_s, line))


async def waits():
    await asyncio.sleep(0)


async def spins():
    await waits()


@pytest.fixture
def turns():
    made = Turns(Clock())
    yield made
    made.close()


def test_h8_each_turn_that_blocks_is_told_of_once_while_it_does(turns):
    told = queue.Queue()
    turns.watch(told.put)
    for n in (1, 2):
        turns.begin(Run())
        turns._clock.s += n + 0.5
        text = told.get(timeout=10)
        assert text.startswith(f"Bot#1 has not let go for {n}.5 s, in its handler spin, at ")
        assert "test_turns_told.py:" in text
        with pytest.raises(queue.Empty):
            told.get(timeout=0.5)
        assert turns.end() == n + 0.5


def test_between_two_steps_the_coroutine_says_where_it_stands(turns):
    coro = spins()
    coro.send(None)
    turns.begin(Run(coro))
    line = turns.current.line(None)
    assert line.endswith(f"test_turns_told.py:{waits.__code__.co_firstlineno + 1}")
    coro.close()


def test_only_the_turn_that_blocked_before_is_broken_off(turns):
    first, second = Run(), Run()
    turns.begin(first)
    assert turns.blocked() is None
    turns._clock.s = 1.5
    blocked, took_s = turns.blocked()
    assert (blocked.run, took_s) == (first, 1.5)
    turns.break_off(blocked)
    ((took_s, line),) = first.broken_off
    assert took_s == 1.5
    assert line.endswith(f"test_turns_told.py:{sys._getframe().f_lineno - 3}")
    turns.end()
    turns.break_off(blocked)
    turns.begin(second)
    turns.break_off(blocked)
    assert (len(first.broken_off), second.broken_off) == (1, [])
