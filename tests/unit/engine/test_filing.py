"""What `kavach.toml` says of schedules is brought about at a start, and an edit fires nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from agentctl import Agent, bind, handler
from agentctl.core.timing import Source, Timing
from agentctl.engines.local.options import EngineOptions
from agentctl.engines.schedules import SetRequest
from agentctl.testing import Durable
from agentctl.testing.clock import START_US
from agentctl.times import SECOND_US

HOUR_US = 3600 * SECOND_US


class Bell(Agent):
    @handler
    async def ring(self) -> None: ...


class Filed(Durable):
    """A world whose file says when the bell rings."""

    def __init__(self) -> None:
        super().__init__()
        self.due_us: int | None = None
        self.source: Source = "file"

    def _options(self, base: EngineOptions) -> EngineOptions:
        return replace(super()._options(base), filed=self._filed())

    def _filed(self) -> Sequence[SetRequest]:
        if self.due_us is None:
            return ()
        timing = Timing("once", due_us=self.due_us, anchored=True)
        return [SetRequest("Bell", "", "ring", timing, source=self.source)]

    def start(self, due_us: int | None) -> Any:
        """Start with this in the file; returns what is set then, and what the program warned of."""
        self.due_us = due_us

        async def life() -> Any:
            async with self.host(bind(Bell), jumps=False) as one:
                await one.idle()
                dues = [handle.due_us for handle in Bell.ref().schedules.values()]
                return dues, [each.text for each in one.engine.warnings]

        return asyncio.run(life())

    @property
    def rang(self) -> int:
        """How many events there were."""
        return self.journals["Bell"].count(b'"event":')


def test_r18_a_single_time_edited_into_one_that_is_over_cancels_it_and_fires_nothing() -> None:
    world = Filed()
    assert world.start(START_US + HOUR_US) == ([START_US + HOUR_US], [])
    dues, warnings = world.start(START_US - HOUR_US)
    assert (dues, world.rang) == ([], 0)
    assert any("is over" in text for text in warnings)


def test_r18_a_single_time_that_fell_due_while_nothing_ran_still_fires() -> None:
    world = Filed()
    world.start(START_US + HOUR_US)
    world.clock.advance(2 * 3600.0)
    assert world.start(START_US + HOUR_US) == ([], [])
    assert world.rang == 1


def test_r18_what_is_taken_out_of_the_file_is_cancelled() -> None:
    world = Filed()
    world.start(START_US + HOUR_US)
    assert world.start(None) == ([], [])


def test_r18_what_the_shell_has_set_goes_on_and_the_warning_says_how_to_have_the_files() -> None:
    world = Filed()
    world.source = "shell"
    world.start(START_US + HOUR_US)
    world.source = "file"
    dues, warnings = world.start(START_US + 2 * HOUR_US)
    assert dues == [START_US + HOUR_US]
    (said,) = warnings
    assert "was set by the shell" in said
    assert "to have the file's: agentctl schedule cancel Bell once, and start anew" in said


def test_r18_what_the_file_sets_is_durable_once_the_program_has_started() -> None:
    world = Filed()
    world.due_us = START_US + HOUR_US

    async def journals() -> list[bytes]:
        async with world.host(bind(Bell), jumps=False):
            cut = [world.disk.after_power_cut(seed) for seed in range(5)]
            return [disk.read_file("/memory/agents/Bell/journal") for disk in cut]

    assert all(b'"schedule":"once"' in journal for journal in asyncio.run(journals()))
