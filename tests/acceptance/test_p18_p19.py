"""Races at full count: a cancel against an end, a command against the end of its holder."""

from __future__ import annotations

import json
import random
import re
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from .desk import make_desk
from .onboarding import make_onboarding
from .sailing import Fleet, Sailing
from .shop import make_agents
from .support import Project


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder whose path is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="fleet") as folder:
        yield Path(folder)


# The program itself asks the fleet to cancel its events, so that the race is at their end: each
# run tells its number, and ends about when the command should reach it.
RACER = """
from __future__ import annotations

import asyncio
import json
import os
import random
from abc import abstractmethod

from agentctl import Agent, Capability, call_key, handler

chance = random.Random(os.environ.get("SEED"))
commands = []
typical_s = 0.02


async def cancel(number: int, event: str, began: asyncio.Event) -> list[object]:
    global typical_s
    flags = ["--running"] if number % 2 else []
    reader, writer = await asyncio.open_unix_connection(os.environ["FLEET"])
    words = ["invocation", "cancel", event, *flags]
    writer.write(json.dumps([words, None]).encode() + b"\\n")
    await writer.drain()
    await reader.readline()
    began.set()
    start_s = asyncio.get_running_loop().time()
    ended = json.loads(await reader.readline())
    typical_s = 0.9 * typical_s + 0.1 * (asyncio.get_running_loop().time() - start_s)
    writer.close()
    return [number, event, ended["code"], ended["out"], ended["err"]]


class World(Capability):
    @abstractmethod
    async def last(self, number: int) -> float: ...


class Real(World):
    async def last(self, number: int) -> float:
        began = asyncio.Event()
        event = "#".join(call_key().split("-")[:2])
        commands.append(asyncio.ensure_future(cancel(number, event, began)))
        await began.wait()
        moment_s = chance.uniform(0.3, 1.2) * typical_s
        if chance.random() < 0.5:
            await asyncio.sleep(moment_s)
            return 0.0
        return moment_s


class Racer(Agent):
    world: World

    @handler
    async def race(self, number: int) -> int:
        rest = await self.world.last(number)
        if rest:
            await asyncio.sleep(rest)
        return number
"""

RACE = """
import asyncio
import json
import sys

from agentctl import start
from racer import Racer, Real, commands


async def main() -> None:
    slots = asyncio.Semaphore(4)

    async def one(number: int) -> list[object]:
        async with slots:
            try:
                return ["completed", await racer.race(number)]
            except (Exception, asyncio.CancelledError) as error:
                return [type(error).__name__, number]

    async with start(Racer, world=Real()) as racer:
        outcomes = await asyncio.gather(*(one(n) for n in range(1, int(sys.argv[1]) + 1)))
        answers = await asyncio.gather(*commands)
    print(json.dumps({"outcomes": outcomes, "answers": answers}))


asyncio.run(main())
"""


def ends_by_event(project: Project, agent: str) -> dict[int, list[str]]:
    kinds = ("done", "failed", "cancelled", "missed")
    ends: dict[int, list[str]] = {}
    for record in project.records(agent):
        for kind in kinds:
            if isinstance(record.get(kind), int):
                ends.setdefault(record[kind], []).append(kind)
    return ends


def test_p18_a_cancel_at_the_very_end_never_meets_a_completion(
    project: Project, short: Path
) -> None:
    count, seed = 1000, random.randrange(1_000_000)
    project.write("racer.py", RACER)
    project.write("race.py", RACE)
    make_agents(project, Racer="racer:Racer")
    project.environment.update(FLEET=str(short / "fleet"), SEED=str(seed))
    Fleet(project, short, "invocation", "cancel", "Racer", "nobody")
    ran = project.python("race.py", str(count), timeout=110).expect(0)
    told = json.loads(ran.out)
    outcomes = {number: kind for kind, number in told["outcomes"]}
    assert len(outcomes) == len(told["answers"]) == count
    ends = ends_by_event(project, "Racer")
    words: Counter[str] = Counter()
    for number, event, code, out, err in told["answers"]:
        word, outcome = out.split()[0] if out else "", outcomes[number]
        # A journal that was rewritten meanwhile may hold no more of it.
        recorded = ends.get(int(event.partition("#")[2]))
        case = f"seed {seed}, {number} is {event}: {out!r} {err!r}, {outcome}, {recorded}"
        words[word] += 1
        if word == "cancelled":
            assert (code, out) == (0, f"cancelled {event}\n"), case
            assert outcome in ("Cancelled", "CancelledError"), case
            assert recorded in (None, ["cancelled"]), case
            continue
        assert (outcome, recorded) in (("completed", None), ("completed", ["done"])), case
        if word == "running":
            assert (code, number % 2, out) == (4, 0, f"running {event}\n"), case
        else:
            assert (code, out) == (4, f"finished {event} (completed)\n"), case
    assert min(words[word] for word in ("cancelled", "finished")) >= 50, f"no race: {words}"


def tallied(project: Project) -> Counter[str]:
    return Counter(line.split()[1] for line in project.ledger("tally"))


class Holders:
    """Programs that hold the folder and end, one after the other, until told to stop."""

    def __init__(self, fleet: Fleet, kill: bool) -> None:
        self.fleet, self.kill = fleet, kill
        self.count = 0
        self.over = threading.Event()
        self.trouble: list[str] = []
        self.thread = threading.Thread(target=self.turn)

    def turn(self) -> None:
        chance = random.Random(self.count)
        while not self.over.is_set():
            if self.kill:
                holder = self.fleet.run("run", kill_after_s=chance.uniform(0.02, 0.15))
            else:
                holder = self.fleet.run("run", "--until-idle")
            # 5: the clients had the folder all the time that it waited.
            if holder.code not in ((-9, 5) if self.kill else (0, 5)):
                self.trouble.append(f"a holder ended with {holder.code}: {holder.err}")
            self.count += 1

    def __enter__(self) -> Holders:
        self.thread.start()
        return self

    def __exit__(self, *ending: object) -> None:
        self.over.set()
        self.thread.join()


