"""Scenarios of steps and workflows: tried again, waiting, answered, undone, cancelled, set aside.

Held in the end, beside what holds of every event: the records of each step could have happened
so (reading_steps.py), the attempts are those that the policy says, backoffs were waited for once,
and an input that somebody heard of is the one that was used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from matrix import Scenario
from mortal import Life
from mortal_changes import Ground, asked, both, rest
from mortal_shop import HOUR_S, LivingGoods
from mortal_world import World, check_rest, ends_of, read
from msgspec import Raw
from reading_raw import Seen, audit_of
from reading_steps import Event, events_of

from agentctl import Agent, AgentSettings, bind
from agentctl.core.lifecycle import Cancellation
from agentctl.engines.changes import CancelRequest, ResumeRequest
from agentctl.engines.port import InvokeRequest
from agentctl.errors import Conflict, NotFound
from agentctl.names import Address
from agentctl.storage.memory import MemoryDisk

PATIENT = AgentSettings(max_starts=100)
QUICKLY_ASIDE = AgentSettings(max_starts=2)
FORGETFUL = AgentSettings(max_starts=100, keep=0)
Act: TypeAlias = Callable[[Life], Awaitable[None]]
Request: TypeAlias = tuple[Any, ...]


def program(
    agent: type[Agent],
    *requests: Request,
    acts: Sequence[Act] = (),
    posted: Act | None = None,
    settings: AgentSettings = PATIENT,
    killed: bool = False,
    compacts: bool = False,
    ids: str = "request",
) -> Act:
    """Start, ask under ids of its own, act, let all come to its end, stop.

    Args:
        posted: what somebody does to whom the key of a question was posted.
        killed: it is killed as soon as only time can help.
        compacts: it writes its journal anew whenever it can.
        ids: how the ids of the requests begin.
    """

    async def living(life: Life) -> None:
        for place, (name, *args) in enumerate(requests):
            request = InvokeRequest(agent.__name__, (), name, args, id=f"{ids}-{place}")
            address = await accepted(life, request)
            if compacts:
                await rest(life)
                await after_turns(12, rest)(life)  # so many slices a compaction has here, and more
            if address is None or settings.keep == 0:
                continue  # nobody waits for its end
            life.waiting.append(asyncio.ensure_future(life.host.ended(address)))
            await asyncio.sleep(0)
        for act in acts:
            await act(life)
        if killed:
            await rest(life)
            return
        await life.rest()
        for future in life.waiting:
            end = await future
            if end.event.event not in life.world.retried:
                told = f"{end.status} {end.result!r}"
                life.world.answered(f"the end of {end.event}", told)

    async def step(life: Life) -> None:
        goods = LivingGoods(life)
        goods.posted = posted
        life.compacts_at = 1 if compacts else life.compacts_at
        await life.start(bind(agent, settings=settings, goods=goods))
        try:
            await living(life)
        except BaseException:
            if not life.disk.dead:  # as `async with` would
                await life.stop()
            raise
        if not killed:
            await life.stop()

    return step


async def accepted(life: Life, request: InvokeRequest) -> Address | None:
    """Ask until it is heard that it is accepted; None: nothing will be heard of its end."""
    world = life.world
    if request.id not in world.answers:
        try:
            address = await life.host.submit(request)
        except NotFound:  # it ended, and nothing is kept of it
            return None
        world.accepted(address.event)
        world.answered(request.id, str(address))
    address = Address.parse(world.answers[request.id])
    return None if address.event in life.seen(life.agent).asides else address


def died_in(act: Act) -> Act:
    """The same, by a program that nobody starts again when it died."""

    async def step(life: Life) -> None:
        first, life.world.tried = not life.world.tried, True
        if first:
            await act(life)

    return step


def away(seconds: float) -> Act:
    """Time passes, and no program runs; a death doesn't make it more."""

    async def step(life: Life) -> None:
        life.clock.advance(seconds)

    return step


# -- what people do


def give(ground: Ground, call: str, *values: str) -> Act:
    """Each of some people gives an input under an id of its own, and asks until it is heard."""
    event = int(call.split("-")[1])
    path = call.split("-")[2]

    async def one(life: Life, who: str, value: str) -> None:
        asked = f"input of {who} to {call}"
        change = ResumeRequest(
            life.agent, asked, event=event, call=path, value=Raw(b'"%b"' % value.encode()), by=who
        )
        try:
            answer = await ground(life, change)
        except Conflict as error:
            if asked in life.world.answers:
                life.world.breaks(f"{asked} was taken, and is refused now: {error}")
            if event in life.seen(life.agent).accepted and not was_given(life, event, path):
                life.world.breaks(f"{asked} is refused, and nobody else's was taken: {error}")
            return
        life.world.answered(asked, str(answer))
        life.world.given(call, value)

    async def act(life: Life) -> None:
        if event in life.seen(life.agent).asides:
            return
        for place, value in enumerate(values):
            await one(life, f"person {place}", value)

    return act


def was_given(life: Life, event: int, path: str) -> bool:
    trail = events_of(life.seen(life.agent).records, [event])[event].trails.get(f"{event}-{path}")
    return trail is not None and bool(trail.answers)


def at_rest(act: Act) -> Act:
    return both(rest, act)


