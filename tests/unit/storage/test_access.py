"""Who else can get at an agent's files: nobody (R24), also where the folder came from elsewhere."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from agentctl.errors import DiskTrouble, Locked
from agentctl.storage.files.disk import SystemDisk
from agentctl.storage.files.folder import FilesStore
from agentctl.storage.memory import MemoryDisk, memory_store
from agentctl.storage.port import Holder

ME = Holder(pid=1, host="here", command="agentctl run", since="2026-11-30T09:14:02.000000Z")


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture
def restored(tmp_path):
    """A folder as a backup or an archive brings it back: for all to read."""
    folder = tmp_path / "agents" / "Bot"
    folder.mkdir(parents=True)
    for path in (tmp_path / "agents", folder):
        path.chmod(0o755)
    for name in ("journal", "set-aside", "audit.log", "lock", "journal.new"):
        (folder / name).write_bytes(b"")
        (folder / name).chmod(0o644)
    return tmp_path


def lock(root):
    store = FilesStore(root, "Bot")
    store.lock(ME, 0)
    store.close()


def test_r24_what_was_there_with_looser_modes_is_closed_when_a_program_takes_the_lock(restored):
    lock(restored)
    inside = [restored / "agents", *(restored / "agents").rglob("*")]
    assert {str(path.relative_to(restored)): oct(mode_of(path)) for path in inside} == {
        "agents": "0o700",
        "agents/Bot": "0o700",
        **{
            f"agents/Bot/{name}": "0o600"
            for name in ("journal", "set-aside", "audit.log", "lock", "journal.new")
        },
    }


def test_r24_nothing_but_the_agent_s_own_folder_is_changed(restored):
    other = restored / "agents" / "Other"
    other.mkdir()
    linked = restored / "elsewhere"
    linked.write_text("x")
    (restored / "agents" / "Bot" / "link").symlink_to(linked)
    (restored / "agents" / "Bot" / "mine").mkdir()
    for path in (restored, other, restored / "agents" / "Bot" / "mine"):
        path.chmod(0o755)
    linked.chmod(0o644)
    lock(restored)
    assert [mode_of(restored), mode_of(other), mode_of(linked)] == [0o755, 0o755, 0o644]
    assert mode_of(restored / "agents" / "Bot" / "mine") == 0o755


def test_r24_what_its_owner_may_not_do_stays_forbidden(restored):
    (restored / "agents" / "Bot" / "set-aside").chmod(0o444)
    lock(restored)
    assert mode_of(restored / "agents" / "Bot" / "set-aside") == 0o400


def test_r24_who_does_not_get_the_lock_changes_no_mode(restored):
    holding = FilesStore(restored, "Bot")
    holding.lock(ME, 0)
    (restored / "agents" / "Bot" / "journal").chmod(0o644)
    with pytest.raises(Locked):
        lock(restored)
    assert mode_of(restored / "agents" / "Bot" / "journal") == 0o644
    holding.close()


def test_r24_another_user_s_file_is_left_to_its_owner(restored, monkeypatch):
    monkeypatch.setattr("agentctl.storage.files.disk.os.geteuid", lambda: os.getuid() + 1)
    lock(restored)
    assert mode_of(restored / "agents" / "Bot" / "journal") == 0o644


def test_a_file_system_without_modes_can_be_used(restored, monkeypatch):
    asked = []

    def chmod(path, _mode):
        asked.append(path.name)
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(Path, "chmod", chmod)
    SystemDisk().tighten(str(restored / "agents"))
    assert asked == ["agents"]


def test_modes_that_cannot_be_changed_are_said_and_the_lock_is_free_again():
    class Failing(MemoryDisk):
        broken = True

        def tighten(self, path):
            if self.broken:
                raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    disk = Failing()
    with pytest.raises(DiskTrouble, match="Bot can't be kept from others: Input/output error"):
        memory_store(disk=disk).lock(ME, 0)
    disk.broken = False
    memory_store(disk=disk).lock(ME, 0)
