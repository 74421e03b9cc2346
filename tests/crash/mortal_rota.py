"""The agents of the crash matrix that begin by the clock, and how a program of them is lived (R18).

Each mark that they leave bears the due time of its occurrence, counted from the world's beginning,
and how many missed ones it stands for: a call that is made again with other arguments shows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from mortal import Life
from mortal_agents import Deeds, LivingDeeds
from mortal_asking import near

from agentctl import Agent, AgentSettings, Token, bind, handler, occurrence, sleep
from agentctl.engines.port import InvokeRequest
from agentctl.testing.clock import START_US

START = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
HOUR_S = 3600
PATIENT = AgentSettings(max_starts=100)
QUICKLY_ASIDE = AgentSettings(max_starts=2)
Act: TypeAlias = Callable[[Life], Awaitable[None]]


def when() -> str:
    """The due time of this occurrence, and how many missed ones it stands for."""
    one = occurrence()
    return "" if one is None else f" @{round((one.due - START).total_seconds())}+{one.missed}"


class Marks(Deeds):
    """What the agents leave in the world."""

    async def mark(self, what: str, heard: list[str]) -> str: ...


class LivingMarks(LivingDeeds, Marks):
    """The marks of one life; each counts for the state of its instance."""

    async def mark(self, what: str, heard: list[str]) -> str:
        key = self._life.enter("mark", (what,), heard)
        who, _, event = key.rpartition("-")[0].rpartition("-")
        agent, _, of = who.partition("/")
        self._life.world_of(agent).amounts[int(event)] = (of, 1)
        await asyncio.sleep(0)
        return key


class Away(Agent):
    """Another agent, which is only sent to."""

    deeds: Marks
    total: int = 0

    @handler
    async def mark(self, what: str) -> list[str]:
        heard = [await self.deeds.mark(what + when(), [])]
        self.total += 1
        return heard

    @handler(exclusive=False)
    async def deadly(self) -> list[str]:
        heard = [await self.deeds.do(f"before{when()}", [])]
        heard.append(await self.deeds.deadly(list(heard)))
        heard.append(await self.deeds.do(f"after{when()}", list(heard)))
        return heard


class Rota(Agent):
    """It sends to itself, to its other instances and to `Away`, at times."""

    name: str
    deeds: Marks
    total: int = 0

    async def did(self, what: str) -> list[str]:
        heard = [await self.deeds.mark(what + when(), [])]
        self.total += 1
        return heard

    @handler
    async def mark(self, what: str) -> list[str]:
        return await self.did(what)

    @handler
    async def poll(self, tick: int, last: int) -> list[str]:
        heard = [await self.deeds.mark(f"tick {tick}", [])]
        self.total += 1
        if tick < last:
            await self.poll.after(60, name="tick")(tick + 1, last)
        return heard

    @handler
    async def send(self, name: str) -> list[str]:
        to = self.mark if name == self.name else Rota.ref(name).mark
        await to.trigger()("now")
        await to.after(60)("soon")
        await to.at(START + HOUR, name="once")("once")
        return await self.did("sent")

    @handler
    async def send_away(self) -> list[str]:
        to = Away.ref().mark
        await to.trigger()("now")
        await to.after(60)("soon")
        await to.at(START + HOUR, name="once")("once")
        return await self.did("sent")

    @handler
    async def change_mind(self) -> list[str]:
        token = await self.mark.at(START + HOUR)("never")
        handle = await self.mark.every(HOUR, name="hourly")("never")
        words = [await token.cancel(), await token.cancel()]
        words += [await handle.cancel(), await handle.cancel()]
        return await self.did(" ".join(words))

    @handler
    async def change_mind_away(self) -> list[str]:
        to = Away.ref().mark
        token = await to.at(START + HOUR)("never")
        handle = await to.every(HOUR, name="hourly")("never")
        words = [await token.cancel(), await token.cancel()]
        words += [await handle.cancel(), await handle.cancel()]
        return await self.did(" ".join(words))

    @handler
    async def look(self) -> list[str]:
        await self.mark.at(START + HOUR, name="first")("first")
        heard = [await self.deeds.mark(self._names(), [])]
        await self.mark.at(START + 2 * HOUR, name="second")("second")
        await self.schedules["first"].cancel()
        heard.append(await self.deeds.do(self._names(), list(heard)))
        self.total += 1
        return heard

    def _names(self) -> str:
        return " ".join(f"{name}{one.due.hour}" for name, one in self.schedules.items())

    @handler
    async def every(self, missed: Any, what: str = "hourly") -> list[str]:
        await self.mark.every(HOUR, name="hourly", first=START + HOUR, missed=missed)(what)
        return await self.did("set")

    @handler
    async def cron(self) -> list[str]:
        await self.mark.cron("0 * * * *", tz="Europe/Berlin", name="hourly")("hourly")
        return await self.did("set")

    @handler
    async def queue(self) -> list[str]:
        first = START + HOUR
        await self.slow.every(HOUR, name="hourly", first=first, overlap="queue")("slow")
        return await self.did("set")

    @handler(exclusive=False)
    async def slow(self, what: str) -> list[str]:
        heard = [await self.deeds.do(f"begin{when()}", [])]
        await sleep(1.5 * HOUR_S)
        heard.append(await self.deeds.do(f"end{when()}", list(heard)))
        return heard

    @handler
    async def strictly(self) -> list[str]:
        await self.mark.at(START + HOUR, max_late=60)("single")
        await self.mark.at(START + HOUR, name="once", max_late=60)("once")
        return await self.did("set")

    @handler
    async def risk(self) -> list[str]:
        first = START + HOUR
        await self.deadly.every(HOUR, name="hourly", first=first)()
        return await self.did("set")

    @handler
    async def risk_once(self) -> list[str]:
        await self.deadly.at(START + HOUR)()
        return await self.did("set")

    @handler(exclusive=False)
    async def deadly(self) -> list[str]:
        heard = [await self.deeds.do(f"before{when()}", [])]
        heard.append(await self.deeds.deadly(list(heard)))
        heard.append(await self.deeds.do(f"after{when()}", list(heard)))
        return heard

    @handler
    async def wait(self, name: str | None, what: str) -> list[str]:
        due, to = START + HOUR, Away.ref()
        token: Token[list[str]]
        if what == "deadly":
            token = await to.deadly.at(due, name=name)()
        else:
            token = await to.mark.at(due, name=name)(what)
        there = await token.result()
        heard = [await self.deeds.mark("waited", there)]
        self.total += 1
        return heard


# -- living


async def until(life: Life, at_s: float) -> None:
    """Let time pass up to a moment, and everything that it brings about come to rest."""
    while True:
        await life.rest(until_s=0.0)
        left_s = (START_US - life.clock.now_us()) / 1e6 + at_s
        if left_s <= 0:
            return
        dues = [due for one in life.clock._timers if (due := one.next_due_s) is not None]
        next_s = min(dues, default=float("inf")) - life.clock.monotonic_s()
        life.clock.advance(max(0.0, min(left_s, next_s)))
        await asyncio.sleep(0)


def away(to_s: float) -> Act:
    """Time passes, and no program runs."""

    async def step(life: Life) -> None:
        life.clock.advance(max(0.0, (START_US - life.clock.now_us()) / 1e6 + to_s))

    return step


def at(moment_s: float, act: Act) -> Act:
    """Do something at a moment, while the program runs."""

    async def later(life: Life) -> None:
        await until(life, moment_s)
        await act(life)

    return later


def program(
    *requests: tuple[Any, ...],
    to_s: float | None = None,
    acts: Sequence[Act] = (),
    agents: Sequence[type[Agent]] = (Rota,),
    settings: AgentSettings = PATIENT,
    filed: Sequence[Any] | None = None,
    killed: bool = False,
    cancelling: Mapping[str, int] | None = None,
) -> Act:
    """Start, ask for what nobody heard of yet, act, let time pass, stop.

    Args:
        to_s: it lives until then; None: until nothing is due any more.
        killed: it is killed then.
        cancelling: the event of each agent that a handler cancels.
    """

    async def live(life: Life) -> None:
        for name, handler_name, *args in requests:
            asked = f"{handler_name} {name} {args}"
            if asked in life.world.answers:
                continue  # whoever heard that it is accepted doesn't ask again
            request = InvokeRequest("Rota", (name,), handler_name, args, key=asked)
            address = await life.host.submit(request)
            life.world.accepted(address.event)
            life.world.answered(asked, str(address))
            await asyncio.sleep(0)
        for act in acts:
            await act(life)
        if to_s is None:
            await life.rest()
        else:
            await until(life, to_s)

    async def step(life: Life) -> None:
        deeds = LivingMarks(life)
        bound = [bind(one, settings=settings, deeds=deeds) for one in agents]
        for agent, number in (cancelling or {}).items():
            life.world_of(agent).cancelling.add(number)
        with near(life):
            await life.start(*bound, filed=filed)
        try:
            await live(life)
        except BaseException:
            if not life.disk.dead:  # as `async with` would
                await life.stop()
            raise
        if not killed:
            await life.stop()

    return step


def only_once(act: Act) -> Act:
    """The same, by somebody who doesn't try again."""

    async def step(life: Life) -> None:
        first, life.world.tried = not life.world.tried, True
        if first:
            await act(life)

    return step
