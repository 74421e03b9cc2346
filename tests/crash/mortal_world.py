"""The world of the crash matrix: what was promised and done, over all lives of a program.

Owns: what capabilities did, by call key; what callers were told; what may never happen again.
Keeps: each broken promise is noted where it breaks (`broken`), in the user's words; a test fails
on the first. Never: trusts what the engine says of itself; it reads bytes and hears callers.
"""

from __future__ import annotations

import gc
import json
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from reading_raw import Seen, audit_of, set_aside_numbers

from agentctl.storage.memory import MemoryDisk

ROOT = "/memory"


@dataclass
class Kept:
    """What a kill left on record: it counts, until the power goes too."""

    settled: set[str] = field(default_factory=set)
    failed: set[tuple[str, int]] = field(default_factory=set)
    told: set[int] = field(default_factory=set)
    accepted: set[int] = field(default_factory=set)


@dataclass
class World:
    """What outlives the program, beside its disk.

    Attributes:
        made: the arguments of each time that a call was made, by key.
        settled: calls that may never be made again.
        acknowledged: events that somebody heard of.
        told: events whose end somebody heard of.
        on_record: what more must hold, as long as the power doesn't go before it is durable.
        unwanted: set-aside events that a person drops.
        amounts: what an event was asked to add, by number; for the fold of the state.
        journals: each journal as a start found it; the audit log comes of them.
        step: how many steps of the scenario are done.
        poisonous: the bad call still kills its program.
        tried: a person tried what they never try again.
        beside: the worlds of the program's other agents, by name; they share `broken`.
        answers: what was answered to each change that was carried out, by the id of its request.
        cancelling: events that somebody asked to cancel.
        cancelled: those of which they heard that they are.
        retried: events that failed and were asked to run again.
        buggy: events that may be stuck for a while.
        deleted: events whose instance was deleted after they had ended.
        may_miss: an event may end without having begun, since it was due too long ago.
        failed: attempts that failed and may never be made again, by key and number.
        entered: when each attempt was made, each time, by key.
        inputs: what somebody heard that it is a call's input, by key.
        dies_in_calls: the program dies in each attempt once; `died_in` are those.
    """

    made: dict[str, list[str]] = field(default_factory=dict)
    settled: set[str] = field(default_factory=set)
    once: set[str] = field(default_factory=set)
    acknowledged: set[int] = field(default_factory=set)
    told: set[int] = field(default_factory=set)
    nonces: dict[str, str] = field(default_factory=dict)
    unwanted: set[int] = field(default_factory=set)
    amounts: dict[int, tuple[str, int]] = field(default_factory=dict)
    journals: list[Seen] = field(default_factory=list)
    on_record: Kept = field(default_factory=Kept)
    requests: int = 0
    step: int = 0
    lives: int = 0
    wall_us: int = 1_767_225_600_000_000
    poisonous: bool = True
    tried: bool = False
    broken: list[str] = field(default_factory=list)
    beside: dict[str, World] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    cancelling: set[int] = field(default_factory=set)
    cancelled: set[int] = field(default_factory=set)
    retried: set[int] = field(default_factory=set)
    buggy: set[int] = field(default_factory=set)
    deleted: set[int] = field(default_factory=set)
    may_miss: bool = False
    failed: set[tuple[str, int]] = field(default_factory=set)
    entered: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    inputs: dict[str, str] = field(default_factory=dict)
    dies_in_calls: bool = False
    died_in: set[tuple[str, int]] = field(default_factory=set)

    def breaks(self, promise: str) -> None:
        self.broken.append(promise)

    # -- what the world sees

    def called(self, key: str, service_key: str, args: str, heard: list[str]) -> None:
        """A capability's code is entered."""
        if key in self.settled | self.on_record.settled:
            self.breaks(f"{key} was made again: its result had been delivered")
        times = self.made.setdefault(key, [])
        if key in self.once and times:
            self.breaks(f"{key} isn't to be repeated, and was")
        if times and times[0] != args:
            self.breaks(f"{key} was made with other arguments: {times[0]} and {args}")
        times.append(args)
        event, nonce = key.rpartition("-")[0], service_key.rpartition("-")[2]
        if self.nonces.setdefault(event, nonce) != nonce:
            self.breaks(f"the number of {event} was used for two events")
        # The arguments prove what the event had been given when it asked for this.
        self.settled.update(heard)

    def attempted(self, key: str, attempt: int, at_us: int) -> None:
        """An attempt of a call, or of a step, is entered."""
        if key in self.settled | self.on_record.settled:
            self.breaks(f"{key} was tried again: its result had been delivered")
        if (key, attempt) in self.failed | self.on_record.failed:
            self.breaks(f"attempt {attempt} of {key} was made again: it had failed")
        made = self.entered.setdefault(key, [])
        if attempt > max((one for one, _ in made), default=0) + 1:
            self.breaks(f"attempt {attempt} of {key} was made after {made}")
        made.append((attempt, at_us))
        # It is made once it is durable that those before it failed.
        self.failed.update((key, before) for before in range(1, attempt))

    def given(self, key: str, value: str) -> None:
        """Somebody heard that this is what the call waited for."""
        if self.inputs.setdefault(key, value) != value:
            self.breaks(f"{key} was decided twice: {self.inputs[key]} and {value}")

    def uses(self, key: str, value: str | None) -> None:
        """A step that waits for an input runs, with this one."""
        if key in self.inputs and value != self.inputs[key]:
            self.breaks(f"{key} has the input {self.inputs[key]}, and ran with {value}")

    def accepted(self, number: int) -> None:
        """Somebody heard that an event was accepted."""
        again = number in self.acknowledged and self.requests == 0
        if self.acknowledged and number <= max(self.acknowledged) and not again:
            self.breaks(f"number {number} came after {max(self.acknowledged)}")
        self.acknowledged.add(number)

    def started(self, number: int) -> None:
        if number in self.told | self.on_record.told:
            self.breaks(f"event {number} was started again: its end had been told")

    def ended(self, number: int, status: str, result: bytes | None) -> None:
        """Somebody heard of an event's end."""
        if status == "stuck" and number in self.buggy:
            return
        if status not in ("completed", "failed", "cancelled", "missed" if self.may_miss else ""):
            self.breaks(f"event {number} is {status}")
        if status == "cancelled" and number not in self.cancelling:
            self.breaks(f"event {number} is cancelled, and nobody asked for it")
        if status != "cancelled" and number in self.cancelled:
            self.breaks(f"event {number} is {status}: somebody had heard that it is cancelled")
        if number in self.told | self.on_record.told:
            self.breaks(f"the end of event {number} was told twice")
        self.told.add(number)
        value = json.loads(result) if result else None
        if isinstance(value, list):
            self.settled.update(value)

    def answered(self, request: str, answer: str) -> None:
        """Somebody heard what was answered to a change that was carried out."""
        before = self.answers.setdefault(request, answer)
        if before != answer:
            self.breaks(f"{request} was answered {before}, and then {answer}")

    def retrying(self, number: int, *again: str) -> None:
        """Somebody asks that an event that ended runs again, with these calls."""
        for kept in (self, self.on_record):
            kept.settled -= set(again)
            kept.failed = {one for one in kept.failed if one[0] not in again}
            kept.told.discard(number)
        self.retried.add(number)

    # -- between two lives

    def twin(self, broken: list[str] | None = None) -> World:
        """A copy that goes its own way; those beside it share what is broken."""
        broken = self.broken.copy() if broken is None else broken
        fresh = {one: _copied(value) for one, value in vars(self).items()}
        beside = {name: world.twin(broken) for name, world in self.beside.items()}
        return World(**{**fresh, "broken": broken, "beside": beside})

    def after_kill(self, seen: Callable[[str], Seen]) -> World:
        """The world once a kill left these journals: what is on record counts."""
        twin = self.twin()
        for agent, world in (("", twin), *twin.beside.items()):
            left = seen(agent)
            world.on_record.settled |= left.settled
            world.on_record.failed |= left.tried
            world.on_record.told |= set(left.ended)
            world.on_record.accepted |= set(left.accepted)
        return twin

    def after_power_cut(self) -> World:
        """The world once the power went: only what was durable counts."""
        twin = self.twin()
        for world in (twin, *twin.beside.values()):
            world.on_record = Kept()
        return twin

    def recovered(self) -> None:
        """A start has made durable what it found."""
        self.settled |= self.on_record.settled
        self.failed |= self.on_record.failed
        self.told |= self.on_record.told
        self.acknowledged |= self.on_record.accepted
        self.on_record = Kept()

    def found(self, seen: Seen) -> None:
        """A start finds this journal."""
        if seen.header is None and self.acknowledged:
            self.breaks("the journal is gone")
        if len(seen.ended) != len(set(seen.ended)):
            self.breaks(f"an event ended twice: {seen.ended}")
        # The same journal again, or the one before: what a start saw may not have been durable.
        headers = [one.header for one in self.journals]
        if seen.header in headers:
            del self.journals[headers.index(seen.header) :]
        elif seen.header is None:
            self.journals.clear()
        if seen.header is not None:
            self.journals.append(seen)


