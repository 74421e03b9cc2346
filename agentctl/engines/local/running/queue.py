"""EventQueue: which events of one agent execute, and which may as soon as there is a permit.

Sleeping and waiting events hold no permit (R22). Never knows who waits for an instance, or outside
for room.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from agentctl.core.lanes import LANES, Priority
from agentctl.engines.local.running.program import ProgramCore

_BEGUN_AT_ONCE: Final = 64
"""Events begun in one go; then the program's loop gets its breath."""


@dataclass(frozen=True)
class Permits:
    """How many events may execute at once: of all lanes together, and of single ones."""

    at_once: int
    of_lanes: Mapping[Priority, int] = field(default_factory=dict)


class _Lane:
    """One lane: how many of it execute, and who waits to.

    Attributes:
        going_on: those that have begun, with the path of the wait that is over; without one they
            begin anew, after a restart.
        ready: those that haven't.
    """

    __slots__ = ("executing", "going_on", "permits", "ready")

    def __init__(self, permits: int) -> None:
        self.permits = permits
        self.executing = 0
        self.going_on: deque[tuple[int, str | None]] = deque()
        self.ready: deque[int] = deque()


class EventQueue:
    """The queue of one agent; a lane is given by its rank.

    No permit stays free while an event waits that may have it. Who gets it: those that
    have begun before those that haven't, so that what is under way comes to its end; then by lane;
    then in order. A lane that has all its permits out is passed over, so it holds nobody up.

    So a lane can starve: while higher ones have enough to do for all of `concurrency`, a lower one
    gets nothing. What prevents it are permits: if those of the higher lanes come to less than
    `concurrency`, the rest is always left for the lower ones. In its own lane nobody is overtaken,
    and events that only go on can't shut out new ones for ever: there are never more of them than
    have begun.

    Two kinds of event take a permit unasked, even one too many: a suspect in its turn (R10), and a
    cancelled one that cleans up.

    Args:
        begin: begins an event.
        go_on: lets one go on whose wait is over; it answers whether it still waits for that.

    Attributes:
        executing: the events that hold a permit, each with its lane.
    """

    def __init__(
        self,
        program: ProgramCore,
        permits: Permits,
        begin: Callable[[int], None],
        go_on: Callable[[int, str], None],
    ) -> None:
        self._program = program
        self._permits = permits.at_once
        self._begin = begin
        self._go_on = go_on
        self.executing: dict[int, int] = {}
        self._lanes = tuple(_Lane(permits.of_lanes.get(lane, permits.at_once)) for lane in LANES)
        self._waiting = 0
        self._pumping = False

    def add(self, number: int, rank: int, *, begun: bool = False) -> None:
        """Let an event begin when its turn comes; `begun`: it had, before the program did."""
        if begun:
            self._lanes[rank].going_on.append((number, None))
        else:
            self._lanes[rank].ready.append(number)
        self._waiting += 1
        self.pump_soon()

    def resume(self, number: int, path: str, rank: int) -> None:
        """Let an event go on when there is a permit: its wait for `path` is over."""
        self._lanes[rank].going_on.append((number, path))
        self._waiting += 1
        self.pump_soon()

    def withdraw(self, number: int, rank: int) -> None:
        """Let an event no longer wait to begin."""
        lane = self._lanes[rank]
        if number in lane.ready:
            lane.ready.remove(number)
            self._waiting -= 1
        elif (number, None) in lane.going_on:
            lane.going_on.remove((number, None))
            self._waiting -= 1

    def take_permit(self, number: int, rank: int) -> None:
        """Note that an event executes."""
        if number not in self.executing:
            self.executing[number] = rank
            self._lanes[rank].executing += 1

    def give_back(self, number: int) -> None:
        """Take an event's permit back, if it has one."""
        rank = self.executing.pop(number, None)
        if rank is not None:
            self._lanes[rank].executing -= 1

    @property
    def at_work(self) -> int:
        """How many events execute or may begin."""
        return len(self.executing) + self._waiting

    @property
    def can_begin(self) -> bool:
        """Whether something waits that may begin now."""
        return self._next() is not None

    def _next(self) -> _Lane | None:
        """The lane whose turn it is; those of it that have begun come first."""
        if not self._waiting or len(self.executing) >= self._permits:
            return None
        if not self._program.gate_open:
            return None
        to_begin = None
        for lane in self._lanes:
            if lane.executing < lane.permits:
                if lane.going_on:
                    return lane
                if lane.ready and to_begin is None:
                    to_begin = lane
        return to_begin

    def pump_soon(self) -> None:
        """Begin what may begin, next on the program's loop."""
        if not self._pumping:
            self._pumping = True
            self._program.soon(self._pump)

    def _pump(self) -> None:
        self._pumping = False
        for _ in range(_BEGUN_AT_ONCE):
            lane = self._next()
            if lane is None or self._program.stopping:
                break
            self._waiting -= 1
            number, path = (
                lane.going_on.popleft() if lane.going_on else (lane.ready.popleft(), None)
            )
            if path is None:
                self._begin(number)
            else:
                self._go_on(number, path)
        if self.can_begin:
            self.pump_soon()
        self._program.settle_soon()
