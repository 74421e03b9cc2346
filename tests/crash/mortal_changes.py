"""Scenarios in which somebody changes events from outside: cancel, retry, delete, requeue, drop.

Each change bears one request id however often it is asked, through the program that runs the
agent or under the lock of nobody's folder. Held in the end: what was answered once is answered
again, a cancelled event never ended otherwise, and clean-up on record isn't done again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from matrix import Scenario
from mortal import Life
from mortal_agents import Bot, Counter
from mortal_keeper import Bugs, Keeper, LivingRisks
from mortal_world import World, check_rest, read
from reading_raw import audit_of

from agentctl import Agent, AgentSettings, bind
from agentctl.engines.changes import (
    Cancelled,
    CancelRequest,
    Change,
    DeleteRequest,
    DropRequest,
    RequeueRequest,
    RetryRequest,
)
from agentctl.engines.port import InvokeRequest
from agentctl.errors import Conflict, NotFound
from agentctl.names import Address
from agentctl.storage.memory import MemoryDisk
from agentctl.testing.clock import START_US

PATIENT = AgentSettings(max_starts=100)
Request: TypeAlias = tuple[Any, ...]
Act: TypeAlias = Callable[[Life], Awaitable[None]]


def program(
    agent: type[Agent],
    *requests: Request,
    act: Act | None = None,
    until: Act | None = None,
    settings: AgentSettings = PATIENT,
    killed: bool = False,
    ends: bool = True,
    keys: bool = False,
    buggy: Sequence[int] = (),
) -> Act:
    """Start, ask for what is asked for under ids of its own, act, let all rest, stop.

    Args:
        until: waits for the moment to act; by default for everything but time.
        killed: it is killed at rest, with whatever still sleeps.
        ends: it waits until all is over; else it stops while some of it sleeps.
        keys: each request bears an idempotency key, and is made in every life.
    """

    async def live(life: Life) -> None:
        for place, (of, name, *args) in enumerate(requests):
            key = f"key {place}" if keys else None
            asked = f"request-{place}" if not keys else ""
            request = InvokeRequest(agent.__name__, of, name, args, id=asked, key=key)
            address = await life.host.submit(request)
            life.world.accepted(address.event)
            life.waiting.append(asyncio.ensure_future(life.host.ended(address)))
            await asyncio.sleep(0)
        await (until or rest)(life)
        if act is not None:
            await act(life)
        if killed or not ends:
            return
        await life.rest()
        for future in life.waiting:
            end = await future
            if keys:
                life.world.answered(f"the result of {end.event}", f"{end.status} {end.result!r}")

    async def step(life: Life) -> None:
        Bugs.there = life.world.poisonous
        life.world.buggy |= set(buggy)
        await life.start(bind(agent, settings=settings, deeds=LivingRisks(life)))
        try:
            await live(life)
        except BaseException:
            if not life.disk.dead:  # as `async with` would
                await life.stop()
            raise
        if not killed:
            await life.stop()

    return step


async def rest(life: Life) -> None:
    """Everything rests, as far as time isn't needed for it."""
    await life.rest(until_s=0.0)


def entered(key: str) -> Act:
    """The code of a call runs, or its event is over."""

    async def until(life: Life) -> None:
        event = int(key.split("-")[1])
        while key not in life.world.made and event not in life.seen(life.agent).ended:
            await asyncio.sleep(0)
        for _ in range(4):
            await asyncio.sleep(0)

    return until


# -- asking for changes


async def live(life: Life, change: Change) -> Any:
    """Ask the program that runs the agent."""
    return await life.host.carry_out(change)


async def cold(life: Life, change: Change) -> Any:
    """Ask under the lock of the folder, which nobody holds."""
    life.world.found(life.seen(life.agent))
    return life.desk().carry_out(change)


Ground: TypeAlias = Callable[[Life, Change], Awaitable[Any]]
REFUSED = (NotFound, Conflict)


async def asked(life: Life, ground: Ground, change: Change) -> Any:
    """Ask for one change; None: it was refused, since another life has done it unheard."""
    try:
        answer = await ground(life, change)
    except REFUSED as error:
        if change.id in life.world.answers:
            life.world.breaks(f"{change.id} was answered, and is refused now: {error}")
        return None
    if not isinstance(answer, Cancelled) or answer.answer == "cancelled":
        life.world.answered(change.id, str(answer))
    return answer


