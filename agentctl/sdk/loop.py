"""HandlerLoop: the event loop of one handler.

It owns a queue of ready callbacks, and the handler's tasks, futures and timers; nothing else: no
sockets, no threads, no clock but the journal's. `turn()` runs until nothing is ready; between two
turns the engine delivers exactly one outcome. Whatever is iterated, hashed or numbered in here
follows the order of creation, so that the same deliveries give the same run (R5). It never reads
a clock, never touches a disk, and never runs a callback outside a turn.
"""

from __future__ import annotations

import asyncio
import contextvars
import gc
import logging
import math
import sys
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from agentctl.errors import Dropped, UsageError
from agentctl.sdk.branch import Branch
from agentctl.sdk.execution import Execution, Failure, Outcome, Result
from agentctl.sdk.forbidden import ForbiddenLoop, refuse
from agentctl.sdk.loop_parts import HandlerFuture, HandlerTask, HandlerTimer
from agentctl.sdk.ops import TimerOp
from agentctl.times import SECOND_US

T = TypeVar("T")
log = logging.getLogger("agentctl")

_ASYNCIO_TASKS: Final = asyncio.tasks.__file__
LONGEST_WAIT_S: Final = 1000 * 366 * 86_400.0
_REFUSALS: Final = 1000
"""So often a handler that was let go of is refused what it asks for; then it stands still."""

_STANDING: Final[list[object]] = []
"""What couldn't be closed: were it collected, its code would run on, in another's turn."""


