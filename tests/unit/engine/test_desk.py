"""Reading an agent's folder: never wrong data, whatever lies there."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from agentctl.engines.local.desk import FilesDesk
from agentctl.errors import DiskTrouble, JournalDamaged
from agentctl.storage.files.disk import Opening
from agentctl.storage.files.folder import FilesStore
from agentctl.storage.memory import MemoryDisk
from agentctl.storage.port import Holder

HEADER = b'{"journal":1,"agent":"Bot","id":"00000000000000000000000000000000","next":1,"at":1}'
OLD = b'{"state":{"count":1}}'
NEW = b'{"state":{"count":2}}'


def _written(root: Path, *groups: list[bytes]) -> Path:
    """A journal in which each group was synced before the next was written."""
    store = FilesStore(root, "Bot")
    store.lock(Holder(1, "here", "test", "2026-01-01T00:00:00Z"), 0.0)
    store.rewrite([], marked=False)
    for bodies in groups:
        store.append(bodies)
        store.sync()
    store.close()
    return Path(store.path) / "journal"


def test_the_state_of_a_damaged_journal_is_refused_with_the_line(tmp_path: Path) -> None:
    journal = _written(tmp_path, [HEADER], [OLD], [NEW], [NEW])
    assert {bytes(one) for one in FilesDesk(tmp_path).states("Bot").values()} == {b'{"count":2}'}
    journal.write_bytes(journal.read_bytes().replace(b'"count":1', b'"count":7'))
    with pytest.raises(JournalDamaged, match=r"journal, line 2: ") as caught:
        FilesDesk(tmp_path).states("Bot")
    assert caught.value.line == 2
    assert caught.value.exit_code == 6


def test_the_state_of_a_journal_whose_end_was_cut_off_is_what_counts(tmp_path: Path) -> None:
    journal = _written(tmp_path, [HEADER], [OLD], [NEW])
    journal.write_bytes(journal.read_bytes()[:-9])
    assert {bytes(one) for one in FilesDesk(tmp_path).states("Bot").values()} == {b'{"count":1}'}


def test_a_journal_is_shown_line_by_line_with_its_marks_and_as_it_stands(tmp_path: Path) -> None:
    store = FilesStore(tmp_path, "Bot")
    store.lock(Holder(1, "here", "test", "2026-01-01T00:00:00Z"), 0.0)
    store.rewrite([HEADER, OLD])
    store.close()
    journal = Path(store.path) / "journal"
    view = FilesDesk(tmp_path).journal("Bot")
    lines = list(view.lines)
    assert [line.number for line in lines] == [1, 2, 3]
    assert [line.body for line in lines[:2]] == [HEADER, OLD]
    assert lines[2].body == b'{"synced":%d}' % journal.read_bytes().rindex(b'{"synced"')
    assert b"".join(line.body + b"\n" for line in view.texts) == journal.read_bytes()


def test_what_is_shown_of_a_journal_is_one_journal_even_if_it_is_replaced(tmp_path: Path) -> None:
    journal = _written(tmp_path, [HEADER], [OLD])
    before = journal.read_bytes()
    view = FilesDesk(tmp_path).journal("Bot")
    (tmp_path / "other").write_bytes(b"another journal\n")
    (tmp_path / "other").replace(journal)
    assert b"".join(line.body + b"\n" for line in view.texts) == before
    assert [line.body for line in view.lines] == [HEADER, OLD]


class _Unreadable(MemoryDisk):
    def open(self, path: str, opening: Opening) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    def list_folder(self, path: str) -> Sequence[str]:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)


@pytest.mark.parametrize(
    ("what", "name"),
    [
        (lambda desk: desk.agents(), "agents"),
        (lambda desk: desk.journal("Bot"), "journal"),
        (lambda desk: desk.audit("Bot"), "audit.log"),
        (lambda desk: desk.set_aside("Bot"), "set-aside"),
        (lambda desk: desk.set_aside_text("Bot"), "set-aside"),
        (lambda desk: desk.states("Bot"), "journal"),
    ],
    ids=["agents", "journal", "audit", "set_aside", "set_aside_text", "states"],
)
def test_what_cannot_be_read_is_said_with_path_and_reason(
    what: Callable[[FilesDesk], object], name: str
) -> None:
    desk = FilesDesk(Path("/memory"), disk=_Unreadable())
    with pytest.raises(DiskTrouble, match=f"{name} can't be read: Permission denied"):
        what(desk)


def test_an_agent_without_a_folder_has_nothing() -> None:
    desk = FilesDesk(Path("/memory"), disk=MemoryDisk())
    assert list(desk.agents()) == []
    assert list(desk.audit("Bot")) == list(desk.set_aside("Bot")) == []
    assert list(desk.journal("Bot").lines) == list(desk.journal("Bot").texts) == []
    assert desk.states("Bot") == {}
