"""The rota: agents that begin by the clock, for tests of schedules through processes.

What an agent did stands in the ledger: the deed, the instance, its word, the due time of its
occurrence in microseconds with the number of missed ones that it stands for (or `-`), and the
call's key.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from .desk import serve
from .support import Project, Running, wait_until

FAR = "2099-03-15T10:30:00Z"
URL = "https://example.org"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

CREW = """
from __future__ import annotations

import os
from abc import abstractmethod
from datetime import UTC, datetime, timedelta

from agentctl import (
    Agent, AgentError, AgentctlError, Capability, Token, backoff, call_key, handler, now,
    occurrence, query, sleep,
)
from ledger import note

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class World(Capability):
    @abstractmethod
    async def mark(self, what: str) -> None: ...

    @abstractmethod
    async def fetch(self, what: str) -> bool: ...


class Real(World):
    async def mark(self, what: str) -> None:
        note(what, call_key())

    async def fetch(self, what: str) -> bool:
        note(what, call_key())
        return not os.environ.get("DOWN")


def which() -> str:
    one = occurrence()
    if one is None:
        return "-"
    return f"{(one.due - EPOCH) // timedelta(microseconds=1)} {one.missed}"


class Poller(Agent):  # an instance for each name, one event at a time
    name: str
    world: World
    polls: int = 0
    failures: int = 0
    stopped: bool = False
    pending: Token[int] | None = None

    @handler
    async def poll(self, url: str) -> int:
        await self.world.mark(f"poll {self.name} {url} {which()}")
        self.polls += 1
        return self.polls

    @handler
    async def slow(self, word: str, seconds: float) -> None:
        await self.world.mark(f"slow {self.name} {word} {which()}")
        await sleep(seconds)
        await self.world.mark(f"end {self.name} {word}")

    @handler
    async def often(self, milliseconds: int, name: str = "often", word: str = "code") -> str:
        period = timedelta(milliseconds=milliseconds)
        try:
            handle = await self.poll.every(period, name=name)(word)
        except AgentctlError as error:
            return f"refused: {type(error).__name__}"
        return handle.name

    @handler
    async def later(self, seconds: float, word: str) -> str:
        self.pending = await self.poll.after(seconds)(word)
        return self.pending.address

    @handler
    async def forget(self) -> str:
        return "nothing" if self.pending is None else str(await self.pending.cancel())

    @handler
    async def end(self, name: str) -> str:
        found = self.schedules.get(name)
        return "nothing" if found is None else str(await found.cancel())

    @handler
    async def fetching(self, n: int) -> None:  # the seed's idiom: one pending tick by its name
        if self.stopped:
            return
        ok = await self.world.fetch(f"fetch {self.name} {n}")
        self.failures = 0 if ok else self.failures + 1
        again = backoff(0.05, self.failures, cap=0.4)
        await self.fetching.after(again, name="tick")(n + 1)

    @handler
    async def halt(self) -> None:
        self.stopped = True
        if tick := self.schedules.get("tick"):
            await tick.cancel()

    @query
    async def count(self) -> int:
        return self.polls

    @query
    async def health(self) -> int:
        return self.failures


class Chain(Agent):  # no state: nothing but its own care keeps two ticks apart
    world: World

    @handler
    async def tick(self, n: int) -> None:
        await self.world.mark(f"tick {n}")
        await self.tick.after(0.05)(n + 1)
        await self.world.mark(f"tock {n}")

    @handler
    async def word(self, text: str) -> str:
        await self.world.mark(f"word {text} {which()}")
        return text

    @handler
    async def refuse(self, text: str) -> None:
        await self.world.mark(f"refuse {text}")
        raise AgentError(text)

    @handler
    async def far(self, seconds: float, poller: str) -> str:
        token = await Poller.ref(poller).poll.after(seconds)("chain")
        return token.address
