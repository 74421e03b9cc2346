"""What can be told of an agent at a glance: who holds its folder, how many events stand where.

Invariant: takes no lock and changes nothing; a damaged journal counts as far as it can be trusted.
Loads little: a health probe asks this every few seconds.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from agentctl.core.tally import Tally
from agentctl.engines.changes import State
from agentctl.engines.local.control import SOCKET
from agentctl.engines.views import MANY_RECORDS, CountView, HolderView, Inside, LockView
from agentctl.names import Address, Identity, format_call_key, format_instance
from agentctl.storage.files.disk import Disk
from agentctl.storage.files.holding import holder_of, read_lock
from agentctl.storage.files.lock import NAME, read_note
from agentctl.storage.files.reading import ReadJournal, read_journal
from agentctl.storage.port import Holder

_LOOK_S: Final = 1.0


def holder(folder: str, disk: Disk) -> HolderView | None:
    """Tell which program holds an agent's folder."""
    found = holder_of(folder, disk) or _listening(folder, disk)
    return None if found is None else _seen(found)


def _listening(folder: str, disk: Disk) -> Holder | None:
    """The program in the note, if it listens: a lock of another machine's isn't listed here."""
    if disk.kind(f"{folder}/{SOCKET}") is None:
        return None
    from agentctl.engines.local.control import is_served

    return read_lock(folder, disk)[0] if is_served(folder) else None


def lock(agent: str, folder: str, disk: Disk) -> LockView:
    """Read the lock's note, and whether a program holds the lock."""
    note, held = read_lock(folder, disk)
    held = held or _listening(folder, disk) is not None
    return LockView(agent, f"{folder}/{NAME}", None if note is None else _seen(note), held)


def inside(folder: str, disk: Disk) -> Inside | None:
    """Look into the program that holds a folder; None if none does, or it doesn't answer."""
    if disk.kind(f"{folder}/{SOCKET}") is None and not read_note(disk, f"{folder}/{NAME}").control:
        return None
    from agentctl.engines.local.control import Control, ControlGone
    from agentctl.engines.local.control.wire import Nothing

    try:
        with Control.connect(folder) as control:
            return control.call("look", Nothing(), Inside, _LOOK_S)
    except (ControlGone, TimeoutError):
        return None  # it is just starting or ending, or a handler blocks it


def _seen(found: Holder) -> HolderView:
    return HolderView(found.pid, found.host, found.command, found.since)


def count(agent: str, folder: str, disk: Disk, *, now_us: int) -> CountView:
    """Count where an agent's events stand.

    Raises:
        FormatTooNew: a later version wrote the journal.
    """
    holds = holder(folder, disk)
    with nothing_collected():
        read = read_journal(f"{folder}/journal", disk)
        tally, damaged = _tally(agent, read)
        seen = None if holds is None else inside(folder, disk)
        unable = () if seen is None else seen.unable
        words = tally.words(held=holds is not None, now_us=now_us, unable=unable)
        longest = tally.waits_longest(unable=unable)
        times, firing = list(tally.times()), list(tally.schedule_times())
    return CountView(
        agent,
        holds,
        {State(word): number for word, number in words.items()},
        len(tally.asides),
        min((due for due in times if due > now_us), default=None),
        _late_us(times, now_us),
        read.size,
        [Address(agent, of, number) for of, number in tally.longer_than(MANY_RECORDS)],
        damaged,
        seen,
        [Address(agent, of, number) for of, number in tally.cancelling()],
        len(firing),
        _late_us(firing, now_us),
        0 if longest is None else max(0, now_us - longest[0]),
        None if longest is None else _call_key(agent, *longest[1:]),
    )


def _call_key(agent: str, of: Identity, number: int, path: str) -> str:
    return format_call_key(format_instance(agent, of), number, path)


def _late_us(times: Iterable[int], now_us: int) -> int:
    """How long the earliest of these has passed; 0 if none has."""
    return max(0, now_us - min(times, default=now_us))


def _tally(agent: str, read: ReadJournal) -> tuple[Tally, tuple[int, str] | None]:
    """What is counted, as far as it can be trusted, and what stops it there."""
    tally = Tally()
    fold, lines = tally.fold, 0
    try:
        for text in read.trusted_texts():
            lines += 1
            fold(text)
        if tally.agent not in (None, agent):
            raise ValueError(f"the journal is the agent {tally.agent}'s, not {agent}'s")
    except ValueError as error:
        return tally, (lines, str(error))
    if tally.kept and tally.records <= tally.kept and read.damaged is None:
        reason = f"the header says that {tally.kept} records follow, and {tally.records - 1} do"
        return tally, (lines + 1, reason)
    return tally, read.damaged


@contextmanager
def nothing_collected() -> Iterator[None]:
    """Nothing that is read is garbage, and looking for some takes as long as reading."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
