"""What a rewrite of the journal keeps of what is over: an instance's state, a key's outcome."""

from __future__ import annotations

from msgspec import UNSET, Raw, UnsetType

from agentctl.record_base import RecordBase


class StateRecord(RecordBase, frozen=True):
    """An instance's committed state, as compaction keeps it."""

    state: Raw
    of: tuple[str, ...] = ()
    version: int = 1


class OutcomeRecord(RecordBase, frozen=True):
    """How a keyed event ended, as compaction keeps it (R17); `once`: it is a workflow's run."""

    outcome: int
    handler: str
    key: str
    status: str
    of: tuple[str, ...] = ()
    digest: str | None = None
    value: Raw | UnsetType = UNSET
    type: str | None = None
    args: Raw | UnsetType = UNSET
    text: str | None = None
    once: bool = False
    at: int = 0
