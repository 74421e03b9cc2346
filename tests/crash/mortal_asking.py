"""Two agents of the crash matrix: `Front` asks `Desk`, whoever dies in between (R16).

Both make calls before, in and after; what `Desk` answers bears a random part, so that an answer
given twice, or of another run, shows. Held in the end: the asked handler ran to its end once, the
asker has exactly its answer, and the asked side forgets it once the asker has it.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from matrix import Scenario
from mortal import Life
from mortal_agents import Deeds, LivingDeeds
from mortal_world import World, check_rest, ends_of, read
from reading_raw import Seen, audit_of

from agentctl import Agent, AgentError, AgentSettings, bind, handler, uuid4
from agentctl.engines.changes import CancelRequest, RequeueRequest
from agentctl.engines.local import engine
from agentctl.engines.local.asking import elsewhere
from agentctl.engines.local.asking.elsewhere import Elsewhere
from agentctl.engines.local.options import EngineOptions
from agentctl.engines.port import InvokeRequest
from agentctl.errors import NotFound
from agentctl.storage.memory import MemoryDisk


class Refused(AgentError):
    """What `Desk` says no with."""


class Desk(Agent):
    deeds: Deeds
    total: int = 0

    @handler
    async def add(self, amount: int) -> list[str]:
        heard = [await self.deeds.add(amount, [])]
        heard.append(await self.deeds.do("check", list(heard)))
        self.total += amount
        return [str(uuid4()), *heard]

    @handler(exclusive=False)
    async def refuse(self) -> list[str]:
        heard = await self.deeds.do("look", [])
        raise Refused(heard)

    @handler(exclusive=False)
    async def deadly(self) -> list[str]:
        heard = [await self.deeds.do("before", [])]
        heard.append(await self.deeds.deadly(list(heard)))
        return [str(uuid4()), *heard]


class Front(Agent):
    deeds: Deeds

    @handler
    async def ask(self, amount: int) -> list[str]:
        before = await self.deeds.do("before", [])
        token, *answer = await Desk.ref().add(amount)
        after = await self.deeds.do("after", [before, *answer])
        return [token, before, *answer, after]

    @handler
    async def ask_in_vain(self) -> list[str]:
        before = await self.deeds.do("before", [])
        try:
            await Desk.ref().refuse()
        except Refused as error:
            heard = str(error)
        after = await self.deeds.do("after", [before, heard])
        return [before, heard, after]

    @handler
    async def ask_deadly(self) -> list[str]:
        before = await self.deeds.do("before", [])
        token, *answer = await Desk.ref().deadly()
        return [token, before, *answer, await self.deeds.do("after", [before, *answer])]

    @handler
    async def give_up(self, amount: int) -> list[str]:
        before = await self.deeds.do("before", [])
        try:
            token, *answer = await Desk.ref().add(amount)
        finally:
            tidied = await self.deeds.do("tidy up", [before])
        return [token, before, *answer, tidied]


class NearElsewhere(Elsewhere):
    """Agents that this program doesn't run, on the disk that it may die at; without threads."""

    def __init__(self, life: Life, options: EngineOptions) -> None:
        super().__init__(options)
        self._life = life

    def _look(self, agent: str) -> object:
        there = read(self._life.disk.disk, agent, "journal")
        return hash(there) if there else None

    def _opened(self, agent: str) -> Any:
        self._life.world_of(agent).found(self._life.seen(agent))
        return super()._opened(agent)

    async def _in_thread(self, work: Callable[[], Any]) -> Any:
        return work()


@contextmanager
def near(life: Life) -> Iterator[None]:
    """Make a program find other agents' folders on its own disk, and look there without pause."""
    with (
        patch.object(engine, "Elsewhere", functools.partial(NearElsewhere, life)),
        patch.object(elsewhere, "_FIRST_PAUSE_S", 0.0),
    ):
        yield


KEPT = AgentSettings(max_starts=50)
FORGOTTEN = AgentSettings(max_starts=50, keep=0)
QUICKLY_ASIDE = AgentSettings(max_starts=2)
Act = Callable[[Life], Awaitable[None]]


def program(
    *requests: tuple[Any, ...],
    agents: tuple[type[Agent], ...] = (Front, Desk),
    settings: AgentSettings = KEPT,
    act: Act | None = None,
    waits: bool = True,
) -> Act:
    """Start these agents, ask `Front` for what it wasn't asked yet, let all rest, stop.

    Args:
        act: what a person does meanwhile, once all that can be done is.
        waits: for the ends of what was asked for in this life.
    """

    async def live(life: Life) -> None:
        for place, (name, *args) in enumerate(requests):
            # Asked again after a crash, under the same id: it is the same event.
            request = InvokeRequest("Front", (), name, args, id=f"request-{place}")
            try:
                address = await life.host.submit(request)
            except NotFound:  # it ended, and nothing is kept of it
                assert not life.seen("Front").open
                continue
            life.world.accepted(address.event)
            if waits:
                life.waiting.append(asyncio.ensure_future(life.host.ended(address)))
                await asyncio.sleep(0)
        if act is not None:
            await act(life)
        await life.rest()
        for future in life.waiting:
            await future

    async def step(life: Life) -> None:
        deeds = LivingDeeds(life)
        with near(life):
            await life.start(*(bind(one, settings=settings, deeds=deeds) for one in agents))
        try:
            await live(life)
        except BaseException:
            if not life.disk.dead:  # as `async with` would
                await life.stop()
            raise
        await life.stop()

    return step


