"""ProgramCore: what all agents of one program share.

The loop, the clock, the threads; the guard through which every callback runs, so that nothing
goes on once the disk failed or the program is dying; and the turns of events under suspicion.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import os
import sys
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NoReturn

from agentctl.core.compaction import COMPACTS_AT
from agentctl.core.kept import Asking
from agentctl.core.suspicion import EventId
from agentctl.core.timing import Sent
from agentctl.engines.local.events.askers import Askers
from agentctl.engines.local.events.calls import CallName
from agentctl.engines.local.events.effects import Timings
from agentctl.engines.local.events.made import Made
from agentctl.engines.local.events.questions import Question
from agentctl.engines.local.events.slots import Slots
from agentctl.engines.local.events.timers import Timer, Timers
from agentctl.engines.local.events.turns import Turns
from agentctl.engines.port import Listener
from agentctl.times import Clock

log = logging.getLogger("agentctl")

TURN_WAIT_S: Final = 60.0
"""How long new events and timers wait for a suspect that executes alone (R10)."""

_CHILD_CODE: Final = 70
_SWEEP_AT: Final = 1024
_TASKS_NEST: Final = sys.version_info < (3, 14)


def _end_child() -> NoReturn:
    """End a forked child that came back into the engine: the events are its parent's (R11).

    It may not even clean up: what it would close and write is the parent's, too.
    """
    log.critical("a child forked in a call came back into its parent's program; it ends here")
    os._exit(_CHILD_CODE)  # noqa: TID251 - nothing of the parent's may be cleaned up


def _taken_note_of(task: asyncio.Task[None]) -> None:
    """Whoever waits was told how the program ends; nobody asks the call's task."""
    if not task.cancelled():
        task.exception()


