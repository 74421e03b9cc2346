"""The folders of one program: making their stores, and locking them all or none (R11).

Invariant: locks are taken in sorted order, and while another program holds one of them the event
loop goes on: a program that embeds agents has other work. Never reads a journal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from msgspec import structs

from agentctl.engines.local.control import place_of
from agentctl.engines.local.events.timers import Timers
from agentctl.engines.local.options import EngineOptions
from agentctl.engines.local.running.binding import Binding
from agentctl.errors import DiskTrouble, Locked
from agentctl.storage.files.folder import FilesStore
from agentctl.storage.files.holding import this_program
from agentctl.storage.port import Holder, Store
from agentctl.storage.volatile import VolatileStore
from agentctl.times import Clock, SystemClock

_POLL_S: Final = 0.05


async def lock_all(
    bindings: Mapping[str, Binding[Any]], options: EngineOptions, timers: Timers
) -> dict[str, Store]:
    """Make and lock every agent's store.

    Raises:
        Locked: another program holds one of the folders; none is held then.
    """
    taken: dict[str, Store] = {}
    clock = options.clock or SystemClock()
    waiting = _Waiting(this_program(options.command, clock), options.lock_wait_s, clock, timers)
    try:
        for name in sorted(bindings):
            store = _store(bindings[name], options)
            await waiting.lock(store)
            taken[name] = store
    except BaseException:
        for store in taken.values():
            store.close()
        raise
    return taken


def _store(binding: Binding[Any], options: EngineOptions) -> Store:
    root, settings, name = options.root, binding.settings, binding.spec.name
    make = options.stores or FilesStore
    if settings.journal:
        return make(root, name)
    beside = make(root, name) if settings.audit else None
    return VolatileStore(f"{root}/agents/{name}", beside)


class _Waiting:
    """Who asks for locks, and how long at most for each."""

    def __init__(self, holder: Holder, wait_s: float, clock: Clock, timers: Timers) -> None:
        self._holder = holder
        self._wait_s = wait_s
        self._clock = clock
        self._timers = timers

    async def lock(self, store: Store) -> None:
        """Lock one folder, as soon as it is free."""
        holder = _named(self._holder, store)
        give_up_s = self._clock.monotonic_s() + self._wait_s
        while (left_s := give_up_s - self._clock.monotonic_s()) > 0:
            try:
                store.lock(holder, 0.0)
            except Locked:
                over = asyncio.Event()
                self._timers.arm(min(_POLL_S, left_s), over.set)
                await over.wait()
            else:
                return
        store.lock(holder, 0.0, waited_s=self._wait_s)


def _named(holder: Holder, store: Store) -> Holder:
    """The note of a lock, which names the control socket where that doesn't lie in the folder."""
    if store.path_on_disk is None:
        return holder
    try:
        return structs.replace(holder, control=place_of(store.path_on_disk).named)
    except DiskTrouble:
        return holder  # whoever serves it says so
