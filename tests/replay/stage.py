"""One event on a stage: the real `EventRun`, without a disk and without an event loop around it.

Owns: who answers when. A call's code stands at a gate until the scheduler opens it; time moves
only by the scheduler. Keeps: the same seed gives the same run. The journal is a list of records;
to die is to take a part of it and to begin anew (`restart`). It never sleeps and reads no clock.
"""

from __future__ import annotations

import contextvars
import itertools
import random
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Raw

from agentctl import call_key
from agentctl.core.history import JournalHistory
from agentctl.core.lifecycle import Phase
from agentctl.engines.local.events.endings import End
from agentctl.engines.local.events.ledger import Batch
from agentctl.engines.local.events.run import EventRun
from agentctl.engines.local.events.turns import Turns
from agentctl.engines.local.running.binding import Binding, make_binding
from agentctl.names import Address, format_call_key
from agentctl.record_moves import CancelRecord
from agentctl.records import (
    FORMAT,
    EventRecord,
    FiredRecord,
    Header,
    Record,
    decode,
    encode,
    kind_of,
)
from agentctl.sdk.agent import Agent
from agentctl.sdk.forbidden import guard_interpreter
from agentctl.testing import FakeClock

from .bot import Bot
from .stage_timers import StageTimers
from .world import World, answer

NONCE = "00112233aabbccdd"
STEP_S = 2.0
DELIVERIES = ("ok", "error", "fired")
ENDS = ("done", "failed", "bug", "cancelled")
ESSENTIAL = (*DELIVERIES, "call", "dropped")


class Gate:
    """What a call's code waits at."""

    def __init__(self, key: str) -> None:
        self.key = key

    def __await__(self) -> Generator[Gate, None, None]:
        yield self


class GatedWorld(World):
    """Answers once its gate is opened; notes the calls that really were made."""

    def __init__(self) -> None:
        self.made: list[tuple[str, str]] = []

    async def _answer(self, what: Any) -> Any:
        key = call_key()
        assert key is not None
        self.made.append((key, what if isinstance(what, str) else str(sorted(what))))
        await Gate(key)
        return answer(what)

    async def do(self, what: str) -> str:
        return await self._answer(what)

    async def tell(self, what: set[str]) -> set[str]:
        return await self._answer(what)


class CallTask:
    """A call's code, driven by hand."""

    def __init__(self, coro: Coroutine[Any, Any, None]) -> None:
        self._coro = coro
        self._ctx = contextvars.copy_context()
        self.gate: Gate | None = None
        self.over = False

    def go_on(self) -> None:
        if self.over:
            return
        try:
            self.gate = self._ctx.run(self._coro.send, None)
        except StopIteration:
            self.over = True

    def cancel(self) -> None:
        if not self.over:
            self.over = True
            self._ctx.run(self._coro.close)


