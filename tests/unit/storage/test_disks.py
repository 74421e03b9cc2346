"""The three disks: the real one, the one in memory that forgets, the one that fails on command."""

from __future__ import annotations

import errno
import os

import pytest

from agentctl.storage.faulty import Fault, FaultyDisk, SimulatedDeath
from agentctl.storage.files.disk import SystemDisk
from agentctl.storage.files.folder import FilesStore
from agentctl.storage.memory import MemoryDisk, memory_store
from agentctl.storage.port import Holder

ME = Holder(pid=1, host="here", command="agentctl run", since="2026-11-30T09:14:02.000000Z")


def test_only_the_real_disk_syncs_in_a_thread(tmp_path):
    assert FilesStore(tmp_path, "Bot").threaded_sync is True
    assert memory_store().threaded_sync is False
    assert memory_store(disk=FaultyDisk()).threaded_sync is False


def test_a_pipe_is_neither_file_nor_folder(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert SystemDisk().kind(str(tmp_path / "pipe")) == "other"


def test_a_link_in_the_place_of_a_file_is_not_followed(tmp_path):
    (tmp_path / "secret").write_bytes(b"mine")
    (tmp_path / "journal").symlink_to(tmp_path / "secret")
    with pytest.raises(OSError):
        SystemDisk().open(str(tmp_path / "journal"), "new")
    assert (tmp_path / "secret").read_bytes() == b"mine"


def test_on_macos_a_sync_reaches_the_drive_itself(tmp_path, monkeypatch):
    import fcntl

    asked = []
    monkeypatch.setattr("agentctl.storage.files.disk.sys.platform", "darwin")
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", lambda fd, what: asked.append((fd, what)))
    disk = SystemDisk()
    fd = disk.open(str(tmp_path / "a"), "append")
    disk.sync(fd)
    disk.close(fd)
    assert asked == [(fd, 51)]


def written(disk, data, *, synced):
    fd = disk.open(f"{disk.root}/a", "append")
    disk.write(fd, data)
    if synced:
        disk.sync(fd)
        disk.sync_folder(disk.root)
    return fd


def after_cuts(disk, seeds=200):
    found = set()
    for seed in range(seeds):
        after = disk.after_power_cut(seed)
        found.add(after.read_file(f"{disk.root}/a") if after.kind(f"{disk.root}/a") else None)
    return found


def test_after_a_kill_everything_written_is_there_and_the_lock_is_free():
    disk = MemoryDisk()
    written(disk, b"data", synced=False)
    disk.try_lock(f"{disk.root}/lock")
    after = disk.after_kill()
    assert after.read_file(f"{disk.root}/a") == b"data"
    assert after.try_lock(f"{disk.root}/lock") is not None


def test_a_kill_makes_nothing_durable():
    disk = MemoryDisk()
    written(disk, b"data", synced=False)
    assert None in after_cuts(disk.after_kill())


def test_the_disk_after_a_kill_is_apart_from_the_one_before():
    disk = MemoryDisk()
    fd = written(disk, b"data", synced=True)
    after = disk.after_kill()
    disk.write(fd, b"more")
    assert after.read_file(f"{disk.root}/a") == b"data"


def test_a_power_cut_keeps_what_was_synced():
    disk = MemoryDisk()
    written(disk, b"data", synced=True)
    assert after_cuts(disk) == {b"data"}


def test_a_power_cut_loses_tears_and_reorders_what_was_not_synced():
    disk = MemoryDisk()
    fd = written(disk, b"kept", synced=True)
    disk.write(fd, b"abcdef" * 20)
    found = after_cuts(disk)
    whole = b"kept" + b"abcdef" * 20
    assert all(data.startswith(b"kept") for data in found)
    assert {b"kept", whole} <= found
    assert any(whole.startswith(data) and 4 < len(data) < len(whole) for data in found), "torn"
    assert any(b"\0" in data.rstrip(b"\0") for data in found), "a later part, not an earlier one"


def test_a_power_cut_may_bring_back_what_was_truncated():
    disk = MemoryDisk()
    fd = written(disk, b"abcdef", synced=True)
    disk.truncate(fd, 3)
    assert {b"abc", b"abcdef"} <= after_cuts(disk)
    disk.sync(fd)
    assert after_cuts(disk) == {b"abc"}


def test_a_rename_is_durable_only_with_its_folder():
    disk = MemoryDisk()
    written(disk, b"old", synced=True)
    fd = disk.open(f"{disk.root}/a.new", "new")
    disk.write(fd, b"new")
    disk.sync(fd)
    disk.replace(f"{disk.root}/a.new", f"{disk.root}/a")
    assert after_cuts(disk) == {b"old", b"new"}
    disk.sync_folder(disk.root)
    assert after_cuts(disk) == {b"new"}


def test_the_same_seed_leaves_the_same_disk():
    disk = MemoryDisk()
    fd = written(disk, b"kept", synced=True)
    disk.write(fd, b"abcdef" * 20)
    path = f"{disk.root}/a"
    for seed in range(20):
        first, second = disk.after_power_cut(seed), disk.after_power_cut(seed)
        assert first.read_file(path) == second.read_file(path)


def test_after_a_failed_sync_a_later_one_saves_nothing():
    disk = MemoryDisk()
    faulty = FaultyDisk(disk, Fault(3, "fail", errno.EIO))
    fd = faulty.open(f"{disk.root}/a", "append")
    faulty.write(fd, b"data")
    with pytest.raises(OSError):
        faulty.sync(fd)
    faulty.sync(fd)
    faulty.sync_folder(disk.root)
    assert faulty.after_kill().read_file(f"{disk.root}/a") == b"data"
    assert b"\0\0\0\0" in after_cuts(disk), "the size is kept, the data is not"


def test_looking_at_a_file_that_is_not_there():
    with pytest.raises(FileNotFoundError):
        MemoryDisk().read_file("/memory/no")


def test_a_death_is_nothing_that_except_exception_catches():
    assert not issubclass(SimulatedDeath, Exception)
    faulty = FaultyDisk(None, Fault(1))
    with pytest.raises(SimulatedDeath):
        faulty.make_folder(f"{faulty.root}/f")
    for do in (
        lambda: faulty.kind(faulty.root),
        lambda: faulty.try_lock("/memory/lock"),
        lambda: faulty.list_folder(faulty.root),
        lambda: faulty.open("/memory/a", "append"),
    ):
        with pytest.raises(SimulatedDeath):
            do()
    assert faulty.hit
    assert faulty.log == ["make folder /memory/f"]


def test_a_write_cut_by_death_leaves_its_first_part():
    faulty = FaultyDisk(None, Fault(2, "die", keep=2))
    fd = faulty.open("/memory/a", "append")
    with pytest.raises(SimulatedDeath):
        faulty.write(fd, b"data")
    assert faulty.after_kill().read_file("/memory/a") == b"da"
