"""Backs up agents' folders into one archive.

Invariant: what this answers is on disk, whole. Never overwrites anything.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from agentctl.engines.desk import Desk
from agentctl.errors import NotFound


class BackedUpAgent(Struct, frozen=True):
    """One agent's part: how long its files are, and how many records its journal has."""

    agent: str
    bytes: int
    records: int


class BackupDocument(Struct, frozen=True, tag_field="schema", tag="agentctl.backup/1"):
    """An archive that was written."""

    file: str
    agents: tuple[BackedUpAgent, ...]


def backup(desk: Desk, target: Path) -> BackupDocument:
    """Write an archive of every agent that has a folder.

    Raises:
        NotFound: there is none.
        Conflict: the file exists.
        JournalDamaged: a journal is damaged; no archive is written.
        DiskTrouble: something can't be read or written.
    """
    agents = desk.agents()
    if not agents:
        raise NotFound("no agent has a folder: none ever ran here", hint="look at: agentctl run")
    made = desk.backup(agents, target)
    return BackupDocument(
        str(target.absolute()),
        tuple(BackedUpAgent(one.agent, one.bytes, one.records) for one in made),
    )