class StageProgram:
    """What stands for the program; implements `Program`."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.timers = StageTimers(clock)
        self.turns = Turns(clock)
        self.listener = self
        self.stopping = False
        self.warnings: list[str] = []
        self.queue: deque[Callable[[], None]] = deque()
        self.tasks: list[CallTask] = []

    def now_us(self, not_before_us: int = 0) -> int:
        return max(self.clock.now_us(), not_before_us)

    def soon(self, callback: Callable[[], None]) -> None:
        self.queue.append(callback)

    from_task = soon

    def over(self, task: object) -> None:
        pass

    def spawn(self, coro: Coroutine[Any, Any, None], name: object) -> CallTask:
        task = CallTask(coro)
        self.tasks.append(task)
        self.soon(task.go_on)
        return task

    def die(self, error: BaseException) -> None:
        # A call's code that was cut off; anything else is a fault of the test or of the engine.
        if not isinstance(error, GeneratorExit):
            raise error

    def threads(self) -> Any:
        raise AssertionError("no handler here calls what blocks")

    def started(self, event: Address, handler: str, *, again: bool) -> None:
        pass

    def called(self, key: str, fn: str) -> None:
        pass

    def asked(self, key: str, text: str, type_: str) -> None:
        pass

    def warned(self, text: str) -> None:
        self.warnings.append(text)

    def work(self) -> None:
        while self.queue:
            self.queue.popleft()()

    @property
    def at_gates(self) -> list[CallTask]:
        self.tasks = [task for task in self.tasks if not task.over]
        return self.tasks


@dataclass
class Played:
    """What a run did.

    Attributes:
        journal: the bodies of all records, what was there before included.
        made: the calls made for real, as (key, what), in order.
        end: how the event came to rest; None if the run was cut off before.
        warnings: what the listener heard.
    """

    journal: list[bytes]
    made: list[tuple[str, str]]
    end: End | None = None
    warnings: list[str] = field(default_factory=list)

    @property
    def outcome(self) -> tuple[str, Any]:
        """Status, and result or text."""
        assert self.end is not None, "the handler waits for ever"
        ended = self.end.ended
        return ended.status, ended.text if ended.result is None else msgspec.json.decode(
            ended.result
        )

    @property
    def essential(self) -> list[bytes]:
        """What the handler asked for and heard."""
        return [body for body in self.journal if kind_of(body) in ESSENTIAL]


class Stage:
    """One event's stage; implements `Site`."""

    def __init__(
        self, handler: str, journal: Sequence[bytes] = (), *, agent: type[Agent] = Bot
    ) -> None:
        guard_interpreter()
        self.world = GatedWorld()
        self.binding: Binding[Any] = make_binding(agent, {"world": self.world}, None)
        self.cls, self.spec, self.name = agent, self.binding.spec, self.binding.spec.name
        self._methods = self.binding.methods()
        self.clock = FakeClock()
        self.program = StageProgram(self.clock)
        self.journal = list(journal) or [_accepted(handler, self.clock.now_us())]
        self.end: End | None = None
        self._delivered = 0
        self._cancel_at: int | None = None
        history = read(self.journal)
        self.latest_us = history.latest_us
        self.clock.set_wall(max(history.latest_us, self.clock.now_us()))
        self.run = EventRun(self, history.open[1])
        self.run.counted = history.open[1].phase is Phase.EXECUTING

    # -- Site

    def key(self, accepted: EventRecord, path: str) -> str:
        return format_call_key(self.name, accepted.event, path)

    def address(self, accepted: EventRecord) -> Address:
        return Address(self.name, accepted.of, accepted.event)

    def state_of(self, _identity: tuple[str, ...]) -> dict[str, bytes]:
        return {name: one.default for name, one in self.spec.state.items()}

    def options(self, op: Any) -> Any:
        return self.method(op.field, op.method.name).options

    def method(self, field: str, name: str) -> Any:
        return self._methods[field, name]

    def denied(self, _field: str, _name: str) -> str | None:
        return None

    def exclusive(self, _accepted: EventRecord) -> bool:
        return False

    def heard(self, _number: int) -> bool:
        return True

    def append(self, record: Record, *, event: EventRecord | None = None) -> None:
        self.append_bodies([encode(record)])

    def append_bodies(self, bodies: Sequence[bytes], _audit: Sequence[str] = ()) -> None:
        assert self.end is None, "a record came after the end"
        self.journal += bodies
        self._delivered += sum(kind_of(body) in DELIVERIES for body in bodies)
        if self._cancel_at is not None and self._delivered >= self._cancel_at:
            self.program.queue.appendleft(self._cancel)

    def _cancel(self) -> None:
        if self.end is None and self._cancel_at is not None:
            self._cancel_at = None
            self.append(record := CancelRecord(1, at=self.clock.now_us()))
            self.run.cancel(record)

    def when_durable(self, callback: Callable[[], None], **_how: bool) -> None:
        self.program.soon(callback)

    def durable_soon(self) -> None:
        pass

    def has_turn(self, _number: int) -> bool:
        return False

    def entered(self, _number: int) -> None:
        pass

    def progressed(self, _number: int) -> None:
        pass

    def parked(self, _number: int) -> None:
        pass

    def goes_on(self, _number: int, path: str) -> None:
        self.run.go_on(path)

    def over(self, _number: int, end: End, batch: Batch) -> None:
        self.append_bodies([*batch.bodies, encode(end.record)])
        self.end = end

    # -- who answers when

    def play(self, chance: random.Random, *, cancel_at: int | None = None) -> Played:
        """Run to the end, in an order of chance; cancel it right after so many deliveries."""
        self._cancel_at = cancel_at
        self.run.prepare()
        self.run.begin()
        if cancel_at == 0:
            self._cancel()
        self.program.work()
        while self.end is None and self._step(chance):
            self.program.work()
        return self._played()

    def _step(self, chance: random.Random) -> bool:
        program, clock = self.program, self.clock
        calls, due_s = program.at_gates, program.timers.next_due_s
        if not calls and due_s is None:
            return False
        if due_s is not None and (not calls or chance.random() < 0.2):
            clock.advance(max(0.0, due_s - clock.monotonic_s()))
        else:
            clock.advance(chance.random() * STEP_S)
        doings: list[Callable[[], None]] = [one.callback for one in program.timers.take_due()]
        # Now and then two answers come at the same moment: one is delivered, then the other.
        count = min(len(calls), chance.choice((0, 1, 1, 1, 2)) if doings else 1)
        doings += [one.go_on for one in chance.sample(calls, count)]
        chance.shuffle(doings)
        for doing in doings:
            program.soon(doing)
        return True

    def follow(self, recorded: Sequence[bytes]) -> Played:
        """Run on with the outcomes and times of a longer record of the same event."""
        deliveries = read(unended(recorded)).open[1].deliveries
        done = len(self.run.history.deliveries)
        self.run.prepare()
        self.run.begin()
        self.program.work()
        for path, record in deliveries[done:]:
            self.clock.advance((record.at - self.clock.now_us()) / 1_000_000)
            self.clock.set_wall(record.at)
            if isinstance(record, FiredRecord):
                self.run.go_on(path)
            else:
                key = format_call_key(self.name, 1, path)
                (task,) = (one for one in self.program.at_gates if one.gate.key == key)
                task.go_on()
            self.program.work()
        return self._played()

    def _played(self) -> Played:
        made = [(key, what) for key, what in self.world.made]
        if self.end is None:
            self.run.let_go()
        return Played(self.journal, made, self.end, self.program.warnings)


def _accepted(handler: str, at_us: int) -> bytes:
    return encode(EventRecord(1, handler, Raw(b"[]"), nonce=NONCE, at=at_us))


def read(journal: Sequence[bytes]) -> JournalHistory:
    """Fold an event's records; what can't follow what stands before it raises."""
    history = JournalHistory()
    header = encode(Header(FORMAT, "Bot", "0" * 32, 1))
    for body in (header, *journal):
        history.fold(kind_of(body), decode(body), body)
    return history


def path_of(call: str) -> str:
    """The path in a recorded call's key: `1.3` of `17-1.3`."""
    return call.partition("-")[2]


def unended(journal: Sequence[bytes]) -> list[bytes]:
    """A journal up to its event's end."""
    return list(itertools.takewhile(lambda one: kind_of(one) not in ENDS, journal))


def over_in(journal: Sequence[bytes]) -> set[str]:
    """The paths of what has an outcome on record, or was dropped."""
    ended = set()
    for body in journal:
        kind = kind_of(body)
        if kind in (*DELIVERIES, "dropped"):
            ended.add(path_of(getattr(decode(body), kind)))
    return ended
