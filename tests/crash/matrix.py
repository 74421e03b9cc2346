"""The crash matrix: a scenario is lived through, over and over, and cut off at every point.

Owns: which points there are, and what is tried at each. Keeps: points are counted by running, so
that none is left out when the code changes; only seeds are few. Never: decides what was promised
(mortal_world.py), or how a program lives and dies (mortal.py).
"""

from __future__ import annotations

import errno
import itertools
import os
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from mortal import Life, State
from mortal_world import World, no_dead_hand, read
from reading_raw import Seen

from agentctl.errors import DiskTrouble
from agentctl.storage.faulty import Fault, SimulatedDeath
from agentctl.storage.memory import MemoryDisk


def lives_after(dead: Life, seeds: int) -> Iterator[tuple[str, State]]:
    """What the next program may begin with: after a kill, and after power cuts."""
    killed = dead.disk.after_kill()
    world = dead.world.after_kill(
        lambda agent: Seen.of(read(killed, agent or dead.agent, "journal"))
    )
    yield "killed", State(killed, world)
    for seed in range(seeds):
        # Another seed at every point, so that few seeds see many kinds of loss.
        chance = dead.disk.changes * 31 + seed
        cut = dead.disk.after_power_cut(chance)
        yield f"power cut, seed {chance}", State(cut, dead.world.after_power_cut())


@dataclass(frozen=True)
class Scenario:
    """Steps that a program, or a person, takes one after another; each may die and is retried.

    Attributes:
        steps: done in order; a step that died begins again.
        check: what must hold once all are done.
        beside: the program's other agents.
    """

    agent: str
    steps: tuple[Callable[[Life], Awaitable[None]], ...]
    check: Callable[[World, MemoryDisk], None]
    beside: tuple[str, ...] = ()

    def live(self, state: State, fault: Fault | None = None) -> tuple[Life, BaseException | None]:
        life = Life(state, self.agent, fault, self.beside)
        error = life.run(self.steps[state.world.step])
        if error is None:
            life.world.step += 1
        return life, error

    def finish(self, state: State, how: str) -> World:
        """Start again and again until all is done; then hold it to its promises."""
        for _ in range(30):
            if state.world.step == len(self.steps):
                self.check(state.world, state.disk)
                assert not state.world.broken, f"{how}: {state.world.broken}"
                return state.world
            life, error = self.live(state)
            assert error is None or isinstance(error, SimulatedDeath), f"{how}: {error!r}"
            assert not life.world.broken, f"{how}: {life.world.broken}"
            state = next(lives_after(life, 0))[1] if error else State(life.disk.disk, life.world)
        raise AssertionError(f"{how}: it never came to its end")

    def lives(self, state: State) -> Iterator[State]:
        """The states that each life of an undisturbed run begins with."""
        while state.world.step < len(self.steps):
            yield state
            life, error = self.live(state)
            assert not life.world.broken, life.world.broken
            state = next(lives_after(life, 0))[1] if error else State(life.disk.disk, life.world)


@dataclass
class Tally:
    """How much a matrix has tried."""

    points: int = 0
    runs: int = 0
    log: tuple[str, ...] = ()


ALL = bool(os.environ.get("AGENTCTL_EVERY_DEATH"))
"""Die at every change also where a test takes only some; `scripts/soak` asks for it."""


def die_everywhere(
    scenario: Scenario,
    begin: State,
    *,
    seeds: int = 3,
    keeps: tuple[int, ...] = (0, 17),
    step: int = 1,
) -> Tally:
    """Die at every change of every life; after each, the next lives must make all of it good.

    Args:
        step: of what takes minutes: only every so many-th change, others in each life.
    """
    tally = Tally()
    broken: list[list[str]] = []
    for number, state in enumerate(scenario.lives(begin)):
        for at, keep in points(scenario, state, keeps, tally):
            if (at + number) % step and not ALL:
                continue
            dead, error = scenario.live(state, Fault(at, "die", keep=keep))
            assert isinstance(error, SimulatedDeath)
            what = f"life {state.world.lives + 1}, change {at} ({dead.disk.log[-1]}), {keep} bytes"
            assert not dead.world.broken, f"{what}: {dead.world.broken}"
            broken.append(dead.world.broken)
            for how, after in lives_after(dead, seeds):
                scenario.finish(after, f"{what}, {how}")
                tally.runs += 1
    no_dead_hand(broken)
    return tally


