"""Backing agents up, also beside a running program: what of a journal and `set-aside` agrees.

A start drops an event that the journal says is set aside and whose lines are gone. So a backup
without those lines would lose it; lines without an `aside` record only go.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agentctl.core.set_aside import parse
from agentctl.core.tally import Tally
from agentctl.engines.views import ArchivedView
from agentctl.errors import SetAsideDamaged
from agentctl.storage.files.archive import write_archive
from agentctl.storage.files.disk import Disk
from agentctl.storage.files.reading import Lines


def backup(root: Path, agents: Sequence[str], target: Path, disk: Disk) -> Sequence[ArchivedView]:
    """Write one archive of these agents' folders.

    Raises:
        Conflict: the file exists.
        JournalDamaged: a journal is damaged; no archive is written.
    """
    made = write_archive(target, root, agents, agrees=_agrees, disk=disk)
    return [ArchivedView(one.agent, one.bytes, one.records) for one in made]


def _agrees(lines: Lines, set_aside: bytes) -> bool:
    tally = Tally()
    for line in lines:
        tally.fold(line.body)
    try:
        return tally.asides <= {event.number for event in parse(set_aside, "set-aside")}
    except SetAsideDamaged:
        return True  # a person is at it; a start leaves it as it is
