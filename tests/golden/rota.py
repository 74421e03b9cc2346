"""The agents of the golden journals of schedules, and what happens to them before these end.

Two programs live one after the other in one world, on a fake clock, over the night on which the
clocks of Berlin are set back. Between them no program runs for some hours. What the second one
leaves holds each kind of record of schedules, and each call that concerns another event.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from agentctl import Agent, Host, bind, handler, sleep
from agentctl.engines.changes import CancelRequest
from agentctl.engines.local.running.binding import Binding
from agentctl.engines.schedules import FireRequest, PauseRequest, UnscheduleRequest
from agentctl.testing import Durable, FakeClock

EVENING = datetime(2026, 10, 24, 18, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
QUIET = 8


class Desk(Agent):
    """Another agent, which is only sent to."""

    notes: list[str] = []

    @handler
    async def note(self, text: str) -> int:
        self.notes.append(text)
        return len(self.notes)


class Rota(Agent):
    """Plans, and is run by what it plans."""

    shift: str
    ran: list[str] = []

    @handler
    async def plan(self) -> None:
        """Set one schedule of each kind."""
        await self.tick.every(HOUR, name="hourly", jitter=60.0)("hourly")
        await self.tick.every(20 * MINUTE, name="each", missed="all")("each")
        await self.tick.every(20 * MINUTE, name="none", missed="skip")("none")
        await self.tick.every(HOUR, name="late", max_late=10.0)("late")
        await self.slow.every(15 * MINUTE, name="slow")(1500.0)
        await self.tick.cron("30 2 * * *", tz="Europe/Berlin", name="night")("night")
        await self.tick.after(3600, name="once")("once")
        await self.tick.after(3 * 3600, max_late=60.0)("too late")
        await self.tick.after(90 * 86_400, name="far", key="far")("far")

    @handler
    async def meet(self) -> list[str]:
        """Send, look, take back and wait, here and at another agent."""
        first = await self.tick.trigger()("at once")
        soon = await self.tick.after(60, key="soon")("soon")
        never = await self.tick.after(7200)("never")
        note = await Desk.ref().note.after(30)("sent")
        weekly = await Desk.ref().note.every(timedelta(days=7), name="weekly")("again")
        await Desk.ref().note.trigger()("now")
        said = [str(await never.cancel()), str(await weekly.cancel()), *self.schedules]
        said.append(await first.result())
        said.append(str(await note.result()))
        said.append(await soon.result())
        return said

    @handler(exclusive=False)
    async def tick(self, what: str) -> str:
        return what

    @handler(exclusive=False)
    async def slow(self, seconds: float) -> None:
        await sleep(seconds)


def written() -> Mapping[str, bytes]:
    """What the second program leaves, by agent."""
    world = Durable(clock=FakeClock(round(EVENING.timestamp() * 1_000_000)))
    asyncio.run(_first(world))
    world.clock.advance(5 * HOUR + 7 * MINUTE)
    asyncio.run(_second(world))
    return world.journals


def bindings() -> tuple[Binding[Rota], Binding[Desk]]:
    """Both agents; they need no world."""
    return bind(Rota), bind(Desk)


async def _first(world: Durable) -> None:
    async with world.host(*bindings(), jumps=False) as host:
        await Rota.ref("eu").plan()
        await _pass_time(world, host, HOUR)
        await host.engine.carry_out(PauseRequest("Rota", "p1", "hourly", ("eu",)))


async def _second(world: Durable) -> None:
    async with world.host(*bindings(), jumps=False) as host:
        await _quiet(host)
        change = host.engine.carry_out
        await change(PauseRequest("Rota", "p2", "hourly", ("eu",), pause=False, by="ana"))
        await change(FireRequest("Rota", "f1", "night", ("eu",), by="ana"))
        meeting = asyncio.ensure_future(Rota.ref("eu").meet())
        await _pass_time(world, host, 2 * HOUR)
        assert (await meeting)[:2] == ["cancelled", "cancelled"]
        await change(PauseRequest("Rota", "p3", "each", ("eu",)))
        await change(UnscheduleRequest("Rota", "u1", "none", ("eu",), by="ana"))
        late = await Rota.ref("us").tick.after(3600)("never")
        await change(CancelRequest("Rota", "c1", ("us",), late.event))
        await _pass_time(world, host, HOUR)


async def _pass_time(world: Durable, host: Host, duration: timedelta) -> None:
    for _ in range(duration // MINUTE):
        world.clock.advance(MINUTE)
        await _quiet(host)


async def _quiet(host: Host) -> None:
    quiet = 0
    while quiet < QUIET:
        await asyncio.sleep(0)
        quiet = quiet + 1 if host.engine.quiet else 0
