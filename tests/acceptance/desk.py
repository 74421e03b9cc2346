"""The desk: agents that wait, sleep, ask each other and go wrong, for tests beside a program.

Gates are files outside the project: a call stands at its gate until the test opens it. What the
agents did to the world stands in the ledger, each deed with its call's key.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from .support import Project, Result, Running, wait_until

GATES = """
import os
from pathlib import Path

PLACE = Path(os.environ["LEDGER"]).parent / "gates"


def is_open(name):
    return os.path.exists(PLACE / name)
"""

CREW = """
from __future__ import annotations

import asyncio
import os
import time
from abc import abstractmethod

from agentctl import Agent, AgentError, Capability, Secret, WouldDeadlock, call_key, handler, query
from gates import is_open
from ledger import note

if os.environ.get("COUNT_IMPORTS"):
    note("imported by", os.getpid())


class Refused(AgentError):
    pass


class World(Capability):
    @abstractmethod
    async def mark(self, what: str) -> None: ...

    @abstractmethod
    async def gate(self, name: str) -> str: ...

    @abstractmethod
    async def attempt(self, name: str) -> str: ...

    @abstractmethod
    async def login(self, word: Secret[str]) -> None: ...


class Real(World):
    async def mark(self, what: str) -> None:
        note(what, call_key())
        await asyncio.sleep(float(os.environ.get("SLOW", "0")))

    async def gate(self, name: str) -> str:
        note("at", name, call_key())
        while not is_open(name):
            await asyncio.sleep(0.01)
        return name

    async def attempt(self, name: str) -> str:
        note("attempt", name, call_key())
        if not is_open(name):
            raise Refused(f"{name} is shut")
        return name

    async def login(self, word: Secret[str]) -> None:
        note("login", call_key())


class Clerk(Agent):  # no state: events side by side
    world: World

    @handler
    async def echo(self, text: str) -> str:
        return text

    @handler
    async def tally(self, name: str) -> str:
        await self.world.mark(f"tally {name}")
        return name

    @handler
    async def work(self, name: str) -> str:
        await self.world.mark(f"begin {name}")
        await self.world.gate(name)
        await self.world.mark(f"end {name}")
        return name.upper()

    @handler
    async def spread(self, names: list[str], priority: str) -> None:
        for name in names:
            await self.work.trigger(priority=priority)(name)

    @handler
    async def nap(self, name: str, seconds: float = 3600) -> str:
        await self.world.mark(f"begin {name}")
        try:
            await asyncio.sleep(seconds)
        finally:
            await self.world.mark(f"undo {name}")
            await self.world.mark(f"undone {name}")
        await self.world.mark(f"end {name}")
        return "slept"

    @handler
    async def guarded(self, name: str) -> str:
        try:
            await self.world.gate(name)
        except Exception:
            await self.world.mark(f"caught {name}")
            return "caught"
        return "through"

    @handler
    async def stubborn(self, name: str) -> str:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            await self.world.mark(f"swallowed {name}")
        return "went on"

    @handler
    async def deaf(self, name: str, where: str) -> None:
        while True:
            try:
                await (self.world.gate(name) if where == "gate" else asyncio.sleep(3600))
            except asyncio.CancelledError:
                await self.world.mark(f"swallowed {name}")

    @handler
    async def stone_deaf(self, name: str, where: str) -> None:
        while True:
            try:
                if where == "gate":
                    await self.world.gate(name)
                elif where == "task":
                    await asyncio.create_task(asyncio.sleep(3600))
                else:
                    await asyncio.sleep(3600)
            except BaseException:  # what an `except:` without a class does
                pass

    @handler
    async def buggy(self, name: str) -> str:
        await self.world.mark(f"paid {name}")
        totals = {"sum": name} if is_open(name) else {}
        return totals["sum"]

    @handler
    async def refused(self, name: str) -> str:
        await self.world.mark(f"paid {name}")
        return await self.world.attempt(name)

    @handler
    async def drowse(self, seconds: float) -> str:
        time.sleep(seconds)
        return "awake"

    @handler
    async def enter(self, word: Secret[str], name: str) -> str:
        await self.world.login(word)
        await self.world.gate(name)
        if not is_open(name + "-mended"):
            raise ValueError("wrong " + repr(word))
        return "in"


class Desk(Agent):  # state: one event at a time for each name
    name: str
    world: World
    count: int = 0

    @handler
    async def add(self, n: int) -> int:
        await self.world.mark(f"add {self.name} {n}")
        self.count += n
        return self.count

    @handler
    async def add_or_bug(self, n: int, name: str) -> int:
        self.count += n
        return {True: self.count}[is_open(name)]

    @handler
    async def hold(self, name: str) -> int:
        await self.world.gate(name)
        self.count += 1
        return self.count

    @handler
    async def nap(self, name: str) -> int:
        await self.world.mark(f"begin {name}")
        self.count += 100
        try:
            await asyncio.sleep(3600)
        finally:
            await self.world.mark(f"undo {name}")
        return self.count

    @handler
    async def ask_itself(self) -> int:
        return await Desk.ref(self.name).add(1)

    @handler
    async def ask_or_not(self) -> str:
        try:
            await Desk.ref(self.name).add(1)
        except WouldDeadlock:
            return "would deadlock"
        return "did not"

    @handler
    async def circle(self, other: str) -> int:
        return await Desk.ref(other).back(self.name)

    @handler
    async def back(self, other: str) -> int:
        return await Desk.ref(other).add(1)

    @handler
    async def roundabout(self) -> int:
        return await Front.ref().add(self.name, 1)

    @query
    async def total(self) -> int:
        return self.count


