"""Compacting: a running program writes its journal anew once most of it is of no more use (R23).

The work is done in slices between the turns of the program's loop, each in proportion to what was
appended in the turn before, and the syncs in a thread; so neither writers nor other events wait
for it, however long the journal is. Where the
disk fails, or the journal turns out damaged, nothing goes on, as everywhere (R13, R14). Until the
exchange the old journal is as good as ever: at a stop it is given up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from typing import Final, Protocol, TypeAlias, TypeVar

import msgspec

from agentctl.core.compaction import Keeping, carried_over
from agentctl.core.history import JournalHistory
from agentctl.engines.local.running.folding import check_whole, fold_some
from agentctl.records import encode
from agentctl.sdk.settings import AgentSettings
from agentctl.storage.port import Anew, Line, Store
from agentctl.times import to_us

SLICE: Final = 1 << 15
"""So many bytes of records are read or written in one turn of the loop, at least."""

_FASTER: Final = 6
"""So many times as many as the journal grew by in the turn before: else it would win the race."""

BUSY: Final = 8
"""With more events at work than so it waits: to read a journal anew takes their time."""

PATIENCE: Final = 16
"""It waits no longer than until the journal is so many times as long as it may be."""

_RECORD: Final = 96
"""What reading a record costs, beside its length, in bytes that would take as long."""

_SHORT: Final = 1 << 15
"""So little may be left for the exchange to copy."""

Job: TypeAlias = Callable[[], None]

_Item = TypeVar("_Item")


class Program(Protocol):
    """What compacting needs of its program."""

    @property
    def is_ending(self) -> bool:
        """Whether nothing new begins any more."""
        ...

    @property
    def compacts_at(self) -> int:
        """How long a journal must be, in bytes."""
        ...

    @property
    def at_work(self) -> Callable[[], int]:
        """How many events execute or may begin."""
        ...

    def now_us(self, not_before_us: int = 0) -> int:
        """The wall clock, never before what is on record already."""
        ...

    def soon(self, callback: Job) -> None:
        """Run `callback` next on the program's loop."""
        ...

    def soon_from_thread(self, callback: Job) -> None:
        """The same, asked for by another thread."""
        ...


class Compacting:
    """Keeps one agent's journal short, while it grows.

    Attributes:
        exchange: carries out the exchange of the files as soon as no sync is under way, and syncs.
    """

    def __init__(self, agent: str, store: Store, program: Program, settings: AgentSettings) -> None:
        self._agent = agent
        self._store = store
        self._program = program
        self._settings = settings
        self.exchange: Callable[[Job], None]
        self._steps: Iterator[Job | None] | None = None
        self._anew: Anew | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._limit: int | None = None
        self._seen = 0

    def look(self, durable: int) -> None:
        """See whether the journal has grown enough to be written anew.

        Args:
            durable: up to which place it is durable, with every audit line of it written.
        """
        if self._steps is not None:
            return
        size = self._store.size
        if self._limit is None:  # it was written anew just now
            # By doubling, what is carried over is read again only as often as as much was added.
            self._limit = max(self._program.compacts_at, 2 * size)
        waits = self._program.at_work() > BUSY and size < PATIENCE * self._limit
        if size > self._limit and durable > 0 and not waits and not self._program.is_ending:
            self._seen = size
            self._steps = self._compact(durable)
            self._program.soon(self._step)

    def close(self) -> None:
        """Give up what is under way, and remove it; waits for a sync of it in a thread."""
        anew = self._anew
        self.abandon()
        if anew is not None:
            anew.remove()

    def abandon(self) -> None:
        """Give up what is under way, and leave it where it is."""
        self._steps = None
        if self._thread is not None:
            self._thread.shutdown(wait=True)
            self._thread = None
        if self._anew is not None:
            self._anew.close()
            self._anew = None

    def _step(self) -> None:
        """Do the next slice."""
        if self._steps is None:
            return
        if self._program.is_ending:
            self.close()
            return
        try:
            job = next(self._steps)
        except StopIteration:
            return
        if job is None:
            self._program.soon(self._step)
        elif not self._store.threaded_sync:
            job()
            self._program.soon(self._step)
        else:
            if self._thread is None:
                self._thread = ThreadPoolExecutor(1, thread_name_prefix="agentctl-compact")
            self._thread.submit(job).add_done_callback(self._job_done)

    def _job_done(self, future: Future[None]) -> None:
        def go_on() -> None:
            future.result()
            self._step()

        self._program.soon_from_thread(go_on)

    def _compact(self, durable: int) -> Iterator[Job | None]:
        """Write the journal anew; yields between two slices, or a job for a thread."""
        anew = self._anew = self._store.anew(durable)
        history = JournalHistory(keep=self._settings.keep)
        path = f"{self._store.path}/journal"
        lines = anew.lines()
        # Crash here, and up to the exchange: the old journal is whole, and goes on.
        while part := _slice(lines, _length, self._share()):
            fold_some(history, self._agent, path, part)
            yield None
        check_whole(history, self._agent, path)
        bodies: list[bytes] = []
        now_us = self._program.now_us(history.latest_us)
        kept = carried_over(history, now_us, self._keeping())
        while more := _slice(kept, len, self._share()):
            bodies += more
            yield None
        if 2 * sum(map(len, bodies)) > anew.end:
            self._limit = 2 * self._store.size  # most of it is of use
            self.close()
            return
        rest = chain((self._header(history, anew, len(bodies), now_us),), bodies)
        while more := _slice(rest, len, self._share()):
            anew.write(more)
            yield None
        yield self._sync(anew)
        left = anew.copy()
        while left > _SHORT:
            yield None
            before, left = left, anew.copy()
            if left > before - _SHORT:
                break  # it grows as fast as it is copied
        self.exchange(self._take_over)

    def _share(self) -> int:
        """How much is done in this turn, in bytes of records."""
        grown, self._seen = self._store.size - self._seen, self._store.size
        return max(SLICE, _FASTER * grown)

    def _keeping(self) -> Keeping:
        # Failed events that are too old go at the next start: a retry of one may be under way,
        # and what it puts on record must find the event.
        return Keeping(retention_us=to_us(self._settings.retention))

    def _header(self, history: JournalHistory, anew: Anew, kept: int, now_us: int) -> bytes:
        old = history.header
        assert old is not None
        return encode(
            msgspec.structs.replace(
                old,
                next=history.next_event,
                kept=kept,
                open=len(history.open),
                start=False,
                audit=self._settings.audit,
                cut=None,
                keep=history.kept.keep,
                since=anew.end,
                since_crc=anew.crc,
                at=now_us,
            )
        )

    def _sync(self, anew: Anew) -> Job:
        def sync() -> None:
            anew.sync()
            # The records that go are where the log's lines would be made from (R15).
            self._store.audit_sync()

        return sync

    def _take_over(self) -> None:
        if self._anew is None or self._program.is_ending:
            return
        self._anew.take_over()
        self._anew = self._steps = self._limit = None
        if self._thread is not None:
            self._thread.shutdown(wait=False)
            self._thread = None


def _slice(items: Iterator[_Item], length: Callable[[_Item], int], share: int) -> list[_Item]:
    """As many as make up a turn's share; at least one, while there are any."""
    taken, cost = [], 0
    for item in items:
        taken.append(item)
        cost += _RECORD + length(item)
        if cost >= share:
            break
    return taken


def _length(line: Line) -> int:
    return len(line.body)