class ProgramCore:
    """What the agents of one program share.

    Attributes:
        counted: events whose next beginning gets an `again` record.
        compacts_at: so many bytes long a journal may grow before it is written anew.
        stopping: a graceful stop began; nothing new starts.
        dead: why nothing goes on: the disk failed, or the program is dying.
        begin_event, pump_all, at_work, can_begin, on_death: set by the engine that owns the
            agents.
        recovered: set once a start is done.
        open_asks: the questions and the outcomes that events wait for, each with whose it is; by
            the waiting agent, event and path.
        moved: set whenever an event came to rest, parked, or entered a call.
    """

    def __init__(self, clock: Clock, listener: Listener, entropy: Callable[[], str]) -> None:
        self.clock = clock
        self.listener = listener
        self._entropy = entropy
        self.pid = os.getpid()
        self._context = contextvars.copy_context()
        self.loop = asyncio.get_running_loop()
        self.timers = Timers(clock, self.guard)
        self.turns = Turns(clock)
        self.counted: frozenset[EventId] = frozenset()
        self.compacts_at = COMPACTS_AT
        self.stopping = False
        self.dead: BaseException | None = None
        self.tasks: dict[asyncio.Task[None], CallName] = {}
        self.asks: set[asyncio.Task[None]] = set()
        self.open_asks: dict[tuple[str, int, str], tuple[str, Asking | Sent]] = {}
        self.askers: Askers
        self.timings: Timings
        self._queued: set[asyncio.Task[Any]] = set()
        self._sweep_at = _SWEEP_AT
        self.begin_event: Callable[[EventId], None]
        self.pump_all: Callable[[], None]
        self.at_work: Callable[[], int]
        self.on_death: Callable[[BaseException], None]
        self.can_begin: Callable[[], bool]
        self._threads: ThreadPoolExecutor | None = None
        self._turns: deque[EventId] = deque()
        self._turn: EventId | None = None
        self._gate_open = True
        self._gate_timer: Timer | None = None
        self._recovering: set[EventId] = set()
        self._settling = False
        self.recovered = asyncio.Event()
        self.moved = asyncio.Event()

    @property
    def is_ending(self) -> bool:
        """Whether nothing new begins any more."""
        return self.stopping or self.dead is not None

    # -- time, chance, threads

    def entropy(self) -> str:
        """Something by chance, in hexadecimal."""
        return self._entropy()

    def now_us(self, not_before_us: int = 0) -> int:
        """The wall clock, never before what is on record already."""
        return max(self.clock.now_us(), not_before_us)

    def threads(self) -> ThreadPoolExecutor:
        """The worker threads of blocking methods."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(64, thread_name_prefix="agentctl-call")
        return self._threads

    def close_threads(self) -> None:
        """Let idle worker threads go; one that is blocked is not waited for."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    # -- other agents

    def ask(self, question: Question) -> Coroutine[None, None, Made]:
        """Ask another agent, and wait for the answer."""
        return self.askers.ask(question)

    def tell(self, agent: str, askings: Sequence[Asking]) -> None:
        """Let the asked agent forget answers that are on record here."""
        self.askers.tell(agent, askings)

    # -- the guard

    def guard(self, callback: Callable[..., None], *args: Any) -> None:
        """Run a callback of the engine; once something is broken, none runs any more."""
        if self.pid != os.getpid():
            _end_child()
        if self.dead is not None:
            return
        try:
            callback(*args)
        except (SystemExit, KeyboardInterrupt) as error:
            self.die(error)
            raise
        except BaseException as error:  # noqa: BLE001 - whoever waits is told
            self.die(error)

    def soon(self, callback: Callable[[], None]) -> None:
        """Run `callback` next on the program's loop."""
        self.loop.call_soon(self.guard, callback)

    def soon_from_thread(self, callback: Callable[[], None]) -> None:
        """Run `callback` on the program's loop; for another thread to ask for."""
        self.loop.call_soon_threadsafe(self.guard, callback)

    def from_task(self, callback: Callable[[], None]) -> None:
        """Run `callback` as the last thing of a call's task; where tasks can't nest, right after.

        It lets a handler's loop turn, whose tasks interpreters from 3.14 on refuse to nest.
        """
        if _TASKS_NEST:
            self.guard(callback)
        else:
            self.soon(callback)

    def spawn(self, coro: Coroutine[Any, Any, None], name: CallName | None) -> asyncio.Task[None]:
        """Run a call in a task; one with a name is a capability's, which a stop waits for.

        What one call sets in its context is not seen by the next.
        """
        task = asyncio.Task(coro, loop=self.loop, context=self._context.copy())
        if name is None:
            self.asks.add(task)
            task.add_done_callback(self.asks.discard)
            return task
        self.tasks[task] = name
        if len(self.tasks) > self._sweep_at:
            self.tasks = {one: its for one, its in self.tasks.items() if not one.done()}
            self._sweep_at = max(_SWEEP_AT, 2 * len(self.tasks))
        return task

    async def take_turn(self, slots: Slots, agent: str, number: int) -> None:
        """Take a slot for a call of an event, once it is its turn.

        A start doesn't wait for it: whose turn comes when is not the event's to say.

        Raises:
            asyncio.CancelledError: a stop, or the program's end, came first.
        """
        if not slots.is_full:
            await slots.take()
            return
        task = asyncio.current_task()
        assert task is not None
        self._queued.add(task)
        self.settled(agent, number)
        try:
            await slots.take()
        finally:
            self._queued.discard(task)
        if self.is_ending:
            slots.give_back()
            raise asyncio.CancelledError

    def clear_queues(self) -> None:
        """Take out the calls that wait their turn: their code doesn't begin any more."""
        for task in self._queued:
            task.cancel()
            self.tasks.pop(task, None)  # nothing of it is cut off

    def over(self, task: asyncio.Task[Any] | None) -> None:
        """A call's task is about to end; one that was cancelled unbegun is swept away later."""
        if task is not None:
            self.tasks.pop(task, None)

    def die(self, error: BaseException) -> None:
        """Let nothing go on, and tell whoever waits."""
        if self.dead is None:
            self.dead = error
            self.recovered.set()
            self.moved.set()
            self._cut_off_unbegun()
            self.clear_queues()
            for task in self.tasks:
                task.add_done_callback(_taken_note_of)
            self.on_death(error)

    def _cut_off_unbegun(self) -> None:
        """Keep calls whose code hasn't begun from beginning: nothing goes on (R14)."""
        for task in self.tasks:
            coro = task.get_coro()
            assert inspect.iscoroutine(coro)
            if inspect.getcoroutinestate(coro) == inspect.CORO_CREATED:
                task.cancel()

    # -- turns of events under suspicion (R10)

    @property
    def gate_open(self) -> bool:
        """Whether events and timers that aren't under suspicion may begin."""
        return self._gate_open and not self.stopping

    def has_turn(self, agent: str, number: int) -> bool:
        """Whether the event executes alone, under suspicion."""
        return self._turn == (agent, number)

    def take_turns(self, turns: Sequence[EventId]) -> None:
        """Let these events begin one at a time; the others wait, but not for long."""
        if turns:
            self._turns.extend(turns)
            self._gate_open = False
            self._gate_timer = self.timers.arm(TURN_WAIT_S, self._open_gate)
            self.soon(self._next_turn)

    def passed(self, agent: str, number: int) -> None:
        """An event has a new result, ended or parked: its turn is over."""
        if self._turn == (agent, number):
            self._turn = None
            self.soon(self._next_turn)

    def _next_turn(self) -> None:
        if self._turn is not None or self.stopping:
            return
        if not self._turns:
            self._open_gate()
            return
        self._turn = self._turns.popleft()
        self.begin_event(self._turn)

    def _open_gate(self) -> None:
        if not self._gate_open:
            self._gate_open = True
            if self._gate_timer is not None:
                self.timers.cancel(self._gate_timer)
            self.moved.set()
            self.pump_all()
            self.settle_soon()

    # -- when a start has recovered (sdk.md, Running it)

    def begun(self, agent: str, number: int) -> None:
        """An event begins; until it settles, the start isn't done."""
        if not self.recovered.is_set():
            self._recovering.add((agent, number))

    def settled(self, agent: str, number: int) -> None:
        """An event ended, parked, or entered the code of a call."""
        self.moved.set()
        if not self.recovered.is_set():
            self._recovering.discard((agent, number))
            self.settle_soon()

    def settle_soon(self) -> None:
        """See whether the start is done, once what is under way has had its chance."""
        if not self._settling and not self.recovered.is_set():
            self._settling = True
            self.soon(self._settle)

    def _settle(self) -> None:
        self._settling = False
        if not self._recovering and not self.can_begin():
            self.recovered.set()