def ask_all(fleet: Fleet, commands: list[tuple[str, ...]]) -> list[Sailing]:
    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(lambda words: fleet.run(*words), commands))


def test_p19_each_command_is_done_once_though_its_holder_ends(
    project: Project, short: Path
) -> None:
    make_desk(project, "Clerk")
    fleet = Fleet(project, short, "invoke", "-t", "Clerk", "nothing")
    commands = [
        ("invoke", *(("-t",) if number % 2 else ()), "Clerk", "tally", f"n{number}")
        for number in range(200)
    ]
    began = time.monotonic()
    with Holders(fleet, kill=False) as holders:
        ended = ask_all(fleet, commands)
    assert time.monotonic() - began < 60
    assert holders.trouble == []
    assert holders.count >= 20, "hardly any holder ended: this shows nothing"
    for number, told in enumerate(ended):
        told.expect(0)
        wanted = r"Clerk#\d+\n" if number % 2 else f'"n{number}"\n'
        assert re.fullmatch(wanted, told.out), told.out
    project.agentctl("run", "--until-idle").expect(0)
    assert tallied(project) == Counter(f"n{number}" for number in range(200))
    assert len({line.split()[-1] for line in project.ledger("tally")}) == 200
    told = project.agentctl("invoke", "--json", "Clerk", "echo", "next").expect(0)
    assert told.json["event"] == "Clerk#201", "numbers were taken for nothing"


def test_p19_with_a_key_also_though_its_holder_is_killed(project: Project, short: Path) -> None:
    make_desk(project, "Clerk", max_starts=1000)
    fleet = Fleet(project, short, "invoke", "-t", "Clerk", "nothing")
    commands = [
        ("invoke", "-t", "Clerk", "tally", f"n{number}", "-i", f"n{number}") for number in range(60)
    ]
    with Holders(fleet, kill=True) as holders:
        ended = ask_all(fleet, commands)
    assert holders.trouble == []
    addresses = [told.expect(0).out for told in ended]
    assert len(set(addresses)) == 60
    project.agentctl("run", "--until-idle").expect(0)
    # A call that a kill cut off is made again under its own key; no event comes twice.
    keys = {line.split()[1]: line.split()[-1] for line in project.ledger("tally")}
    assert sorted(keys) == sorted(f"n{number}" for number in range(60))
    assert len(set(project.ledger("tally"))) == 60


def test_p19_a_cancel_is_done_once_though_its_holder_ends(project: Project, short: Path) -> None:
    make_desk(project, "Clerk")
    fleet = Fleet(project, short, "invoke", "-t", "Clerk", "nothing")
    keys = [f"n{number}" for number in range(40)]
    asleep = ask_all(fleet, [("invoke", "-t", "Clerk", "nap", key, "-i", key) for key in keys])
    addresses = [told.expect(0).out for told in asleep]
    with Holders(fleet, kill=False) as holders:
        ended = ask_all(fleet, [("invocation", "cancel", "Clerk", key) for key in keys])
    assert holders.trouble == []
    assert [told.expect(0).out for told in ended] == [f"cancelled {at}" for at in addresses]
    project.agentctl("run", "--until-idle").expect(0)
    again = ask_all(fleet, [("invocation", "cancel", "Clerk", key) for key in keys])
    assert [told.expect(0).out for told in again] == [f"already cancelled {at}" for at in addresses]
    assert project.ledger("end ") == []
    undone = Counter(line.split()[1] for line in project.ledger("undo "))
    assert max(undone.values(), default=1) == 1, "a clean-up ran twice"


def test_p19_of_two_who_decide_one_wins_though_the_holder_is_killed(
    project: Project, short: Path
) -> None:
    make_onboarding(project, "Asker", max_starts=1000)
    fleet = Fleet(project, short, "approval", "list")
    numbers = range(1, 13)
    for number in numbers:
        fleet.run("invoke", "-t", "Asker", "refund", f"n{number}").expect(0)
    project.agentctl("run", "--until-idle").expect(0)
    commands = [
        ("approval", verb, f"Asker-{number}-1", "--as", verb)
        for number in numbers
        for verb in ("approve", "deny")
    ]
    with Holders(fleet, kill=True) as holders:
        ended = ask_all(fleet, commands)
    assert holders.trouble == []
    assert holders.count >= 2, "hardly any holder was killed: this shows nothing"
    project.agentctl("run", "--until-idle").expect(0)
    audit = [line for line in project.audit("Asker") if " answered: " in line]
    heard = {line.split()[1]: line.split()[2] for line in project.ledger("heard ")}
    assert len(audit) == len(numbers)
    for number, (yes, no) in zip(numbers, zip(ended[::2], ended[1::2], strict=True), strict=True):
        assert sorted([yes.code, no.code]) == [0, 4], (yes.err, no.err)
        assert "already decided" in yes.err + no.err
        verb = "approve" if yes.code == 0 else "deny"
        (line,) = [line for line in audit if f"Asker-{number}-1 " in line]
        assert f"by {verb}" in line
        assert heard[f"n{number}"] == str(verb == "approve")
        assert len(set(project.ledger(f"heard n{number} "))) == 1
