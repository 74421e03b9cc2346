"""What a start does before anything runs (R3, R10, R13 to R15).

Read every agent's journal, decide across all agents of the program who is set aside and who takes
turns, finish what was left half done in `set-aside`, complete the audit log, and rewrite each
journal: after a crash the page cache may show what the disk doesn't have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentctl.core.audit import audit_lines
from agentctl.core.compaction import compacted
from agentctl.core.history import EventHistory, JournalHistory
from agentctl.core.set_aside import (
    SetAsideEvent,
    aside_record,
    parse,
    plain_lines,
    render,
)
from agentctl.errors import FormatTooNew, JournalDamaged
from agentctl.records import FORMAT, Header, Record, decode_line, encode, kind_of
from agentctl.storage.port import Scan, Store


@dataclass(frozen=True)
class Opened:
    """One agent's journal as read.

    Attributes:
        cut: what was wrong with a tail that doesn't count.
    """

    store: Store
    history: JournalHistory
    cut: str | None


def read(agent: str, store: Store) -> Opened:
    """Read an agent's journal; changes nothing.

    Raises:
        JournalDamaged: a record is broken, or can't follow what stands before it.
        FormatTooNew: a later version wrote it.
    """
    scan = store.scan()
    history = fold(agent, f"{store.path}/journal", scan)
    return Opened(store, history, scan.cut)


def fold(agent: str, path: str, scan: Scan) -> JournalHistory:
    """Fold the lines of a journal, checking each against what stands before it."""
    history = JournalHistory()
    for line in scan.lines:
        record = decode_line(line.body, path=path, line=line.number)
        try:
            if isinstance(record, Header):
                _check_header(record, agent, path)
            history.fold(kind_of(line.body), record, line.body)
        except ValueError as error:
            raise JournalDamaged(
                f"{path}, line {line.number}: {error}",
                path=path,
                line=line.number,
                reason=str(error),
                hint=f"read what is there with: agentctl inspect journal {agent}",
            ) from None
    return history


def _check_header(header: Header, agent: str, path: str) -> None:
    if header.journal > FORMAT:
        raise FormatTooNew(
            f"{path} has the format {header.journal}, and this version reads {FORMAT}",
            hint="use the version of agentctl that wrote it, or a later one",
        )
    if header.agent != agent:
        raise ValueError(f"the journal is the agent {header.agent}'s, not {agent}'s")


def complete_audit(opened: Opened) -> None:
    """Write the audit lines that a crash kept from being written (R15), and sync the log."""
    lines = opened.history.audit
    if lines:
        tail = list(opened.store.audit_tail(len(lines)))
        opened.store.audit_append(lines[_written(lines, tail) :])
        opened.store.audit_sync()


def _written(lines: Sequence[str], tail: list[str]) -> int:
    """How many of `lines` the log has already: the most that its tail ends with."""
    if not tail:
        return 0
    for count in range(len(lines), 0, -1):
        if lines[count - 1] == tail[-1] and tail[-count:] == list(lines[:count]):
            return count
    return 0


def reconcile_set_aside(opened: Opened, moved: Sequence[EventHistory], now_us: int) -> list[Record]:
    """Bring `set-aside` in line with the journal, and move events into it.

    Returns:
        The `aside` records that commit the move, to be put on record after the rewrite.
    """
    store, asides = opened.store, opened.history.asides
    content = store.read_set_aside()
    events = {one.number: one for one in parse(content, f"{store.path}/set-aside")}
    # Lines whose event the journal doesn't know as set aside: a move or a requeue was cut off.
    kept = [one for number, one in events.items() if number in asides]
    kept += [_as_event(history) for history in moved]
    wanted = render(kept)
    if wanted != content and (moved or len(kept) != len(events)):
        # Crash here: the old file or the new; the journal decides either way.
        store.write_set_aside(wanted)
    return [aside_record(history, now_us) for history in moved]


def _as_event(history: EventHistory) -> SetAsideEvent:
    lines = plain_lines(history)
    return parse(b"\n".join(lines), "set-aside")[0]


@dataclass(frozen=True)
class Identity:
    """Where a rewritten journal's header comes from."""

    agent: str
    new_id: str
    now_us: int


def rewrite(opened: Opened, identity: Identity, *, leaving: int = 0) -> Header:
    """Write the journal anew: what is still needed, all of it durable (R14).

    Args:
        leaving: events still in it that are about to be set aside.
    """
    history = opened.history
    old = history.header
    header = Header(
        FORMAT,
        identity.agent,
        old.id if old is not None else identity.new_id,
        history.next_event,
        open=len(history.open) - leaving,
        cut=opened.cut,
        at=identity.now_us,
    )
    # Crash here: the old journal is whole until the new one has its name.
    opened.store.rewrite(compacted(history, header))
    return header


def move(store: Store, agent: str, asides: Sequence[Record], *, audit: bool) -> None:
    """Commit what moved to `set-aside`: on record, durable, then audited."""
    if asides:
        store.append([encode(aside) for aside in asides])
        store.sync()
        # Crash here: durable; the next start writes the audit lines.
        if audit:
            audit_moves(store, agent, asides)


def audit_moves(store: Store, agent: str, records: Sequence[Record]) -> None:
    """Audit what moved to `set-aside` or back; a start completes what a crash cuts off."""
    store.audit_append([line for one in records for line in audit_lines(agent, one, None)])


def start_audit(store: Store, agent: str, header: Header, *, audit: bool) -> None:
    """Audit a start, and what it cut off."""
    if audit:
        store.audit_append(audit_lines(agent, header, None))