def cancel(ground: Ground, *numbers: int, running: bool = False) -> Act:
    """Cancel events, each twice: one end, and the second is told so."""

    async def act(life: Life) -> None:
        for number in numbers:
            life.world.cancelling.add(number)
            for turn in ("first", "second"):
                change = CancelRequest(
                    life.agent, f"{turn} cancel of {number}", event=number, running=running
                )
                answer = await asked(life, ground, change)
                if answer.answer not in ("cancelled", "already_cancelled"):
                    life.world.breaks(f"the cancel of {number} was answered {answer}")
                life.world.cancelled.add(number)

    return act


def too_late_then_cancel(number: int) -> Act:
    """Of what executes a cancel says that it runs; `running` cancels it all the same."""

    async def act(life: Life) -> None:
        if number not in life.world.cancelling:
            answer = await asked(life, live, CancelRequest(life.agent, "polite", event=number))
            assert answer.answer == "running"
        await cancel(live, number, running=True)(life)

    return act


def retry(ground: Ground, number: int, *again: str) -> Act:
    """Mend the world, and run a stuck or a failed event again."""

    async def act(life: Life) -> None:
        life.world.poisonous = Bugs.there = False
        life.world.retrying(number, *again)
        await asked(life, ground, RetryRequest(life.agent, "retry", event=number, by="ana"))

    return act


def delete(ground: Ground, identity: tuple[str, ...], *events: int) -> Act:
    async def act(life: Life) -> None:
        life.world.deleted |= set(events)
        await asked(life, ground, DeleteRequest(life.agent, "delete", identity))

    return act


def both(first: Act, second: Act) -> Act:
    async def act(life: Life) -> None:
        await first(life)
        await second(life)

    return act


def requeue(ground: Ground, *, fresh: bool = False) -> Act:
    async def act(life: Life) -> None:
        life.world.poisonous = False
        change = RequeueRequest(life.agent, "requeue", every=True, fresh=fresh)
        answer = await asked(life, ground, change)
        for one in answer.events if fresh and answer is not None else ():
            number = Address.parse(one.event).event
            if number not in life.world.acknowledged:
                life.world.accepted(number)

    return act


def drop(ground: Ground, number: int) -> Act:
    async def act(life: Life) -> None:
        life.world.poisonous = False
        life.world.unwanted.add(number)
        await asked(life, ground, DropRequest(life.agent, "drop", number, "no longer wanted"))

    return act


def left(agent: type[Agent], *requests: Request, due_us: int | None = None) -> Act:
    """Leave events for a program that comes later, each under an id of its own."""

    async def step(life: Life) -> None:
        for place, (of, name, *args) in enumerate(requests):
            request = InvokeRequest(
                agent.__name__, of, name, args, due_us=due_us, id=f"request-{place}"
            )
            life.world.found(life.seen(life.agent))
            accepted = life.desk().leave(agent, request)
            life.world.answered(request.id, str(accepted))
            life.world.accepted(Address.parse(accepted.event).event)

    return step


# -- scenarios


def of(agent: type[Agent], *steps: Act, events: int | None = None, aside: Any = False) -> Scenario:
    """A scenario of one agent; in the end it has accepted so many events."""
    name = agent.__name__

    def check(world: World, disk: MemoryDisk) -> None:
        check_rest(world, disk, name, aside=aside)
        audit = audit_of(read(disk, name, "audit.log"))
        accepted = [event for _, verb, event in audit if verb == "accepted"]
        if events is not None and len(accepted) != events:
            world.breaks(f"{events} events were asked for, these were accepted: {accepted}")

    return Scenario(name, steps, check)


SLEEPS = (((), "hold", 2), ((), "hold", 5), ((), "add", 3))
HANGS = (((), "hang", 2), ((), "add", 3))
STUCK = (((), "stumble", 2), ((), "add", 3))
FAILS = (((), "fail", 2), ((), "add", 3))
TWO = ((("a",), "add", 2), (("b",), "add", 4))
AGAIN = ((("a",), "add", 2), (("b",), "add", 4), (("a",), "add", 3))
UNDO = "Keeper-1-2"