def _copied(value: Any) -> Any:
    """A field's value, and whatever may change in it; `copy.deepcopy` takes far longer."""
    if isinstance(value, Kept):
        return Kept(*map(set, vars(value).values()))
    if isinstance(value, dict):
        return {key: _copied(one) for key, one in value.items()}
    return value.copy() if isinstance(value, list | set) else value


def read(disk: MemoryDisk, agent: str, name: str) -> bytes:
    try:
        return disk.read_file(f"{ROOT}/agents/{agent}/{name}")
    except FileNotFoundError:
        return b""


def check_rest(world: World, disk: MemoryDisk, agent: str, *, aside: bool | None = False) -> None:
    """Hold a world to its promises, once everything came to rest and the program stopped."""
    seen = Seen.of(read(disk, agent, "journal"))
    audit = audit_of(read(disk, agent, "audit.log"))
    check_set_aside(world, seen, read(disk, agent, "set-aside"))
    ends = ends_of(audit)
    for number in world.cancelled:
        if (number, "cancelled") not in ends.items():
            world.breaks(f"event {number} was cancelled, said the answer; the log: {audit}")
    if lost := {event for _, verb, event in audit if verb == "dropped"} - world.unwanted:
        world.breaks(f"dropped, and nobody asked for it: {lost}")
    gone = {event for _, verb, event in audit if verb == "requeued"}
    for number in sorted(world.acknowledged):
        ended = ends.get(number, "").split()
        there = len(ended) + (number in seen.asides)
        fresh = number in gone and not ended
        if there != 1 and not (there == 0 and fresh):
            world.breaks(f"event {number} ended {ended}, in the end: {audit}")
    if seen.open:
        world.breaks(f"still open in the end: {seen.open}")
    if aside is not None and bool(seen.asides) is not aside:
        world.breaks(f"set aside in the end: {seen.asides}")
    check_audit(world, seen, audit)
    check_state(world, seen, audit)
    assert seen.header is not None
    numbers = [*world.acknowledged, *world.told, *seen.accepted]
    if world.journals and world.journals[-1].header:
        last = world.journals[-1].header["next"]
        if seen.header["next"] < last:
            world.breaks(f"the next number went from {last} to {seen.header['next']}")
    if not numbers and not any(verb == "accepted" for _, verb, _ in audit):
        world.breaks("nothing was ever accepted: this scenario proves nothing")


