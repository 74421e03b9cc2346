"""Who in this program waits for which event's end, question's answer, or schedule's next move."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import chain
from typing import Any, TypeAlias, TypeVar

from agentctl.core.kept import Asking
from agentctl.core.schedules import ScheduleId
from agentctl.engines.local.events.endings import End
from agentctl.errors import Interrupted

K = TypeVar("K")
V = TypeVar("V")
Waiter: TypeAlias = asyncio.Future[End]


class Waiters:
    """The waiters of one agent; who gives up is forgotten."""

    def __init__(self) -> None:
        self._ends: dict[int, list[Waiter]] = {}
        self._answers: dict[Asking, list[Waiter]] = {}
        self._moves: dict[ScheduleId, list[asyncio.Future[None]]] = {}

    def wait_for(self, number: int) -> Waiter:
        """A future of an open event's end, or of the bug that it is stuck at."""
        return _one_more(self._ends, number)

    def wait_for_answer(self, asking: Asking) -> Waiter:
        """A future of the answer to a question; that the event is stuck is none."""
        return _one_more(self._answers, asking)

    def wait_for_move(self, at: ScheduleId) -> asyncio.Future[None]:
        """A future that is done when a schedule fires, or is changed."""
        return _one_more(self._moves, at)

    def moved(self, at: ScheduleId) -> None:
        """Tell that a schedule fired, or was changed."""
        for waiter in self._moves.pop(at, ()):
            if not waiter.done():
                waiter.set_result(None)

    def heard(self, number: int) -> bool:
        """Whether somebody waits for the event's end."""
        return any(not waiter.done() for waiter in self._ends.get(number, ()))

    def tell(self, number: int, asking: Asking | None, end: End) -> None:
        """Tell of an end that is durable."""
        told = self._ends.pop(number, [])
        if asking is not None and end.ended.status != "stuck":
            told = [*told, *self._answers.pop(asking, [])]
        for waiter in told:
            if not waiter.done():
                waiter.set_result(end)

    def fail(self, error: BaseException) -> None:
        """Tell everybody that no outcome will come in this program."""
        for waiter in self._all():
            if not waiter.done():
                waiter.set_exception(error)
                waiter.exception()  # it is told where it is awaited; unheard, it is no fault
        self._ends.clear()
        self._answers.clear()
        self._moves.clear()

    def _all(self) -> Sequence[asyncio.Future[Any]]:
        events = (*self._ends.values(), *self._answers.values())
        return [*chain.from_iterable(events), *chain.from_iterable(self._moves.values())]


def stopped(agent: str) -> Interrupted:
    """What who waits is told when an agent's program stops."""
    return Interrupted(
        f"{agent}: the program stopped before the outcome was known",
        hint="the event is on record and runs on with the next start",
    )


def _one_more(all_waiting: dict[K, list[asyncio.Future[V]]], what: K) -> asyncio.Future[V]:
    waiter: asyncio.Future[V] = asyncio.get_running_loop().create_future()
    all_waiting.setdefault(what, []).append(waiter)

    def forget(_: asyncio.Future[V]) -> None:
        waiting = all_waiting.get(what)
        if waiting is not None and waiter in waiting:
            waiting.remove(waiter)
            if not waiting:
                del all_waiting[what]

    waiter.add_done_callback(forget)
    return waiter
