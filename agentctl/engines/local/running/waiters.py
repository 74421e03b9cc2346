"""Who in this program waits for the end of which event, or for the answer to which question."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TypeAlias, TypeVar

from agentctl.core.kept import Asking
from agentctl.engines.local.events.endings import End
from agentctl.errors import Interrupted

K = TypeVar("K")
Waiter: TypeAlias = asyncio.Future[End]


class Waiters:
    """The waiters of one agent; who gives up is forgotten."""

    def __init__(self) -> None:
        self._ends: dict[int, list[Waiter]] = {}
        self._answers: dict[Asking, list[Waiter]] = {}

    def wait_for(self, number: int) -> Waiter:
        """A future of an open event's end, or of the bug that it is stuck at."""
        return _one_more(self._ends, number)

    def wait_for_answer(self, asking: Asking) -> Waiter:
        """A future of the answer to a question; that the event is stuck is none."""
        return _one_more(self._answers, asking)

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

    def _all(self) -> Iterator[Waiter]:
        for waiting in (*list(self._ends.values()), *list(self._answers.values())):
            yield from waiting


def stopped(agent: str) -> Interrupted:
    """What who waits is told when an agent's program stops."""
    return Interrupted(
        f"{agent}: the program stopped before the outcome was known",
        hint="the event is on record and runs on with the next start",
    )


def _one_more(all_waiting: dict[K, list[Waiter]], what: K) -> Waiter:
    waiter: Waiter = asyncio.get_running_loop().create_future()
    all_waiting.setdefault(what, []).append(waiter)

    def forget(_: Waiter) -> None:
        waiting = all_waiting.get(what)
        if waiting is not None and waiter in waiting:
            waiting.remove(waiter)
            if not waiting:
                del all_waiting[what]

    waiter.add_done_callback(forget)
    return waiter