def ends_of(audit: list[tuple[int, str, int]]) -> dict[int, str]:
    """How each event ended, all its ends; a retry takes back that it failed."""
    ends: dict[int, list[str]] = {}
    cancels: Counter[int] = Counter()
    for _, verb, event in audit:
        if verb in ("completed", "failed", "dropped", "cancelled", "missed") and event:
            cancels[event] += verb == "cancelled"
            # A cancellation has two lines: it is delivered, and the clean-up is done.
            if verb != "cancelled" or cancels[event] != 2:
                ends.setdefault(event, []).append(verb)
        elif verb == "retried" and ends.get(event, [])[-1:] == ["failed"]:
            ends[event].pop()
    return {event: " ".join(of) for event, of in ends.items()}


def check_set_aside(world: World, seen: Seen, content: bytes) -> None:
    """No event in both, none in neither."""
    listed = set_aside_numbers(content)
    if sorted(listed) != sorted(seen.asides):
        world.breaks(f"set-aside has {listed}, the journal says {seen.asides}")
    if both := set(listed) & seen.open:
        world.breaks(f"in set-aside and open: {both}")


def check_audit(world: World, seen: Seen, audit: list[tuple[int, str, int]]) -> None:
    """Each line exactly once, in the order of the journals that it comes of."""
    before = [one for one in world.journals if one.header != seen.header]
    expected = [line for one in (*before, seen) for line in one.audit()]
    if audit == expected:
        return
    doubled = sorted({line for line in audit if audit.count(line) > 1})
    lost = [line for line in expected if line not in audit]
    extra = [line for line in audit if line not in expected]
    world.breaks(f"audit.log: lost {lost}, doubled {doubled}, extra {extra}, or out of order")


def check_state(world: World, seen: Seen, audit: list[tuple[int, str, int]]) -> None:
    """The state is the sum of what completed, each event counted once."""
    totals: dict[str, int] = {}
    for _, verb, event in audit:
        if verb == "completed" and event in world.amounts and event not in world.deleted:
            name, amount = world.amounts[event]
            totals[name] = totals.get(name, 0) + amount
    states: dict[str, int] = {}
    for record in seen.records:
        of = (record.get("of") or [""])[0]
        if "done" in record:
            of = (seen.accepted[record["done"]].get("of") or [""])[0]
        if "deleted" in record:
            states.pop((record["deleted"] or [""])[0], None)
        state = None if "ok" in record else record.get("state")  # a step's is its event's
        if isinstance(state, dict) and "total" in state:
            states[of] = state["total"]
    if states != totals:
        world.breaks(f"the state is {states}, what completed adds up to {totals}")


def no_dead_hand(broken: list[list[str]]) -> None:
    """Let everything dead be collected: none of it may reach the world."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        gc.collect()
    for promises in broken:
        assert not promises, promises
