"""What the port `Store` promises, held against everything that implements it.

The real disk, the one in memory, the one of the fault tests (without a fault), and the store of
an agent without a journal, as far as it keeps anything: the audit log and the lock, or nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentctl.errors import DiskTrouble, Locked
from agentctl.storage.faulty import FaultyDisk
from agentctl.storage.files.disk import Disk, SystemDisk
from agentctl.storage.files.folder import FilesStore
from agentctl.storage.memory import MemoryDisk
from agentctl.storage.port import Holder, Store
from agentctl.storage.volatile import VolatileStore

ME = Holder(pid=17, host="here", command="agentctl run", since="2026-11-30T09:14:02.000000Z")
HEADER = b'{"journal":1,"agent":"Bot"}'
BODIES = [
    HEADER,
    '{"event":1,"args":["é 🙂 \\n"]}'.encode(),
    b'{"ok":"1-1","value":{"synced":7,"crc":"00000000"}}',
    b'{"done":1,"value":[1,"synced"]}',
]


@dataclass
class Place:
    """One place on one disk; every store made here is another program's, on the same folder."""

    root: Path
    disk: Disk
    journal: bool = True
    audit: bool = True

    def make(self, agent: str = "Bot", pause: Callable[[float], None] = time.sleep) -> Store:
        files = FilesStore(self.root, agent, self.disk, pause=pause)
        if self.journal:
            return files
        return VolatileStore(files.path, files if self.audit else None)

    def program(self, agent: str = "Bot") -> Store:
        """A store as a program has it once it may write."""
        store = self.make(agent)
        store.lock(ME, 0)
        found = bodies(store)
        store.settle()
        store.rewrite(found, marked=bool(found))
        return store


def bodies(store: Store) -> list[bytes]:
    return [line.body for line in store.scan().lines]


JOURNALED = ("system", "memory", "faulty")
AUDITED = (*JOURNALED, "audit log only")
ALL = (*AUDITED, "nothing")


@pytest.fixture
def place(request, tmp_path):
    match request.param:
        case "system":
            return Place(tmp_path, SystemDisk())
        case "memory":
            disk = MemoryDisk()
            return Place(Path(disk.root), disk)
        case "faulty":
            faulty = FaultyDisk()
            return Place(Path(faulty.root), faulty)
        case "audit log only":
            return Place(tmp_path, SystemDisk(), journal=False)
        case _:
            return Place(tmp_path, SystemDisk(), journal=False, audit=False)


every = pytest.mark.parametrize("place", ALL, indirect=True)
audited = pytest.mark.parametrize("place", AUDITED, indirect=True)
journaled = pytest.mark.parametrize("place", JOURNALED, indirect=True)


# -- every store


@every
def test_a_folder_in_which_nothing_ever_ran_is_empty(place):
    store = place.make()
    store.lock(ME, 0)
    scan = store.scan()
    assert (list(scan.lines), scan.cut, scan.exists, scan.end) == ([], None, False, 0)
    assert store.read_set_aside() == b""
    assert list(store.audit_tail(10)) == []
    assert store.path == f"{place.root}/agents/Bot"
    store.close()


@every
def test_what_append_counts_is_durable_once_sync_counts_as_much(place):
    store = place.program()
    first = store.append([HEADER])
    second = store.append(BODIES[1:])
    assert 0 < first < second <= store.sync()
    third = store.append([b'{"event":2}'])
    assert second < third <= store.sync()
    assert store.append([]) == third
    store.close()


@every
def test_closing_twice_and_a_set_aside_that_is_removed_twice_do_nothing(place):
    store = place.program()
    store.write_set_aside(b"")
    store.write_set_aside(b"")
    store.close()
    store.close()
    place.program().close()


@every
def test_the_next_program_may_always_start_where_the_last_one_stopped(place):
    for number in range(3):
        store = place.program()
        store.append([b'{"event":%d}' % number])
        store.sync()
        store.audit_append([f"accepted {number}"])
        store.audit_sync()
        store.rewrite([HEADER, b'{"event":%d}' % number])
        store.close()


# -- with a journal


@journaled
def test_what_was_appended_is_read_back_byte_for_byte_by_the_next_program(place):
    store = place.program()
    store.append(BODIES[:1])
    store.sync()
    store.append(BODIES[1:])
    store.close()
    after = place.program()
    assert bodies(after) == BODIES
    after.append([b'{"event":2}'])
    after.close()
    last = place.program()
    assert bodies(last) == [*BODIES, b'{"event":2}']
    last.close()


@journaled
def test_what_is_on_record_is_there_before_it_is_synced(place):
    store = place.program()
    store.append(BODIES)
    assert bodies(store) == BODIES
    assert store.syncs == 0
    store.close()


@journaled
def test_before_a_rewrite_nothing_is_changed(place):
    store = place.make()
    store.lock(ME, 0)
    store.scan()
    store.settle()
    assert store.scan().exists is False
    with pytest.raises(AssertionError):
        store.append([HEADER])
    store.close()
    assert "journal" not in place.disk.list_folder(store.path)


@journaled
def test_only_a_sync_that_makes_something_durable_counts(place):
    store = place.program()
    assert store.syncs == 0
    size = store.append([HEADER])
    assert [store.sync(), store.sync(), store.append([]), store.sync()] == [size] * 4
    assert store.syncs == 1
    store.close()


