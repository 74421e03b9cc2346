"""The JSON documents of a journal, and of a record on a line of its own.

Invariant: as in `documents`.
"""

from __future__ import annotations

from msgspec import Raw, Struct


class Damage(Struct, frozen=True):
    """The first line of a journal that can't be trusted."""

    line: int
    reason: str


class SeenRecord(Struct, frozen=True):
    """One record as a reader sees it; `at`, `event` and `key` are null where it has none."""

    line: int
    at: str | None
    event: str | None
    kind: str
    key: str | None
    record: Raw


class RecordLine(Struct, frozen=True, tag_field="schema", tag="agentctl.record/1"):
    """One record on a line of its own (`--format jsonl`)."""

    agent: str
    line: int
    at: str | None
    event: str | None
    kind: str
    key: str | None
    record: Raw


class SeenJournal(Struct, frozen=True):
    """One agent's journal."""

    agent: str
    path: str
    records: tuple[SeenRecord, ...]
    damaged: Damage | None


class JournalDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.journal/1"):
    """The journals of some agents."""

    agents: tuple[SeenJournal, ...]