async def cured_and_requeued(life: Life) -> None:
    """A person mends what kills the program, and puts back what was set aside."""
    life.world.poisonous = False
    if life.seen("Desk").asides:
        await life.host.carry_out(RequeueRequest("Desk", "requeue-1", every=True))


async def left_there(life: Life) -> None:
    """The question lies in the journal of `Desk`, which nobody runs."""
    while not life.seen("Desk").accepted:
        await asyncio.sleep(0)


async def answered(life: Life) -> None:
    """The asker has come to its end."""
    while life.seen("Front").open:
        await asyncio.sleep(0)
    for _ in range(10):  # time to tell so
        await asyncio.sleep(0)


async def cancel_the_asker(life: Life) -> None:
    """A person cancels the asker while it waits for its answer."""
    life.world.cancelling.add(1)
    while not life.seen("Desk").accepted and not life.seen("Front").ended:
        await asyncio.sleep(0)
    answer = await life.host.carry_out(CancelRequest("Front", "cancel-1", event=1, running=True))
    life.world.answered("cancel-1", str(answer))
    if answer.answer in ("cancelled", "already_cancelled"):
        life.world.cancelled.add(1)


# -- what holds in the end


def checked(world: World, disk: MemoryDisk, *, questions: int, told: bool = True) -> None:
    """Hold both agents to their promises, and the answers to what was asked."""
    audit = audit_of(read(disk, "Desk", "audit.log"))
    accepted = {event for _, verb, event in audit if verb == "accepted"}
    check_rest(world, disk, "Front")
    check_calls(world, disk, "Front")
    if world.cancelling and not accepted:
        return  # a power cut took the question, and who was cancelled doesn't ask again
    check_rest(world.beside["Desk"], disk, "Desk")
    check_calls(world, disk, "Desk")
    if len(accepted) != questions:
        world.breaks(f"{questions} questions became the events {accepted}")
    if set(ends_of(audit)) != accepted:
        world.breaks(f"asked for were {accepted}, ended have {ends_of(audit)}")
    if told:
        check_answers(world, disk)


def check_calls(world: World, disk: MemoryDisk, agent: str) -> None:
    """Every call of an event is on record once, with one outcome."""
    seen = Seen.of(read(disk, agent, "journal"))
    outcomes = [next(iter(r.values())) for r in seen.records if next(iter(r)) in ("ok", "error")]
    if len(outcomes) != len(set(outcomes)):
        world.breaks(f"{agent} has outcomes twice: {outcomes}")


def check_answers(world: World, disk: MemoryDisk) -> None:
    """What each asker completed with begins with the random part of the answer it got."""
    given = {token for token, *_ in values(disk, "Desk")}
    got = [token for token, *_ in values(disk, "Front")]
    if set(got) != given or len(got) != len(set(got)):
        world.breaks(f"the answers {given} were given, and {got} had")


def values(disk: MemoryDisk, agent: str) -> list[Any]:
    seen = Seen.of(read(disk, agent, "journal"))
    return [one["value"] for one in seen.records if "done" in one and one.get("value")]


def forgotten(world: World, disk: MemoryDisk, *, questions: int) -> None:
    """The same; and nothing is left of what was asked."""
    checked(world, disk, questions=questions, told=False)
    if left := Seen.of(read(disk, "Desk", "journal")).accepted:
        world.breaks(f"the asked side still remembers {left}, whose asker has its answer")


def pair(*steps: Act, check: Any, agent: str = "Front") -> Scenario:
    return Scenario(agent, steps, check, beside=("Desk",))


TWICE = (("ask", 2), ("ask", 3))
ASK = pair(program(*TWICE), check=functools.partial(checked, questions=2))
ONE_ASK = pair(program(("ask", 2)), check=functools.partial(checked, questions=1))
FORGET = pair(
    program(("ask", 2), settings=FORGOTTEN),
    program(agents=(Front, Desk), settings=FORGOTTEN),
    program(agents=(Front, Desk), settings=FORGOTTEN),
    check=functools.partial(forgotten, questions=1),
)
ASK_IN_VAIN = pair(
    program(("ask_in_vain",)), check=functools.partial(checked, questions=1, told=False)
)
GIVE_UP = pair(
    program(("give_up", 2), act=cancel_the_asker),
    check=functools.partial(checked, questions=1, told=False),
)

ASIDE_MEANWHILE = pair(
    program(("ask_deadly",), settings=QUICKLY_ASIDE, waits=False),
    program(settings=QUICKLY_ASIDE, act=cured_and_requeued),
    check=functools.partial(checked, questions=1),
)
IN_NO_PROGRAM = pair(
    program(("ask", 2), agents=(Front,), waits=False, act=left_there),
    program(agents=(Desk,)),
    program(agents=(Front,), act=answered),
    program(),
    check=functools.partial(checked, questions=1),
)
FORGOTTEN_THERE = pair(
    program(("ask", 2), agents=(Front,), settings=FORGOTTEN, waits=False, act=left_there),
    program(agents=(Desk,), settings=FORGOTTEN),
    program(agents=(Front,), settings=FORGOTTEN, act=answered),
    program(agents=(Front,), settings=FORGOTTEN, act=answered),
    program(settings=FORGOTTEN),
    check=functools.partial(forgotten, questions=1),
)