class HandlerLoop(ForbiddenLoop):
    """The event loop of one handler; see the module's docstring.

    Attributes:
        agent: the event's own object.
        undoing: what undoes the steps that are done, in the order in which they were (steps.py).
        cancelling: a cancellation was delivered, or is as soon as the running attempt ends.
    """

    agent: Any

    def __init__(self, execution: Execution, origin_us: int) -> None:
        self.execution = execution
        self.origin_us = origin_us
        self.now_us = origin_us
        self.root: HandlerTask | None = None
        self.closed = False
        self.in_turn = False
        self.tasks: dict[int, HandlerTask] = {}
        self._ready: deque[asyncio.Handle] = deque()
        self._waiting: dict[str, HandlerFuture] = {}
        self._timers: dict[str, HandlerTimer] = {}
        self._root_branch = Branch("")
        self._created = 0
        self._fed = False
        self._refused = 0
        self.unawaited: dict[int, tuple[str, str, int]] = {}
        self.undoing: list[Any] = []
        self.cancelling = False

    # -- what asyncio's own code asks of a loop

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return self.in_turn

    def is_closed(self) -> bool:
        return self.closed

    def time(self) -> float:
        """Seconds since the event's start, at the last delivery."""
        return (self.now_us - self.origin_us) / SECOND_US

    def call_soon(  # type: ignore[override]
        self,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        if self.in_turn or self._fed:
            self._ready.append(handle)
        elif not self.closed:
            # A lock or an event that two handlers share: no record says when it woke this one.
            raise refuse("wake another event", "what events share belongs into their state")
        return handle

    def call_later(  # type: ignore[override]
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        if not math.isfinite(delay) or delay > LONGEST_WAIT_S:
            raise UsageError(
                f"a wait of {delay} seconds can't be recorded", hint="the longest is 1000 years"
            )
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        until_us = self.origin_us + round(when * SECOND_US)
        return self.call_at_us(until_us, callback, *args, context=context)

    def call_at_us(
        self,
        until_us: int,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call back at an instant; `call_at` loses microseconds in what is centuries away."""
        self.refuse_once_closed()
        when = (until_us - self.origin_us) / SECOND_US
        timer = HandlerTimer(when, callback, args, self, context)
        if self.closed:
            return timer
        if until_us <= self.now_us:
            self._ready.append(timer)
            return timer
        path = timer.path = self.branch().next_path()
        self._timers[path] = timer
        self.execution.submit(TimerOp(path, until_us))
        return timer

    def _timer_handle_cancelled(self, timer: HandlerTimer) -> None:
        if timer.path is None or self._timers.pop(timer.path, None) is None:
            return
        if not self.closed:
            self.execution.drop(timer.path)

    def create_future(self) -> HandlerFuture:
        future = HandlerFuture(loop=self)
        future.order = self.next_order()
        return future

    def create_task(
        self,
        coro: Any,
        *,
        name: str | None = None,
        context: contextvars.Context | None = None,
        **_kwargs: Any,
    ) -> HandlerTask:
        if self.closed:
            coro.close()
            self.refuse_once_closed()
        if self.root is None:
            branch = self._root_branch
        else:
            shares_branch = self._called_by_wait_for(coro)
            parent = self.branch()
            branch = parent if shares_branch else parent.fork()
        # The hash must be there before Task.__init__ puts the task into asyncio's sets.
        task = HandlerTask.__new__(HandlerTask)
        order = task.order = self.next_order()
        task.branch = branch
        task.__init__(coro, loop=self, name=name or f"task {order}", context=context)  # type: ignore[misc]
        if not self.closed:
            self.tasks[order] = task
        task.add_done_callback(self._forget_task)
        return task

    def _forget_task(self, task: asyncio.Task[Any]) -> None:
        assert isinstance(task, HandlerTask)
        self.tasks.pop(task.order, None)

    def branch(self) -> Branch:
        """The branch of the task that runs; a callback that no task runs is the handler's own."""
        task = asyncio.current_task(self)
        return task.branch if isinstance(task, HandlerTask) else self._root_branch

    def next_order(self) -> int:
        """Number one more thing that hashes by its creation."""
        self._created += 1
        return self._created

    def refuse_once_closed(self) -> None:
        """Raise in a handler that was let go of.

        One that swallows even that, again and again, would never come to an end: after a while it
        isn't refused any more, and waits for what never comes.

        Raises:
            Dropped: the program let go of the event.
        """
        if self.closed:
            self._refused += 1
            if self._refused <= _REFUSALS:
                raise Dropped(f"{self.execution.title} isn't running any more")

    def _called_by_wait_for(self, coro: Any) -> bool:
        """Whether asyncio's `wait_for` makes this task, as it does on 3.11 and not on 3.12."""
        frame = sys._getframe(2)
        while frame.f_code.co_filename == _ASYNCIO_TASKS:
            name = frame.f_code.co_name
            if name == "wait_for":
                return True
            if "as_completed" in name.lower() or "AsCompleted" in frame.f_code.co_qualname:
                self._refuse_bare(coro)
            if frame.f_back is None:
                break
            frame = frame.f_back
        return False

    def _refuse_bare(self, coro: Any) -> None:
        if getattr(coro, "order", None) is None:
            coro.close()
            raise UsageError(
                "as_completed() of bare coroutines has no repeatable order",
                hint="make tasks of them first: as_completed([create_task(c) for c in …])",
            )

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Log what no task took; a handler that was let go of says nothing more."""
        if not self.closed and not self.execution.replaying:
            log.warning(
                "%s: %s",
                self.execution.title,
                context["message"],
                exc_info=context.get("exception"),
            )

    # -- what stubs ask

    def open(self, path: str) -> HandlerFuture:
        """Make the future that the outcome of `path` will be delivered to."""
        future = self._waiting[path] = self.create_future()
        return future

    def drop(self, path: str) -> None:
        """Say that nobody waits for `path` any more."""
        if self._waiting.pop(path, None) is not None and not self.closed:
            self.execution.drop(path)

    # -- what the engine does

    def start(self, coro: Coroutine[Any, Any, Any]) -> None:
        """Make the handler's first task; `turn()` then runs it."""
        assert self.root is None
        self._fed = True
        self.root = contextvars.Context().run(self.create_task, coro, name="handler")
        self._fed = False

    def deliver(self, path: str, outcome: Outcome, at_us: int) -> None:
        """Hand the handler one outcome; the next `turn()` lets it take it in."""
        assert not self._ready, "the handler hasn't taken in the delivery before"
        self.now_us = max(self.now_us, at_us)
        timer = self._timers.pop(path, None)
        if timer is not None:
            self._ready.append(timer)
            return
        future = self._waiting.pop(path)
        if future.done():
            return
        self._fed = True
        if isinstance(outcome, Result):
            future.set_result(outcome.value)
        else:
            assert isinstance(outcome, Failure)
            future.set_exception(outcome.error)
        self._fed = False

    def cancel(self, at_us: int) -> None:
        """Raise `CancelledError` in the handler where it waits; `turn()` then lets it happen."""
        self.now_us = max(self.now_us, at_us)
        assert self.root is not None
        self.cancelling = True
        self._fed = True
        self.root.cancel()
        self._fed = False

    def cancel_unfinished(self) -> None:
        """Cancel the branches that still run; the next `turn()` lets them clean up."""
        self._fed = True
        for task in self.unfinished:
            task.cancel()
        self._fed = False

    def turn(self) -> None:
        """Run until nothing is ready.

        Cyclic garbage is not collected meanwhile: what a collection finalizes would run here, at
        a moment that no replay repeats.
        """
        outer = events._get_running_loop()
        finalizer = sys.get_asyncgen_hooks().finalizer
        collecting = gc.isenabled()
        events._set_running_loop(self)
        sys.set_asyncgen_hooks(finalizer=self._finalize_generator)
        self.in_turn = True
        gc.disable()
        try:
            ready = self._ready
            while ready:
                handle = ready.popleft()
                if not handle.cancelled():
                    handle._run()
        finally:
            if collecting:
                gc.enable()
            self.in_turn = False
            sys.set_asyncgen_hooks(finalizer=finalizer)
            events._set_running_loop(outer)

    def _finalize_generator(self, generator: Any) -> None:
        """Close an async generator that was left early, as asyncio does.

        Within a turn the last reference goes at a repeatable moment; at any other time its
        clean-up would run in another's turn, so it doesn't run at all.
        """
        if self.in_turn and not self.closed:
            self.create_task(generator.aclose())

    @property
    def unfinished(self) -> list[HandlerTask]:
        """The tasks that still run, the root aside, in the order of their creation."""
        return [task for task in self.tasks.values() if task is not self.root and not task.done()]

    def let_go(self) -> None:
        """Drop the handler where it stands: none of its code takes part in anything any more.

        Its coroutines are closed here and now, under this closed loop, so that their `finally`
        blocks can't run later in another's turn; a stub that they touch raises `Dropped`.
        """
        self.closed = True
        outer = events._get_running_loop()
        events._set_running_loop(self)
        try:
            for task in list(self.tasks.values()):
                _close_quietly(task)
            self._ready.clear()
        finally:
            events._set_running_loop(outer)
        self.tasks.clear()
        self._waiting.clear()
        self._timers.clear()


def new_loop(execution: Execution, origin_us: int) -> HandlerLoop:
    """Make the loop of one event; `origin_us` is the handler's first `now()`."""
    # What AbstractEventLoop leaves abstract for type checkers, ForbiddenLoop refuses.
    return HandlerLoop(execution, origin_us)  # type: ignore[abstract]


def _close_quietly(task: HandlerTask) -> None:
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    coro = task.get_coro()
    assert coro is not None
    try:
        coro.close()
    except (Exception, asyncio.CancelledError, GeneratorExit) as error:  # noqa: BLE001 - it is gone
        # The handler awaited or raised in its clean-up: it is gone either way.
        log.debug("a dropped handler's clean-up ended with %r", error)
    except BaseException as error:
        if isinstance(error, SystemExit | KeyboardInterrupt):
            raise
        log.debug("a dropped handler's clean-up touched what is gone: %r", error)
    if getattr(coro, "cr_frame", None) is not None:
        leave_standing(task)


def leave_standing(what: object) -> None:
    """Keep what can't be closed from being collected."""
    _STANDING.append(what)