def die_twice(scenario: Scenario, begin: State, *, seeds: int = 1, lives: int = 9) -> Tally:
    """Die at every change of the first lives, and again at every change of the life after it."""
    tally = Tally()
    broken: list[list[str]] = []
    for state in itertools.islice(scenario.lives(begin), lives):
        for first, _ in points(scenario, state, (0,), tally):
            dead, _ = scenario.live(state, Fault(first, "die"))
            for how, after in lives_after(dead, seeds):
                for second, _ in points(scenario, after, (0,), tally):
                    again, error = scenario.live(after, Fault(second, "die", keep=second % 40))
                    assert isinstance(error, SimulatedDeath)
                    what = (
                        f"change {first} ({dead.disk.log[-1]}), {how}; "
                        f"then change {second} ({again.disk.log[-1]})"
                    )
                    assert not again.world.broken, f"{what}: {again.world.broken}"
                    broken.append(again.world.broken)
                    # By turns, so that each pair of changes is met, if not in each way.
                    ways = list(lives_after(again, seeds))
                    then, last = ways[(first + second) % len(ways)]
                    scenario.finish(last, f"{what}, {then}")
                    tally.runs += 1
    no_dead_hand(broken)
    return tally


def points(
    scenario: Scenario, state: State, keeps: tuple[int, ...], tally: Tally
) -> Iterator[tuple[int, int]]:
    """Every change that the next life makes; a write also half done."""
    counted, _ = scenario.live(state)
    tally.points += counted.disk.changes
    tally.log += tuple(counted.disk.log)
    for at, what in enumerate(counted.disk.log, start=1):
        for keep in keeps if what.startswith("write") else (0,):
            yield at, keep


def fail_everywhere(
    scenario: Scenario, begin: State, fault: Callable[[int], Fault], *, borne: tuple[str, ...] = ()
) -> Tally:
    """Let every change fail once; the program stops, and a healthy disk makes it good.

    Args:
        borne: changes that aren't of the program's own folders; what fails there is tried again.
    """
    tally = Tally()
    for state in scenario.lives(begin):
        for at, _ in points(scenario, state, (0,), tally):
            life, error = scenario.live(state, fault(at))
            what = f"change {at} ({life.disk.log[at - 1]}), {os_name(life.disk.fault)}"
            noted = "/lock" in life.disk.log[at - 1] or fault(at).kind == "short"
            noted = noted or any(one in life.disk.log[at - 1] for one in borne)
            if not noted and not isinstance(error, DiskTrouble | SimulatedDeath):
                raise AssertionError(f"{what}: nobody noticed")
            assert not life.world.broken, f"{what}: {life.world.broken}"
            if not noted:
                assert_stopped(life, at, what)
            for how, after in lives_after(life, 1):
                # Where it was done all the same, once more: a start completes the audit log.
                after.world.step = state.world.step
                scenario.finish(after, f"{what}, {how}")
                tally.runs += 1
    return tally


def assert_stopped(life: Life, at: int, what: str) -> None:
    """After a change that failed nothing more is written; a full disk only ends a write short."""
    fault = life.disk.fault
    assert fault is not None
    rest = [entry for entry in life.disk.log[at:] if "/lock" not in entry]
    ended_short = rest == [life.disk.log[at - 1]] and fault.keep > 0
    assert not rest or ended_short, f"{what}: and then it did {rest}"


def os_name(fault: Fault | None) -> str:
    return errno.errorcode.get(fault.error, fault.kind) if fault is not None else ""