class Front(Agent):  # asks the others
    world: World

    @handler
    async def ask(self, name: str) -> str:
        await self.world.mark(f"asks {name}")
        answer = await Clerk.ref().work(name)
        await self.world.mark(f"heard {name} {answer}")
        return answer

    @handler
    async def ask_refused(self, name: str) -> str:
        return await Clerk.ref().refused(name)

    @handler
    async def ask_buggy(self, name: str) -> str:
        return await Clerk.ref().buggy(name)

    @handler
    async def ask_tally(self, name: str) -> str:
        answer = await Clerk.ref().tally(name)
        await self.world.mark(f"heard {name} {answer}")
        return answer

    @handler
    async def ask_again(self, depth: int) -> int:
        return depth if depth == 0 else 1 + await Front.ref().ask_again(depth - 1)

    @handler
    async def add(self, desk: str, n: int) -> int:
        await self.world.mark(f"asks {desk}")
        answer = await Desk.ref(desk).add(n)
        await self.world.mark(f"heard {desk} {answer}")
        return answer

    @handler
    async def read(self, desk: str, gate: str) -> list[int]:
        first = await Desk.ref(desk).total()
        await self.world.gate(gate)
        return [first, await Desk.ref(desk).total()]
"""


def make_desk(project: Project, *agents: str, **settings: str | int | bool) -> Project:
    """A project of these agents (left out: all), whose calls have a short grace."""
    project.write("gates.py", GATES)
    project.write("crew.py", CREW)
    written = {"audit": True, "grace": "100ms", **settings}
    parts = ['[project]\nname = "desk"\n']
    for name in agents or ("Clerk", "Desk", "Front"):
        parts.append(f'[agents.{name}]\nclass = "crew:{name}"\n')
        parts.append(f'[agents.{name}.capabilities]\nworld = "crew:Real"\n')
        lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in written.items())
        parts.append(f"[agents.{name}.settings]\n{lines}")
    project.write("kavach.toml", "\n".join(parts))
    return project


@contextmanager
def closing(project: Project) -> Iterator[Project]:
    """End what was started there, also if the setting up fails."""
    try:
        yield project
    finally:
        project.close()


def desk_in(
    folder: Path, *agents: str, **settings: str | int | bool
) -> AbstractContextManager[Project]:
    """A desk of its own for the tests of a module."""
    return closing(make_desk(Project.create(folder), *agents, **settings))


def serve(project: Project, *words: str, watched: str = "Clerk", **env: str) -> Running:
    """Start `run`, and wait until it holds the folder of the agent `watched`."""
    program = project.start_agentctl("run", *words, env=env)
    note = project.folder(watched) / "lock"
    wait_until(
        lambda: (
            not program.alive or (note.exists() and str(program.process.pid) in note.read_text())
        ),
        "run to hold the folder",
    )
    assert program.alive, f"run ended by itself: {program.err}"
    return program


def open_gate(project: Project, *names: str) -> None:
    """Let what stands at these gates go on, now and later."""
    place = project.root.parent / "gates"
    place.mkdir(exist_ok=True)
    for name in names:
        (place / name).touch()


def until_noted(project: Project, beginning: str, count: int = 1) -> None:
    """Wait for deeds that begin like this."""
    wait_until(lambda: len(project.ledger(beginning)) >= count, f"{beginning!r} in the ledger")


def submit(project: Project, agent: str, handler: str, *args: str) -> str:
    """Invoke without waiting; the event's address."""
    told = project.agentctl("invoke", "-t", agent, handler, *args).expect(0)
    return told.out.removesuffix("\n")


def until_state(project: Project, address: str, state: str) -> None:
    """Wait by the command until an event, `Clerk#1` or `Clerk KEY`, has come to this state."""
    words = ("invocation", "wait", *address.split(" "), "--for", state, "--timeout", "10s")
    project.agentctl(*words).expect(0)


def cancel(project: Project, *words: str) -> Result:
    return project.agentctl("invocation", "cancel", *words)


def events_on_record(project: Project, agent: str = "Clerk") -> list[int]:
    """The numbers of the accepted events that the journal still holds."""
    return [record["event"] for record in project.records(agent) if record.get("event")]


def ends_on_record(project: Project, number: int, agent: str = "Clerk") -> list[str]:
    """How the journal says that this event ended; more than one would be a contradiction."""
    kinds = ("done", "failed", "cancelled", "missed")
    return [
        kind for record in project.records(agent) for kind in kinds if record.get(kind) == number
    ]


def lines_on_record(project: Project, *agents: str) -> int:
    """How many lines these journals have in all."""
    paths = [project.journal_path(agent) for agent in agents]
    return sum(path.read_bytes().count(b"\n") for path in paths if path.exists())


def kill_after(project: Project, program: Running, lines: int, *agents: str) -> None:
    """Kill as soon as so many more records than now stand in these journals, or nothing moves."""
    goal = lines_on_record(project, *agents) + lines
    end = time.monotonic() + 1.5
    while lines_on_record(project, *agents) < goal and program.alive and time.monotonic() < end:
        time.sleep(0.0005)
    program.cut_power()
