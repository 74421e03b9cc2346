"""Group commit: who waits for durability shares one sync (R2).

Records go to the operating system at once, in the order of `append`. A sync is asked for by
`when_durable`, or by `soon` within ten milliseconds; whatever was appended before it begins is
durable when it ends. With one event at work the sync runs where it stands, which is quicker;
with several it runs in a thread, so that their calls go on meanwhile.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeAlias

from agentctl.engines.local.running.compacting import Compacting
from agentctl.storage.port import Store

Callback: TypeAlias = Callable[[], None]

SOON_S: Final = 0.008
"""A result is durable within 10 ms (R2); this leaves the sync itself its share."""


class Committer:
    """The writer of one agent's journal and audit log."""

    def __init__(
        self, store: Store, guard: Callable[..., None], *, alone: Callable[[], bool], audit: bool
    ) -> None:
        self._store = store
        self._guard = guard
        self._alone = alone
        self._audits = audit
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[int, Callback]] = deque()
        self._audit: deque[tuple[int, Sequence[str]]] = deque()
        self._written = 0
        self._durable = 0
        self._writing = False
        self._interjected: bytes | None = None
        self._syncing = False
        self._scheduled: asyncio.Handle | None = None
        self._soon: asyncio.TimerHandle | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._compacting: Compacting | None = None
        self._exchange: Callback | None = None

    def keep_short(self, compacting: Compacting) -> None:
        """Let the journal be written anew while it grows (R23)."""
        self._compacting = compacting
        compacting.exchange = self.exchange

    def append(self, bodies: Sequence[bytes], audit: Sequence[str] = ()) -> None:
        """Put records on record; their audit lines follow once they are durable (R15)."""
        # Crash here: before the write, nothing happened; after it, a kill loses nothing, and a
        # power cut loses what nobody was told of.
        self._writing = True
        try:
            self._written = self._store.append(bodies)
        finally:
            self._writing = False
        if audit and self._audits:
            self._audit.append((self._written, audit))
        if self._interjected is not None:
            self._append_interjected()

    def _append_interjected(self) -> None:
        if (body := self._interjected) is not None:
            self._interjected = None
            self.append([body])

    def interject(self, body: bytes) -> None:
        """Put a record on record from a signal's handler, which may run in the middle of a write.

        Then it follows that write: a record never stands inside of a batch.
        """
        if self._writing:
            self._interjected = body
        else:
            self.append([body])

    def when_durable(self, callback: Callback, *, now: bool = False) -> None:
        """Run `callback` on the loop once everything appended so far is durable.

        Args:
            now: if one event is at work alone, sync right here: nothing else would share it.
        """
        self._waiting.append((self._written, callback))
        if self._scheduled is not None or self._syncing:
            return
        if now and self._alone():
            self._sync(alone=True)
        else:
            self._scheduled = self._loop.call_soon(self._guard, self._sync)

    def exchange(self, exchange: Callback) -> None:
        """Let the journal's file be exchanged between two syncs, and sync then."""
        self._exchange = exchange
        if not self._syncing:
            self._carry_out()

    def _carry_out(self) -> None:
        exchange, self._exchange = self._exchange, None
        if exchange is None:
            return
        self._writing = True
        try:
            exchange()
        finally:
            self._writing = False
        self._append_interjected()
        if self._store.threaded_sync:
            self._sync_in_thread()  # also with one event at work: the name is synced, too
        else:
            self._synced(self._store.sync())

    def soon(self) -> None:
        """See to it that what was appended is durable within 10 ms."""
        if self._scheduled is None and self._soon is None and not self._syncing:
            self._soon = self._loop.call_later(SOON_S, self._guard, self._sync)

    def settle(self) -> None:
        """Make everything on record durable before this returns; blocks.

        Whoever waits for it is told in its own turn.
        """
        self._join()  # what a thread is syncing comes first
        self._durable = max(self._durable, self._store.sync())

    def _sync(self, *, alone: bool = False) -> None:
        self._scheduled = None
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None
        if self._syncing:
            return
        if self._durable >= self._written:
            self._synced(self._store.sync())  # which only looks whether it is still there
        elif alone or self._alone() or not self._store.threaded_sync:
            self._synced(self._store.sync())
        else:
            self._sync_in_thread()

    def _sync_in_thread(self) -> None:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="agentctl-sync")
        self._syncing = True
        future = self._thread.submit(self._store.sync)
        future.add_done_callback(
            lambda done: self._loop.call_soon_threadsafe(
                self._guard, lambda: self._thread_synced(done.result)
            )
        )

    def _thread_synced(self, result: Callable[[], int]) -> None:
        self._syncing = False
        self._synced(result())

    def _synced(self, durable: int) -> None:
        # Crash here: durable, and nobody was told yet; the next start finds it all.
        self._durable = max(self._durable, durable)
        self._write_audit()
        if self._compacting is not None:
            self._compacting.look(self._durable)
        waiting = self._waiting
        while waiting and waiting[0][0] <= self._durable:
            waiting.popleft()[1]()
        if waiting and self._scheduled is None:
            self._scheduled = self._loop.call_soon(self._guard, self._sync)
        elif self._durable < self._written:
            self.soon()  # what came while a thread was syncing
        if not self._syncing:
            self._carry_out()

    def _write_audit(self) -> None:
        lines: list[str] = []
        while self._audit and self._audit[0][0] <= self._durable:
            lines += self._audit.popleft()[1]
        if lines:
            self._store.audit_append(lines)

    def finish(self) -> None:
        """Sync what is left, tell whoever waits, and let the thread go; blocks."""
        for handle in (self._scheduled, self._soon):
            if handle is not None:
                handle.cancel()
        self._scheduled = self._soon = self._exchange = None
        if self._compacting is not None:
            self._compacting.close()
        self._join()
        self._syncing = False
        self._synced(self._store.sync() if self._durable < self._written else self._durable)

    def abandon(self) -> None:
        """Let the threads go without syncing: the disk failed, or the program is dying."""
        self._exchange = None
        if self._compacting is not None:
            self._compacting.abandon()
        self._join()

    def _join(self) -> None:
        if self._thread is not None:
            self._thread.shutdown(wait=True)
            self._thread = None