"""

ACCEPTED = ("Poller", "Chain")


@dataclass(frozen=True)
class Deed:
    """One line of the ledger, of an event that a schedule began or a person."""

    instance: str
    word: str
    due_us: int | None
    missed: int
    key: str


def make_rota(project: Project, schedules: str = "", *, tz: str = "") -> Project:
    """A project of both agents; `schedules` is the text of its tables `[schedules.NAME]`."""
    project.write("crew.py", CREW)
    set_schedules(project, schedules, tz=tz)
    return project


def set_schedules(project: Project, schedules: str, *, tz: str = "") -> None:
    """Write `kavach.toml` anew, with these schedules."""
    parts = ['[project]\nname = "rota"' + (f'\ntz = "{tz}"' if tz else "")]
    for name in ACCEPTED:
        parts.append(f'[agents.{name}]\nclass = "crew:{name}"')
        parts.append(f'[agents.{name}.capabilities]\nworld = "crew:Real"')
        parts.append(f'[agents.{name}.settings]\naudit = true\ngrace = "100ms"')
    project.write("kavach.toml", "\n\n".join([*parts, schedules.strip()]) + "\n")


def run_rota(project: Project, *words: str, **env: str) -> Running:
    """`agentctl run` on both agents, once it holds their folders."""
    return serve(project, *words, watched="Poller", **env)


def polls(project: Project, instance: str = "", deed: str = "poll") -> list[Deed]:
    """What the instances of Poller did, in order."""
    found = []
    for line in project.ledger(f"{deed} {instance}"):
        _, name, word, *due, key = line.split(" ")
        at, missed = (int(due[0]), int(due[1])) if len(due) == 2 else (None, 0)
        found.append(Deed(name, word, at, missed, key))
    return [one for one in found if not instance or one.instance == instance]


def until_polled(project: Project, count: int, instance: str = "", timeout: float = 10.0) -> None:
    wait_until(lambda: len(polls(project, instance)) >= count, f"{count} polls", timeout)


def quiet_for(project: Project, seconds: float) -> bool:
    """Whether nothing is done for so long."""
    before = project.ledger()
    time.sleep(seconds)
    return project.ledger() == before


def schedules(project: Project, *words: str) -> list[dict[str, Any]]:
    """What `schedule list` tells as a program reads it."""
    told = project.agentctl("schedule", "list", *words, "--json").expect(0).json
    assert told["schema"] == "agentctl.schedule-list/1"
    return list(told["schedules"])


def named(project: Project, instance: str, name: str) -> dict[str, Any] | None:
    """One named schedule as it is listed; None if it isn't."""
    found = [
        one for one in schedules(project) if (one["instance"], one["name"]) == (instance, name)
    ]
    assert len(found) <= 1, f"one name, several schedules: {found}"
    return found[0] if found else None


def to_us(text: str) -> int:
    """Microseconds since the epoch of an RFC 3339 time in UTC."""
    assert text.endswith("Z"), f"{text} is not in UTC"
    return (datetime.fromisoformat(text) - EPOCH) // timedelta(microseconds=1)


def due_us(project: Project, instance: str, name: str) -> int:
    """When a named schedule falls due next, as it is listed."""
    found = named(project, instance, name)
    assert found is not None, f"{instance} has no schedule {name}"
    return to_us(found["due"])


def audit_with(project: Project, verb: str, agent: str = "Poller") -> list[str]:
    """The lines of the audit log with this verb, without their times."""
    return [line for line in project.audit(agent) if f" {verb}: " in line]


def on_one_grid(deeds: list[Deed], period_us: int) -> bool:
    """Whether all due times are whole periods apart, in order, and none comes twice."""
    dues = [deed.due_us for deed in deeds]
    assert None not in dues, f"not by a schedule: {deeds}"
    whole = [due for due in dues if due is not None]
    rising = all(one < two for one, two in pairwise(whole))
    return rising and len({due % period_us for due in whole}) <= 1


def once_each(deeds: list[Deed]) -> list[Deed]:
    """The deeds without those that a kill had cut off and that were made again."""
    return list({deed.key: deed for deed in deeds}.values())


def each_in_one_event(deeds: list[Deed]) -> bool:
    """Whether no occurrence ran in two events."""
    keys: dict[int | None, set[str]] = {}
    for deed in deeds:
        keys.setdefault(deed.due_us, set()).add(deed.key)
    return all(len(one) == 1 for one in keys.values())


def counts_fit(deeds: list[Deed], period_us: int) -> bool:
    """Whether each run stands for just the due times since the one before: nothing else is gone."""
    return all(
        (two.due_us or 0) - (one.due_us or 0) == period_us * max(1, two.missed)
        for one, two in pairwise(deeds)
    )


def said(lines: list[str], *counts: int) -> bool:
    """Whether some audit line's text says one of these counts, as a number by itself."""
    texts = [line.partition(": ")[2] for line in lines]
    alone = [rf"(?<![\w.:-]){count}(?![\w:-]|\.\d)" for count in counts]
    return any(re.search(one, text) for one in alone for text in texts)


def open_events(project: Project, agent: str = "Poller") -> list[dict[str, Any]]:
    """The events that haven't ended, as `invocation list` tells."""
    told = project.agentctl("invocation", "list", agent, "--json").expect(0).json
    ended = ("completed", "failed", "cancelled", "missed", "set_aside")
    return [row for row in told["invocations"] if row["status"] not in ended]


def state_of(project: Project, agent: str = "Poller") -> str:
    """Everything on record, to see that a refused command changed nothing."""
    return json.dumps([schedules(project), project.ledger(), _events(project, agent)])


def _events(project: Project, agent: str) -> list[int]:
    if not project.journal_path(agent).exists():
        return []
    return [one["event"] for one in project.records(agent) if one.get("event")]
