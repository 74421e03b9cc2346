"""What a start does before anything runs (R3, R10, R13 to R15).

Read every agent's journal, decide across all agents of the program who is set aside and who takes
turns, finish what was left half done in `set-aside`, complete the audit log, and rewrite each
journal: after a crash the page cache may show what the disk doesn't have.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentctl.core.audit import audit_lines
from agentctl.core.audit_trail import AuditTrail
from agentctl.core.compaction import KEEP_ALL, Keeping, compacted
from agentctl.core.history import JournalHistory
from agentctl.engines.local.running.folding import check_whole, fold_some
from agentctl.records import FORMAT, Header
from agentctl.storage.port import Scan, Store


@dataclass(frozen=True)
class Opened:
    """One agent's journal as read.

    Attributes:
        trail: the audit lines that the log doesn't have yet.
        cut: what was wrong with a tail that doesn't count.
    """

    store: Store
    history: JournalHistory
    trail: AuditTrail
    cut: str | None


def read(agent: str, store: Store, keep: int | None = None) -> Opened:
    """Read an agent's journal; changes nothing but a torn last line of its audit log.

    Args:
        keep: how many ended events are kept; None: as many as the journal itself says.

    Raises:
        JournalDamaged: a record is broken, or can't follow what stands before it.
        FormatTooNew: a later version wrote it.
    """
    scan = store.scan()
    trail = AuditTrail(next(iter(store.audit_tail(1)), None))
    history = fold_into(JournalHistory(trail, keep=keep), agent, f"{store.path}/journal", scan)
    return Opened(store, history, trail, scan.cut)


def fold_into(history: JournalHistory, agent: str, path: str, scan: Scan) -> JournalHistory:
    """Fold the lines of a journal into a history that knows nothing yet.

    Raises:
        JournalDamaged: a record can't follow what stands before it.
        FormatTooNew: a later version wrote it.
    """
    fold_some(history, agent, path, scan.lines)
    history.end()
    check_whole(history, agent, path)
    return history


def complete_audit(opened: Opened) -> None:
    """Write the audit lines that a crash kept from being written (R15), and sync the log."""
    if opened.trail.missing:
        # A kill leaves records that were never durable, and a power cut now would take them.
        opened.store.settle()
        opened.store.audit_append(opened.trail.missing)
    # In any case: what a killed program wrote may not be durable, and its records now go.
    opened.store.audit_sync()


@dataclass(frozen=True)
class Rewriting:
    """Who writes a journal anew, and why.

    Attributes:
        new_id: the journal's identity, where there is no journal yet.
        start: whether a program starts; else a command changes something.
        audit: whether the agent keeps an audit log.
        leaving: events still in it that are about to be set aside.
        keep: how many ended events are kept, from now on; None: as before.
    """

    agent: str
    new_id: str
    now_us: int
    start: bool
    audit: bool
    leaving: int = 0
    keep: int | None = None
    keeping: Keeping = KEEP_ALL


def rewrite(opened: Opened, by: Rewriting) -> None:
    """Write the journal anew: what is still needed, all of it durable (R14)."""
    history = opened.history
    old = history.header
    header = Header(
        FORMAT,
        by.agent,
        old.id if old is not None else by.new_id,
        history.next_event,
        open=len(history.open) - by.leaving,
        start=by.start,
        audit=by.audit,
        cut=opened.cut,
        keep=history.kept.keep if by.keep is None else by.keep,
        at=by.now_us,
    )
    # Crash here: the old journal is whole until the new one has its name.
    opened.store.rewrite(compacted(history, header, by.keeping), marked=old is not None)
    if by.audit and (lines := audit_lines(by.agent, header, None)):
        opened.store.audit_append(lines)
