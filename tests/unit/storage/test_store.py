"""One agent's folder: names, files, modes, the order of things, set-aside and audit log."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from agentctl.errors import DiskTrouble, UsageError
from agentctl.storage.faulty import Fault, FaultyDisk
from agentctl.storage.files.disk import SystemDisk
from agentctl.storage.files.folder import FilesStore
from agentctl.storage.files.places import agent_folder
from agentctl.storage.memory import MemoryDisk, memory_store
from agentctl.storage.port import Holder, Store

ME = Holder(pid=1, host="here", command="agentctl run", since="2026-11-30T09:14:02.000000Z")
HEADER = b'{"journal":1,"agent":"Bot"}'


@pytest.fixture(params=["files", "memory"])
def place(request, tmp_path):
    """A root and a disk: the real one and the one in memory keep the same promises."""
    if request.param == "files":
        return tmp_path, SystemDisk()
    disk = MemoryDisk()
    return Path(disk.root), disk


@pytest.fixture
def store(place):
    root, disk = place
    store = FilesStore(root, "Bot", disk)
    store.lock(ME, 0)
    yield store
    store.close()


def again(place):
    """The folder as the next program opens it."""
    store = FilesStore(place[0], "Bot", place[1])
    store.lock(ME, 0)
    return store


def test_a_files_store_is_a_store(store):
    port: Store = store
    assert port.path.endswith("/agents/Bot")


def test_a_rewrite_of_more_than_a_batch_reads_back(place, store):
    bodies = [b'{"event":%d,"args":["%s"]}' % (n, b"x" * 100_000) for n in range(25)]
    store.rewrite(iter(bodies))
    assert [line.body for line in store.scan().lines] == bodies


def test_a_rewrite_that_is_given_up_leaves_the_old_journal(store):
    store.rewrite([HEADER])

    def broken():
        yield HEADER
        raise KeyError("a bug in the caller")

    with pytest.raises(KeyError):
        store.rewrite(broken())
    store.append([b'{"event":1}'])
    assert [line.body for line in store.scan().lines] == [HEADER, b'{"event":1}']


def test_appending_before_the_journal_is_open_is_a_bug(store):
    with pytest.raises(AssertionError, match="append before rewrite"):
        store.append([HEADER])


def test_changing_without_the_lock_is_a_bug(place):
    root, disk = place
    unlocked = FilesStore(root, "Bot", disk)
    for change in (
        lambda: unlocked.rewrite([HEADER]),
        lambda: unlocked.write_set_aside(b"x"),
        lambda: unlocked.audit_append(["x"]),
    ):
        with pytest.raises(AssertionError, match="without the folder's lock"):
            change()


def test_reading_a_folder_that_is_not_there_makes_nothing(tmp_path):
    store = FilesStore(tmp_path, "Bot")
    assert store.scan().exists is False
    assert store.read_set_aside() == b""
    store.close()
    assert list(tmp_path.iterdir()) == []


def test_the_set_aside_file_is_replaced_as_a_whole_and_removed_when_empty(place, store):
    assert store.read_set_aside() == b""
    store.write_set_aside(b'{"event":1}\n{"again":1}\n')
    store.write_set_aside(b'{"event":2}\n')
    assert store.read_set_aside() == b'{"event":2}\n'
    store.close()
    after = again(place)
    assert after.read_set_aside() == b'{"event":2}\n'
    after.write_set_aside(b"")
    after.write_set_aside(b"")
    assert after.read_set_aside() == b""
    assert "set-aside" not in place[1].list_folder(after.path)
    after.close()


def test_the_audit_log_gives_its_last_whole_lines(place, store):
    assert store.audit_tail(3) == []
    lines = [f"line {n} with é" for n in range(3000)]
    store.audit_append(lines)
    store.audit_append([])
    assert store.audit_tail(2) == lines[-2:]
    assert store.audit_tail(2500) == lines[-2500:]
    assert store.audit_tail(3000) == store.audit_tail(9999) == lines
    assert store.audit_tail(0) == []
    store.audit_sync()
    store.close()
    after = again(place)
    assert after.audit_tail(1) == lines[-1:]
    after.close()


@pytest.mark.parametrize("lines", [1, 2, 3, 50])
@pytest.mark.parametrize(
    ("content", "whole"),
    [
        (b"one\ntwo\nthr", ["one", "two"]),
        (b"one\ntwo\nt\xc3", ["one", "two"]),
        (b"thr", []),
        (b"", []),
        (b"one\ntwo\n\0\0\0\0", ["one", "two"]),
        (b"one\ntw\0\0\0\0\nfour\n", ["one"]),
        (b"one\n\ntwo\n", ["one", "", "two"]),
    ],
)
def test_an_unfinished_audit_line_is_cut_off_and_the_next_one_is_whole(lines, content, whole):
    disk = MemoryDisk()
    disk.put_file("/memory/agents/Bot/audit.log", content)
    store = memory_store(disk=disk)
    store.lock(ME, 0)
    assert store.audit_tail(lines) == whole[-lines:]
    store.audit_append(["next"])
    expected = "".join(f"{line}\n" for line in [*whole, "next"]).encode()
    assert disk.read_file("/memory/agents/Bot/audit.log") == expected


def test_a_long_audit_log_with_a_torn_tail_is_cut_at_the_right_place():
    disk = MemoryDisk()
    whole = b"".join(b"%07d %s\n" % (n, b"y" * 50) for n in range(5000))
    disk.put_file("/memory/agents/Bot/audit.log", whole + b"torn")
    store = memory_store(disk=disk)
    store.lock(ME, 0)
    assert store.audit_tail(1)[0].startswith("0004999 ")
    assert disk.read_file("/memory/agents/Bot/audit.log") == whole


def test_an_audit_line_of_any_text_is_written():
    store = memory_store(disk=(disk := MemoryDisk()))
    store.lock(ME, 0)
    store.audit_append(["half a pair \ud83d"])
    assert disk.read_file("/memory/agents/Bot/audit.log") == b"half a pair \\ud83d\n"


def test_r24_folders_are_0700_and_files_0600(tmp_path):
    old = os.umask(0)
    try:
        store = FilesStore(tmp_path, "Bot")
        store.lock(ME, 0)
        store.rewrite([HEADER])
        store.write_set_aside(b"x\n")
        store.audit_append(["x"])
        store.close()
    finally:
        os.umask(old)
    modes = {
        str(path.relative_to(tmp_path)): stat.S_IMODE(path.stat().st_mode)
        for path in tmp_path.rglob("*")
    }
    assert modes == {
        "agents": 0o700,
        "agents/Bot": 0o700,
        "agents/Bot/lock": 0o600,
        "agents/Bot/journal": 0o600,
        "agents/Bot/set-aside": 0o600,
        "agents/Bot/audit.log": 0o600,
    }


@pytest.mark.parametrize("name", ["../x", "a/b", "n" * 300, "NUL", "Bücher", "", ".", "a\n"])
def test_p16_a_name_that_could_leave_its_folder_is_refused(tmp_path, name):
    with pytest.raises(UsageError):
        agent_folder(tmp_path, name)
    with pytest.raises(UsageError):
        FilesStore(tmp_path, name)


def test_p16_names_that_differ_only_in_case_are_refused(place):
    root, disk = place
    first = FilesStore(root, "x", disk)
    first.lock(ME, 0)
    second = FilesStore(root, "X", disk)
    with pytest.raises(UsageError, match="differ only in case"):
        second.lock(ME, 0)
    assert disk.list_folder(f"{root}/agents") == ["x"]
    first.close()


@pytest.mark.parametrize("taken", ["agents", "agents/Bot"])
def test_a_file_in_the_place_of_the_folder_is_refused(place, taken):
    root, disk = place
    if isinstance(disk, MemoryDisk):
        disk.put_file(f"{root}/{taken}", b"")
    else:
        (root / taken).parent.mkdir(exist_ok=True)
        (root / taken).write_bytes(b"")
    with pytest.raises(UsageError, match="in the way: it isn't a folder") as caught:
        FilesStore(root, "Bot", disk).lock(ME, 0)
    assert f"{root}/{taken} is in the way" in caught.value.message
    assert caught.value.hint


def test_a_missing_root_is_made_with_all_above_it(tmp_path):
    store = FilesStore(tmp_path / "not" / "yet", "Bot")
    store.lock(ME, 0)
    assert (tmp_path / "not" / "yet" / "agents" / "Bot" / "lock").exists()
    store.close()


@pytest.mark.parametrize("at", [1, 2, 3, 4, 5])
def test_an_unwritable_folder_says_what_why_and_how_to_go_on(at):
    faulty = FaultyDisk(None, Fault(at, "fail", errno.EACCES, lasts=True))
    with pytest.raises(DiskTrouble, match=r"/memory/agents/Bot.*: Permission denied") as caught:
        memory_store(disk=faulty).lock(ME, 0)
    assert "write access" in caught.value.hint


def test_a_file_system_without_locks_is_refused():
    class NoLocks(MemoryDisk):
        def try_lock(self, path):
            raise OSError(errno.ENOLCK, "No locks available", path)

    with pytest.raises(DiskTrouble, match="can't be locked: No locks available") as caught:
        memory_store(disk=NoLocks()).lock(ME, 0)
    assert "local file system" in caught.value.hint


def test_syncing_in_a_thread_while_appending_and_rewriting(tmp_path):
    store = FilesStore(tmp_path, "Bot")
    store.lock(ME, 0)
    store.rewrite([HEADER])
    stop = threading.Event()
    troubles = []

    def sync_on():
        try:
            while not stop.is_set():
                store.sync()
        except BaseException as error:
            troubles.append(error)

    thread = threading.Thread(target=sync_on)
    thread.start()
    for number in range(300):
        store.append([b'{"event":%d}' % number])
        if number % 50 == 49:
            store.rewrite([line.body for line in store.scan().lines])
    stop.set()
    thread.join()
    assert troubles == []
    expected = [HEADER, *(b'{"event":%d}' % number for number in range(300))]
    assert [line.body for line in store.scan().lines] == expected
    store.close()
    store.close()


def test_no_descriptor_is_left_open(tmp_path):
    def descriptors():
        return set(os.listdir("/proc/self/fd" if sys.platform == "linux" else "/dev/fd"))

    FilesStore(tmp_path, "Warm").lock(ME, 0)
    before = descriptors()
    for _ in range(5):
        store = FilesStore(tmp_path, "Bot")
        store.lock(ME, 0)
        store.scan()
        store.rewrite([HEADER])
        store.scan()
        store.append([HEADER])
        store.rewrite([HEADER])
        store.audit_append(["x"])
        store.close()
    assert descriptors() == before


def test_reading_loads_neither_filelock_nor_asyncio_nor_pydantic():
    code = """
import sys
from agentctl.storage.files.reading import read_journal
from agentctl.storage.files.folder import FilesStore
read_journal("/nowhere")
print([m for m in ("asyncio", "rich", "pydantic", "watchfiles", "filelock") if m in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_r14_a_journal_that_is_gone_under_the_program_takes_no_more_records(tmp_path, how):
    store = FilesStore(tmp_path, "Bot")
    store.lock(ME, 0)
    store.scan()
    store.rewrite([b'{"journal":1,"agent":"Bot","id":"ab","next":1}'])
    store.append([b'{"event":1}'])
    store.sync()
    journal = tmp_path / "agents/Bot/journal"
    if how == "replaced":
        journal.rename(tmp_path / "elsewhere")
        journal.write_bytes(b"")
    else:
        journal.unlink()
    store.append([b'{"event":2}'])
    with pytest.raises(DiskTrouble, match="moved, replaced or deleted"):
        store.sync()
    with pytest.raises(DiskTrouble):
        store.append([b'{"event":3}'])
    store.close()
