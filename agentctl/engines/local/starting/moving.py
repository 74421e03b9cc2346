"""Moving events into `set-aside` and out of it, so that a crash anywhere can be finished (R10).

The journal decides. Lines of the file whose event has no `aside` record are what a crash left of
a move or a requeue: they go. An `aside` record whose lines a person took out is closed by a
`drop`. A file that a person broke is left as it is: it stops no start, and takes new lines.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentctl.core.audit import audit_lines, is_audited
from agentctl.core.event_history import EventHistory
from agentctl.core.history import JournalHistory
from agentctl.core.keys import number_of
from agentctl.core.set_aside import aside_record, parse, plain_lines, render
from agentctl.errors import SetAsideDamaged
from agentctl.record_moves import AsideRecord, DropRecord, RequeuedRecord
from agentctl.records import EventRecord, Record, encode
from agentctl.storage.port import Store

TAKEN_OUT = "its lines were taken out of set-aside"


def reconcile(
    store: Store, history: JournalHistory, moved: Sequence[EventHistory], now_us: int
) -> tuple[list[AsideRecord | DropRecord], SetAsideDamaged | None]:
    """Bring `set-aside` in line with the journal, and move events into it.

    Returns:
        The records that commit it, to be put on record after the rewrite, and what is wrong with
        the file, if it can't be read.
    """
    new = [line for event in moved for line in plain_lines(event)]
    records: list[AsideRecord | DropRecord] = [aside_record(event, now_us) for event in moved]
    content = store.read_set_aside()
    try:
        there = {one.number: one for one in parse(content, f"{store.path}/set-aside")}
    except SetAsideDamaged as error:
        if new:
            store.write_set_aside(content.rstrip(b"\n") + b"\n" + b"".join(_ended(new)))
        return records, error
    kept = [one for number, one in there.items() if number in history.asides]
    if new or len(kept) != len(there):
        # Crash here: the old file or the new; the journal decides either way.
        store.write_set_aside(render(kept) + b"".join(_ended(new)))
    gone = sorted(history.asides.keys() - there.keys())
    return [
        *records,
        *(DropRecord(number, TAKEN_OUT, history.asides[number].of, at=now_us) for number in gone),
    ], None


def _ended(lines: Sequence[bytes]) -> list[bytes]:
    return [line + b"\n" for line in lines]


def commit(
    store: Store, agent: str, records: Sequence[Record], history: JournalHistory, *, audit: bool
) -> None:
    """Make moves count: on record, durable, then audited."""
    if not records:
        return
    # Crash here: the lines are in `set-aside`, and the journal doesn't say so: the next start
    # takes them out, and moves the event again.
    store.append([encode(record) for record in records])
    store.sync()
    # Crash here: durable; the next start writes the audit lines.
    if audit:
        store.audit_append(audit_of(agent, records, history))


def audit_of(agent: str, records: Sequence[Record], history: JournalHistory) -> list[str]:
    """The audit lines of a batch; what a requeue puts back was audited when it first happened."""
    back = {r.requeued for r in records if isinstance(r, RequeuedRecord) and r.fresh is None}
    return [
        line
        for one in records
        if is_audited(one) and (number_of(one) not in back or isinstance(one, RequeuedRecord))
        for line in audit_lines(agent, one, _accepted(history, number_of(one)))
    ]


def _accepted(history: JournalHistory, number: int) -> EventRecord | None:
    event = history.open.get(number) or history.kept.events.get(number)
    return None if event is None else event.accepted