def cancel(ground: Ground, *, running: bool = False) -> Act:
    """Cancel event 1, twice; it may be over, or never have come."""

    async def act(life: Life) -> None:
        life.world.cancelling.add(1)
        for turn in ("first", "second"):
            change = CancelRequest(life.agent, f"{turn} cancel", event=1, running=running)
            answer = await asked(life, ground, change)
            if answer is None:
                if 1 in life.world.cancelled:
                    life.world.breaks("it was cancelled, and isn't known")
                life.world.cancelling.discard(1)
            elif answer.answer in (Cancellation.CANCELLED, Cancellation.ALREADY_CANCELLED):
                life.world.cancelled.add(1)
            elif 1 in life.world.cancelled or answer.answer == Cancellation.RUNNING:
                life.world.breaks(f"the cancel was answered {answer}")

    return act


def after_an_hour(act: Act) -> Act:
    """Do something when everything has rested, and then an hour has passed."""

    async def later(life: Life) -> None:
        await rest(life)
        life.clock.advance(HOUR_S)
        await act(life)

    return later


def after_turns(turns: int, act: Act) -> Act:
    """Do something after so many turns of the loop."""

    async def later(life: Life) -> None:
        for _ in range(turns):
            await asyncio.sleep(0)
        await act(life)

    return later


# -- what holds in the end


@dataclass(frozen=True)
class Held:
    """What must hold of one event, or of all.

    Attributes:
        attempts: how often each step of event 1 was tried, by call's path.
        backoffs_s: how long each of these calls rested before each further attempt.
        ends: how event 1 may end.
        undone: the paths of the steps that were undone, in that order; None: where it is
            cancelled, those of the first two steps that were done.
        done: the paths of steps whose attempt came to its end.
        result: what is part of the result.
    """

    attempts: Mapping[str, int] = field(default_factory=dict)
    backoffs_s: Mapping[str, Sequence[float]] = field(default_factory=dict)
    ends: Sequence[str] = ("completed",)
    undone: Sequence[str] | None = ()
    done: Sequence[str] = ()
    result: str = ""
    events: int = 1

    def check(self, world: World, disk: MemoryDisk, agent: str) -> None:
        check_rest(world, disk, agent, aside=False)
        seen = Seen(read(disk, agent, "journal"))
        found = events_of(seen.records, seen.accepted)
        for number, event in found.items():
            for what in event.broken():
                world.breaks(f"event {number}: {what}")
            for call in event.too_late:
                if seen.key(call) in world.entered:
                    world.breaks(f"the step {call} was made after a cancellation")
        audit = audit_of(read(disk, agent, "audit.log"))
        self._check_ends(
            world, ends_of(audit), [one for _, verb, one in audit if verb == "accepted"]
        )
        for call in self.backoffs_s:
            self._check_backoffs(world, call)
        if (event := found.get(1)) is not None:
            self._check_steps(world, event)
            self._check_result(world, seen)

    def _check_ends(self, world: World, ends: Mapping[int, str], accepted: Sequence[int]) -> None:
        if len(accepted) != self.events:
            world.breaks(f"{self.events} events were asked for, these were accepted: {accepted}")
        if ends.get(1) not in self.ends:
            world.breaks(f"event 1 ended {ends.get(1)!r}, not {self.ends}")

    def _check_backoffs(self, world: World, call: str) -> None:
        made = world.entered.get(call, [])
        for number, expected_s in enumerate(self.backoffs_s[call], start=1):
            ended = [at for one, at in made if one == number]
            begun = [at for one, at in made if one == number + 1]
            waited_s = (min(begun) - max(ended)) / 1e6 if begun and ended else -1.0
            if not expected_s <= waited_s <= expected_s * 1.5 + 1:
                world.breaks(f"{call} rested for {waited_s} s after attempt {number}: {made}")

    def _check_steps(self, world: World, event: Event) -> None:
        for path, times in self.attempts.items():
            trail = event.trails.get(f"1-{path}")
            if trail is None or trail.attempts != list(range(1, times + 1)):
                world.breaks(f"{path} was to be tried {times} times, and was {trail}")
        done = [path for path in ("1", "2") if self._is_done(event, path)]
        expected = self.undone
        if expected is None:
            expected = [] if event.cancelled is None else done[::-1]
        for path in self.done:
            if not self._is_done(event, path):
                world.breaks(f"the attempt of {path} didn't come to its end")
        torn = [one.call for one in event.steps if one.undoes is not None and one.ends != ["ok"]]
        if torn and self.undone is None:
            world.breaks(f"{torn} were to undo steps, and didn't")
        if event.undone != [f"1-{path}" for path in expected]:
            world.breaks(f"{event.undone} were undone, not {expected}")

    def _is_done(self, event: Event, path: str) -> bool:
        trail = event.trails.get(f"1-{path}")
        return trail is not None and trail.ends == ["ok"]

    def _check_result(self, world: World, seen: Seen) -> None:
        done = [one for one in seen.records if one.get("done") == 1]
        if done and self.result not in str(done[0].get("value")):
            world.breaks(f"the result is {done[0].get('value')}, without {self.result}")
        for key, value in world.inputs.items():
            trail = events_of(seen.records, [1])[1].trails.get(key.partition("-")[2])
            if trail is not None and trail.answers != [value]:
                world.breaks(f"{key} has the input {trail.answers}, and {value} was acknowledged")


def of(agent: type[Agent], *steps: Act, **held: Any) -> Scenario:
    """A scenario of one agent, and what holds of its first event in the end."""
    holds, name = Held(**held), agent.__name__

    def check(world: World, disk: MemoryDisk) -> None:
        holds.check(world, disk, name)

    return Scenario(name, steps, check)