def apart(first: Act, act: Act, last: Act, **checked: Any) -> Scenario:
    """A program, then a change without one, then a program again."""
    return of(Keeper, first, act, last, **checked)


CANCEL = {
    "asleep and queued, live": of(
        Keeper, program(Keeper, *SLEEPS, act=cancel(live, 1, 2)), events=3
    ),
    "asleep and queued, after a kill": apart(
        program(Keeper, *SLEEPS, killed=True), cancel(cold, 1, 2), program(Keeper), events=3
    ),
    "asleep and queued, after a stop": apart(
        program(Keeper, *SLEEPS, ends=False),
        cancel(cold, 1, 2),
        program(Keeper),
        events=3,
    ),
    "executing, live": of(
        Keeper,
        program(Keeper, *HANGS, until=entered("Keeper-1-2"), act=too_late_then_cancel(1)),
        events=2,
    ),
    "executing, after a kill": apart(
        program(Keeper, *HANGS, until=entered("Keeper-1-2"), killed=True),
        cancel(cold, 1),
        program(Keeper),
        events=2,
    ),
    "stuck, live": of(Keeper, program(Keeper, *STUCK, act=cancel(live, 1), buggy=(1,)), events=2),
    "stuck, without a program": apart(
        program(Keeper, *STUCK, buggy=(1,)), cancel(cold, 1), program(Keeper), events=2
    ),
}
RETRY = {
    "stuck, live": of(Keeper, program(Keeper, *STUCK, act=retry(live, 1), buggy=(1,)), events=2),
    "stuck, without a program": apart(
        program(Keeper, *STUCK, buggy=(1,)), retry(cold, 1), program(Keeper), events=2
    ),
    "failed, live": of(Keeper, program(Keeper, *FAILS, act=retry(live, 1, UNDO)), events=2),
    "failed, without a program": apart(
        program(Keeper, *FAILS), retry(cold, 1, UNDO), program(Keeper), events=2
    ),
}
DELETE = {
    "live": of(
        Counter,
        program(Counter, *TWO, act=delete(live, ("a",), 1)),
        program(Counter, *AGAIN),
        events=3,
    ),
    "without a program": of(
        Counter,
        program(Counter, *TWO),
        delete(cold, ("a",), 1),
        program(Counter, *AGAIN),
        events=3,
    ),
}
DEAF = (((), "deaf", 2),)
DEAF_IN_A_CALL = (((), "deaf_in_a_call"),)
ENDED = {
    "asleep, live": of(
        Keeper,
        program(Keeper, *DEAF, act=both(cancel(live, 1), delete(live, (), 1))),
        program(Keeper),
        events=1,
    ),
    "in a call, live": of(
        Keeper,
        program(
            Keeper,
            *DEAF_IN_A_CALL,
            until=entered("Keeper-1-1"),
            act=both(cancel(live, 1, running=True), delete(live, (), 1)),
        ),
        program(Keeper),
        events=1,
    ),
    "without a program": apart(
        program(Keeper, *DEAF, killed=True),
        both(cancel(cold, 1), delete(cold, (), 1)),
        program(Keeper),
        events=1,
    ),
}
PUT_BACK = {
    "requeue, live": of(Bot, program(Bot, act=requeue(live)), events=2),
    "requeue fresh, live": of(Bot, program(Bot, act=requeue(live, fresh=True)), events=3),
    "drop, live": of(Bot, program(Bot, act=drop(live, 1)), events=2),
    "requeue, without a program": of(Bot, requeue(cold), program(Bot), events=2),
    "requeue fresh, without a program": of(Bot, requeue(cold, fresh=True), program(Bot), events=3),
    "drop, without a program": of(Bot, drop(cold, 1), program(Bot), events=2),
}
KEYS = of(
    Keeper,
    program(Keeper, ((), "add", 2), ((), "fail", 3), keys=True),
    program(Keeper, ((), "add", 2), ((), "fail", 3), keys=True),
    events=2,
)
LEFT = of(
    Keeper,
    left(Keeper, ((), "add", 2), ((), "add", 3)),
    program(Keeper, ((), "add", 2), ((), "add", 3)),
    events=2,
)
LATER = of(
    Keeper,
    left(Keeper, ((), "add", 2), ((), "add", 3), due_us=START_US + 3_600_000_000),
    program(Keeper, ends=False),
    program(Keeper),
    events=2,
)
