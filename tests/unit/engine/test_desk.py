"""Reading an agent's folder: never wrong data, whatever lies there."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentctl.engines.local.desk import FilesDesk
from agentctl.errors import JournalDamaged
from agentctl.storage.files.folder import FilesStore
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