@journaled
@pytest.mark.parametrize("marked", [True, False])
def test_a_rewrite_between_two_appends_keeps_what_it_is_given_and_nothing_else(place, marked):
    store = place.program()
    store.append([HEADER, *(b'{"event":%d}' % n for n in range(1000))])
    store.rewrite(iter([HEADER, b'{"event":999}']), marked=marked)
    expected = [HEADER, b'{"event":999}']
    assert bodies(store) == expected
    assert store.append([b'{"event":1000}']) <= store.sync()
    store.close()
    after = place.program()
    assert bodies(after) == [*expected, b'{"event":1000}']
    after.close()


@journaled
def test_lines_that_were_read_stay_as_they_were_while_the_journal_goes_on(place):
    store = place.program()
    store.append(BODIES)
    scan = store.scan()
    store.rewrite(line.body for line in scan.lines if b"done" not in line.body)
    store.append([b'{"event":2}'])
    assert [line.body for line in scan.lines] == BODIES
    assert [line.number for line in scan.lines] == [1, 2, 3, 4]
    assert bodies(store) == [*BODIES[:-1], b'{"event":2}']
    store.close()


@journaled
def test_the_set_aside_file_is_replaced_as_a_whole(place):
    store = place.program()
    store.write_set_aside(b'{"event":1}\n{"again":1}\n')
    store.write_set_aside(b'{"event":2}\n')
    store.close()
    after = place.program()
    assert after.read_set_aside() == b'{"event":2}\n'
    after.write_set_aside(b"")
    assert after.read_set_aside() == b""
    after.close()


# -- with an audit log


@audited
def test_the_audit_log_gives_its_last_lines_oldest_first(place):
    store = place.program()
    store.audit_append(["one", "two with é"])
    store.audit_append([])
    store.audit_append(["three"])
    assert list(store.audit_tail(2)) == ["two with é", "three"]
    store.audit_sync()
    store.audit_sync()
    store.close()
    after = place.program()
    assert list(after.audit_tail(9)) == ["one", "two with é", "three"]
    after.audit_append(["four"])
    assert list(after.audit_tail(1)) == ["four"]
    after.close()


# -- with a lock


@audited
def test_one_program_at_a_time_and_the_other_is_told_who(place):
    store = place.program()
    waits: list[float] = []
    other = place.make(pause=waits.append)
    with pytest.raises(Locked) as refused:
        other.lock(ME, 0)
    assert "pid 17, agentctl run" in refused.value.message
    assert store.path in refused.value.message
    assert waits == [], "who doesn't want to wait doesn't"
    other.close()
    with pytest.raises(Locked):
        place.make().lock(ME, 0)
    store.close()
    place.program().close()


@audited
def test_a_program_that_waits_gets_the_lock_when_it_is_free(place):
    store = place.program()
    other = place.make(pause=lambda _wait_s: store.close())
    other.lock(ME, 60)
    with pytest.raises(Locked):
        place.make().lock(ME, 0)
    other.close()


@audited
def test_agents_do_not_exclude_each_other(place):
    one, two = place.program("Bot"), place.program("Clerk")
    one.audit_append(["mine"])
    assert list(two.audit_tail(1)) == []
    one.close()
    two.close()


@pytest.mark.parametrize("place", ["nothing"], indirect=True)
def test_an_agent_that_keeps_nothing_has_no_folder_and_excludes_nobody(place):
    one, two = place.program(), place.program()
    one.append(BODIES)
    one.audit_append(["x"])
    assert bodies(two) == []
    assert list(place.root.iterdir()) == []
    one.close()
    two.close()


# -- what others do to the journal of a program that runs


def cut_short(place, size):
    """What `: > journal` does, or a copy that broke off: the same file, and less of it."""
    fd = place.disk.open(f"{place.root}/agents/Bot/journal", "append")
    place.disk.truncate(fd, size)
    place.disk.close(fd)


@journaled
@pytest.mark.parametrize("size", [0, 10])
@pytest.mark.parametrize("writes", [True, False])
def test_a_journal_that_was_cut_off_is_seen_before_anything_is_acknowledged(place, size, writes):
    store = place.program()
    store.append(BODIES)
    store.check()
    store.sync()
    cut_short(place, size)
    if writes:
        store.append([b'{"event":2}'])
    with pytest.raises(DiskTrouble, match="was cut off by somebody else") as caught:
        store.sync()
    assert "backup" in caught.value.hint
    assert "nothing acknowledged is lost" not in caught.value.hint
    with pytest.raises(DiskTrouble):
        store.append([b'{"event":3}'])
    store.close()


@journaled
def test_a_program_that_writes_nothing_can_look_after_its_journal(place):
    store = place.program()
    store.append(BODIES)
    store.check()
    cut_short(place, 0)
    with pytest.raises(DiskTrouble, match=f"0 bytes are left of the {store.append([])}"):
        store.check()
    store.close()


@journaled
def test_a_journal_that_was_deleted_is_missed_without_a_write(place):
    store = place.program()
    store.append(BODIES)
    store.sync()
    place.disk.unlink(f"{place.root}/agents/Bot/journal")
    with pytest.raises(DiskTrouble, match="moved, replaced or deleted") as caught:
        store.check()
    assert "is in the file that stood there" in caught.value.hint
    store.close()


@every
def test_a_journal_that_nobody_touched_is_in_its_place(place):
    store = place.make()
    store.check()
    store.close()
    store = place.program()
    store.check()
    store.append(BODIES)
    store.check()
    store.sync()
    store.check()
    store.close()
