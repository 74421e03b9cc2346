"""When the disk fails or the store is misused: what is said, with which path, and what isn't."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from agentctl.errors import DiskTrouble
from agentctl.storage.faulty import Fault, FaultyDisk
from agentctl.storage.files.disk import SystemDisk, disk_trouble
from agentctl.storage.files.folder import FilesStore
from agentctl.storage.files.reading import read_journal
from agentctl.storage.memory import MemoryDisk, memory_store
from agentctl.storage.port import Holder

ME = Holder(pid=1, host="here", command="agentctl run", since="2026-11-30T09:14:02.000000Z")


class Unreadable(MemoryDisk):
    """A disk whose sectors have gone bad."""

    def read_at(self, fd, size, offset):
        raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_files_that_cannot_be_read_are_said_with_path_and_reason():
    disk = Unreadable()
    for name in ("journal", "set-aside", "audit.log"):
        disk.put_file(f"/memory/agents/Bot/{name}", b"x\n")
    store = memory_store(disk=disk)
    store.lock(ME, 0)
    for path, read in (
        ("journal", store.scan),
        ("journal", lambda: read_journal("/memory/agents/Bot/journal", disk)),
        ("set-aside", store.read_set_aside),
    ):
        with pytest.raises(DiskTrouble, match=f"(?m)Bot/{path} can't be read: Input/output error$"):
            read()
    store = memory_store(disk=disk)
    store.close()


def test_an_audit_log_that_cannot_be_read():
    disk = Unreadable()
    disk.put_file("/memory/agents/Bot/audit.log", b"x\n")
    store = memory_store(disk=disk)
    store.lock(ME, 0)
    with pytest.raises(DiskTrouble, match=r"(?m)audit.log can't be read: Input/output error$"):
        store.audit_tail(1)
    store.close()


def test_another_program_may_make_the_folder_first():
    class Raced(MemoryDisk):
        def make_folder(self, path):
            super().make_folder(path)
            raise OSError(errno.EEXIST, os.strerror(errno.EEXIST), path)

    store = memory_store(disk=(disk := Raced()))
    store.lock(ME, 0)
    assert disk.try_lock("/memory/agents/Bot/lock") is None
    store.close()


def test_locks_that_the_platform_lacks_are_said_so():
    class NoLocks(MemoryDisk):
        def try_lock(self, path):
            raise NotImplementedError("fcntl is unavailable")

    with pytest.raises(DiskTrouble, match="fcntl is unavailable"):
        memory_store(disk=NoLocks()).lock(ME, 0)


def test_syncing_after_close_is_a_bug():
    store = memory_store()
    store.lock(ME, 0)
    store.rewrite([], marked=False)
    store.append([b'{"journal":1}'])
    store.close()
    with pytest.raises(AssertionError, match="after close"):
        store.sync()


def test_an_error_without_a_text_still_says_what_it_is():
    assert disk_trouble("can't be read", "/x", OSError()).message == "/x can't be read: OSError"


def test_a_long_wait_is_told_in_minutes():
    from agentctl.errors import Locked

    disk = MemoryDisk()
    memory_store(disk=disk).lock(ME, 0)

    class Hours:
        passed_s = 0.0

        def now_us(self):
            return 0

        def monotonic_s(self):
            self.passed_s += 40
            return self.passed_s

    store = FilesStore(Path(disk.root), "Bot", disk, clock=Hours(), pause=lambda _: None)
    with pytest.raises(Locked, match="waited 1m30s"):
        store.lock(ME, 90)


def test_a_file_whose_folder_never_reached_the_disk_is_gone_with_it():
    disk = MemoryDisk()
    disk.make_folder("/memory/f")
    fd = disk.open("/memory/f/a", "append")
    disk.sync(fd)
    disk.sync_folder("/memory/f")
    kinds = {disk.after_power_cut(seed).kind("/memory/f/a") for seed in range(30)}
    assert kinds == {None, "file"}


def test_an_audit_log_that_cannot_be_synced():
    faulty = FaultyDisk()
    store = memory_store(disk=faulty)
    store.lock(ME, 0)
    store.audit_append(["one"])
    faulty.fault = Fault(faulty.changes + 1, "fail", errno.EIO)
    with pytest.raises(DiskTrouble, match=r"(?m)audit.log can't be synced: Input/output error$"):
        store.audit_sync()
    store.close()


def test_a_journal_that_cannot_be_opened_for_writing():
    faulty = FaultyDisk()
    store = memory_store(disk=faulty)
    store.lock(ME, 0)
    store.scan()
    faulty.fault = Fault(faulty.changes + 1, "fail", errno.EROFS)
    with pytest.raises(DiskTrouble, match="journal can't be rewritten: Read-only"):
        store.rewrite([b'{"journal":1}'])
    store.close()


def test_a_journal_on_the_real_disk_is_read_without_its_lock(tmp_path):
    store = FilesStore(tmp_path, "Bot")
    store.lock(ME, 0)
    store.rewrite([b'{"journal":1}'])
    read = read_journal(f"{store.path}/journal")
    assert [line.body for line in read.lines] == [b'{"journal":1}']
    store.close()


def test_lines_of_a_closed_store_are_gone():
    store = memory_store()
    store.lock(ME, 0)
    store.rewrite([b'{"journal":1}'])
    earlier, lines = store.scan().lines, store.scan().lines
    assert list(earlier) == list(lines) != []
    store.close()
    with pytest.raises(AssertionError, match="a store that is closed"):
        list(lines)


def test_an_audit_log_without_new_lines_is_not_synced_again():
    faulty = FaultyDisk()
    store = memory_store(disk=faulty)
    store.lock(ME, 0)
    store.audit_append(["one"])
    store.audit_sync()
    store.audit_sync()
    assert faulty.log.count("sync /memory/agents/Bot/audit.log") == 1


def test_an_error_of_closing_is_not_told_since_the_sync_has_told_it(tmp_path, monkeypatch):
    disk = SystemDisk()
    fd = disk.open(str(tmp_path / "a"), "append")
    really_close = os.close

    def close(fd):
        really_close(fd)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr("agentctl.storage.files.disk.os.close", close)
    disk.close(fd)
    monkeypatch.undo()
    with pytest.raises(OSError):
        os.fstat(fd)
