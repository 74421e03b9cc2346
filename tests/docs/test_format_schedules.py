"""The reader made from the pages follows schedules, and what calls make, as the program does."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from agentctl import Agent, AgentSettings, bind, handler
from agentctl.core.history import JournalHistory
from agentctl.records import KINDS, decode, kind_of
from agentctl.testing import Durable

from .reader import open_events, records, schedules

HOUR = timedelta(hours=1)
HOUR_US = 3_600_000_000


class Rota(Agent):
    """Its event plans: one schedule, one event to come, one that it takes back."""

    shift: str

    @handler
    async def plan(self) -> int:
        await self.tick.every(HOUR, name="hourly")("a")
        await self.tick.after(60, name="soon")("b")
        token = await self.tick.after(7 * 86_400)("c")
        await self.tick.after(120, name="never")("d")
        await self.schedules["never"].cancel()
        return token.event or 0

    @handler
    async def tick(self, what: str) -> str:
        return what


@pytest.fixture
def durable() -> Durable:
    return Durable()


def planned(durable: Durable) -> bytes:
    """The journal of a program that planned, and stopped at once."""

    async def program() -> None:
        settings = AgentSettings(keep=0)
        async with durable.host(bind(Rota, settings=settings), jumps=False):
            await Rota.ref("a").plan()

    asyncio.run(program())
    return durable.journals["Rota"]


def test_the_reader_finds_the_schedules_and_the_event_to_come(durable: Durable) -> None:
    start_us = durable.clock.now_us()
    found = records(planned(durable))
    live = schedules(found)
    assert {at: one["due"] - start_us for at, one in live.items()} == {
        ("a", "hourly"): HOUR_US,
        ("a", "soon"): HOUR_US // 60,
    }
    (number,) = open_events(found)
    assert [one["value"] for one in found if "done" in one] == [number]


def test_the_reader_moves_a_schedule_by_the_event_that_it_made(durable: Durable) -> None:
    start_us = durable.clock.now_us()
    planned(durable)
    durable.clock.advance(2.5 * 3600)
    planned_again = planned(durable)
    live = schedules(records(planned_again))
    assert live["a", "hourly"]["due"] - start_us == 3 * HOUR_US
    assert ("a", "soon") in live  # set anew by the second one
    made = [one for one in records(planned_again) if one.get("schedule") and "event" in one]
    assert [one["schedule"] for one in made][:2] == ["soon", "hourly"]


def test_the_reader_finds_what_the_program_finds_wherever_the_journal_ends(
    durable: Durable,
) -> None:
    planned(durable)
    durable.clock.advance(2.5 * 3600)
    lines = planned(durable).splitlines(keepends=True)
    for length in range(1, len(lines) + 1):
        found = records(b"".join(lines[:length]))
        history = folded(lines[:length])
        theirs = {(*of, name): one.due for (of, name), one in history.schedules.live.items()}
        assert {at: one["due"] for at, one in schedules(found).items()} == theirs
        assert list(open_events(found)) == list(history.open)


def folded(lines: list[bytes]) -> JournalHistory:
    history = JournalHistory()
    for line in lines:
        body = line[: line.rindex(b',"crc"')] + b"}"
        if kind_of(body) in KINDS:
            history.fold(kind_of(body), decode(body), body)
    history.end()
    return history
