"""Killing real programs at random moments, and holding what is left to what was promised.

Owns: the rounds of kills (`Rounds`), for the test and for `scripts/soak`, and two programs that are
killed in turn (`Pair`). Keeps: every process that
it kills is one that it started, by its id. Never: decides by time alone what a kill hit; the
program says where it was in a file that both map.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kill_program import Places, map_places
from reading_raw import Seen, audit_of

PROGRAM = Path(__file__).with_name("kill_program.py")
REPOSITORY = Path(__file__).resolve().parents[2]
PLACES = ("accepting", "in_a_call", "between_calls", "syncing", "recovering", "rewriting")
LONGEST_S = 0.08
START_S = 20.0
PAIR_START_S = 30.0


def environment() -> dict[str, str]:
    inherited = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": inherited or str(REPOSITORY), "PYTHONHASHSEED": "0"}


def words_of(path: Path) -> list[list[str]]:
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


class Pair:
    """Two programs, each of an agent; what is killed is started again.

    Args:
        program: `program FOLDER AGENT`, which touches `ready AGENT` once it is started.
    """

    def __init__(self, folder: Path, program: Path) -> None:
        self.folder = folder
        self.program = program
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, agent: str) -> None:
        (self.folder / f"ready {agent}").unlink(missing_ok=True)
        with (self.folder / "stderr").open("ab") as stderr:
            self.running[agent] = subprocess.Popen(
                [sys.executable, str(self.program), str(self.folder), agent],
                stderr=stderr,
                env=environment(),
            )

    def until_ready(self, agent: str) -> None:
        give_up_s = time.monotonic() + PAIR_START_S
        while not (self.folder / f"ready {agent}").exists() and time.monotonic() < give_up_s:
            time.sleep(0.002)

    def kill(self, agent: str) -> None:
        program = self.running.pop(agent)
        program.kill()
        assert program.wait(10) == -signal.SIGKILL, self.stderr

    @property
    def stderr(self) -> str:
        return (self.folder / "stderr").read_text()[-3000:]

    def close(self) -> None:
        for program in self.running.values():
            program.kill()
            program.wait(10)


@dataclass
class Rounds:
    """So many kills in one folder, then a last run to the end.

    Attributes:
        act: `busy`, or `short`: the program also writes its journal anew, over and over.
        fell: how many kills found the program there; one kill finds it at several places.
        settled: at each kill, how long the ledger was and which calls had an outcome on record.
    """

    folder: Path
    seed: int
    act: str = "busy"
    fell: Counter[str] = field(default_factory=Counter)
    settled: list[Settled] = field(default_factory=list)
    kills: int = 0
    start_s: float = 0.02

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.places = map_places(self.folder)
        self.server = subprocess.Popen(
            [sys.executable, str(PROGRAM), "serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )

    def close(self) -> None:
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        self.server.stdin.close()
        self.server.wait(10)
        self.server.stdout.close()

    def _ask(self, what: str) -> int:
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        self.places.begun = 0
        self.server.stdin.write(f"{self.folder} {what} {self.chance.randrange(1 << 30)}\n")
        self.server.stdin.flush()
        return int(self.server.stdout.readline())

    def _answer(self) -> int:
        assert self.server.stdout is not None
        return int(self.server.stdout.readline())

    def kill_one(self) -> None:
        """Start a program and kill it at a random moment, of its start or of what follows."""
        pid = self._ask(self.act)
        scarce = self.kills > 20 and self.fell["rewriting"] < 2
        in_start = scarce or self.chance.random() < 0.4
        begun_s = self._wait_for(lambda: self.places.begun)
        if in_start:
            delay_s = self.chance.uniform(0.0, self.start_s)
        else:
            # How long a start takes, the machine's load says; the last ones tell.
            ready_s = self._wait_for(lambda: not self.places.recovering)
            self.start_s = 0.7 * self.start_s + 0.3 * (ready_s - begun_s)
            delay_s = self.chance.uniform(0.0, LONGEST_S)
            if self.act == "short":
                self._wait_for(lambda: self.places.rewriting)
                delay_s *= 0.1
        time.sleep(delay_s)
        os.kill(pid, signal.SIGKILL)
        ended = self._answer()
        assert ended == -signal.SIGKILL, f"it ended by itself ({ended}): {self.stderr}"
        self.kills += 1
        self._note(self.places)

    def _wait_for(self, true: Callable[[], object]) -> float:
        give_up_s = time.monotonic() + START_S
        while not true() and time.monotonic() < give_up_s:
            time.sleep(0.0002)
        return time.monotonic()

    def _note(self, places: Places) -> None:
        self.fell.update(place for place in PLACES if getattr(places, place) > 0)
        self.fell["compacting"] += places.rewriting > 0 and not places.recovering
        self.settled.append(settled_now(self.folder))

    def finish(self) -> None:
        """Start once more, undisturbed, and let everything end."""
        self._ask("rest")
        assert self._answer() == 0, self.stderr

    @property
    def stderr(self) -> str:
        path = self.folder / "stderr"
        return path.read_text()[-3000:] if path.exists() else ""

    def told(self) -> str:
        where = ", ".join(f"{place.replace('_', ' ')} {self.fell[place]}" for place in PLACES)
        return f"seed {self.seed}: {self.kills} kills fell: {where}"

    def check(self) -> None:
        """Hold what is left to every promise."""
        check_folder(self.folder, self.settled, dropped=frozenset())


Settled = tuple[int, set[str]]
"""How long the ledger was, and which calls had an outcome on record then."""


def settled_now(folder: Path) -> Settled:
    journal = folder / "agents/Bot/journal"
    seen = Seen(journal.read_bytes() if journal.exists() else b"")
    return len(words_of(folder / "ledger")), seen.settled


def check_folder(folder: Path, settled: list[Settled], *, dropped: frozenset[int]) -> None:
    """Hold a folder to every promise, once all of it came to its end."""
    audit = audit_of((folder / "agents/Bot/audit.log").read_bytes())
    check_calls(words_of(folder / "ledger"), settled)
    check_events(words_of(folder / "told"), audit)
    found = {event for _, verb, event in audit if verb == "dropped"}
    assert found == dropped, f"dropped: {found}, wanted: {dropped}"
    seen = Seen((folder / "agents/Bot/journal").read_bytes())
    assert not seen.open, f"still open: {seen.open}"
    assert not seen.asides
    assert not (folder / "agents/Bot/set-aside").exists()


def check_calls(ledger: list[list[str]], settled: list[Settled]) -> None:
    """No call with an outcome on record was made again; each key stands for one call."""
    args: dict[str, list[str]] = {}
    last: dict[str, int] = {}
    for place, (key, *rest) in enumerate(ledger):
        assert args.setdefault(key, rest) == rest, f"{key} stands for {args[key]} and {rest}"
        last[key] = place
    for length, keys in settled:
        again = [key for key in keys if last.get(key, -1) >= length]
        assert not again, f"made again, though their outcomes were on record: {again}"
    for key, (_, heard) in args.items():
        # The arguments name the call before: it was never made again after this one.
        if heard != "nothing":
            first = next(place for place, words in enumerate(ledger) if words[0] == key)
            assert last[heard] < first, f"{heard} was made again after {key}"


def check_events(told: list[list[str]], audit: list[tuple[int, str, int]]) -> None:
    """Each acknowledged event ended once, its end was told once, and it didn't run again."""
    accepted = [int(words[1]) for words in told if words[0] == "accepted"]
    assert len(accepted) == len(set(accepted)), "a number was given twice"
    ended = Counter(event for _, verb, event in audit if verb in ("completed", "dropped"))
    of_record = [event for _, verb, event in audit if verb == "accepted"]
    assert of_record == sorted(set(of_record)), "the audit log doubles or mixes what was accepted"
    assert set(accepted) <= set(of_record), "an acknowledged event was lost"
    assert ended == Counter(of_record), f"ended more or less than once: {ended}"
    over: set[int] = set()
    for kind, event, *rest in told:
        if kind == "ended":
            assert rest == ["completed"], f"event {event} is {rest}"
            assert int(event) not in over, f"the end of {event} was told twice"
            over.add(int(event))
        assert kind != "warned", rest
        assert kind != "started" or int(event) not in over, f"{event} ran again after its end"
    assert len(set(audit)) == len(audit), "an audit line stands twice"
