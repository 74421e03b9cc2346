"""Die, fail or lose power at every change of the disk: what was promised is found again."""

from __future__ import annotations

import copy
import errno
import sys
from pathlib import Path

import pytest

from agentctl.errors import DiskTrouble
from agentctl.storage.faulty import Fault, FaultyDisk, SimulatedDeath
from agentctl.storage.memory import MemoryDisk

sys.path.insert(0, str(Path(__file__).parent))
from storage_program import ME, Promises, open_store, run

KEEP = (0, 1, 30)


def changes_of(disk=None, promises=None):
    counting = FaultyDisk(None if disk is None else disk.after_kill())
    run(counting, copy.deepcopy(promises or Promises()))
    return counting.changes


def crash(at, *, disk=None, promises=None, keep=0):
    """Run until the death at change `at`; return the dead disk and what was promised."""
    promises = copy.deepcopy(promises or Promises())
    faulty = FaultyDisk(disk, Fault(at, "die", keep=keep))
    with pytest.raises(SimulatedDeath):
        run(faulty, promises)
    return faulty, promises


def stopped_disk():
    promises = Promises()
    disk = MemoryDisk()
    run(FaultyDisk(disk), promises)
    return disk, promises


def test_the_matrix_covers_every_kind_of_change():
    counting = FaultyDisk()
    run(counting, Promises())
    kinds = {entry.split(" /")[0] for entry in counting.log}
    assert kinds >= {"write", "sync", "sync folder", "rename", "create", "make folder", "unlink"}
    assert counting.changes > 40


def test_killed_at_every_change_nothing_promised_is_lost():
    for at in range(1, changes_of() + 1):
        for keep in KEEP:
            dead, promises = crash(at, keep=keep)
            run(FaultyDisk(dead.after_kill()), promises)


def test_power_cut_at_every_change_nothing_promised_is_lost():
    for at in range(1, changes_of() + 1):
        dead, promises = crash(at, keep=at % 40)
        for seed in range(30):
            recovered = dead.after_power_cut(seed)
            run(FaultyDisk(recovered), copy.deepcopy(promises))


def test_crash_while_recovering_from_a_crash():
    for first in range(1, changes_of() + 1, 7):
        dead, promises = crash(first, keep=first % 40)
        for lose in (MemoryDisk.after_kill, lambda disk: disk.after_power_cut(3)):
            disk = lose(dead.disk)
            for second in range(1, changes_of(disk, promises) + 1, 2):
                again, still = crash(second, disk=disk.after_kill(), promises=promises, keep=5)
                run(FaultyDisk(again.after_kill()), copy.deepcopy(still))
                run(FaultyDisk(again.after_power_cut(second)), copy.deepcopy(still))


def test_crash_at_every_change_of_a_start_after_a_clean_stop():
    disk, promises = stopped_disk()
    for at in range(1, changes_of(disk, promises) + 1):
        dead, still = crash(at, disk=disk.after_kill(), promises=promises)
        run(FaultyDisk(dead.after_kill()), copy.deepcopy(still))
        for seed in range(6):
            run(FaultyDisk(dead.after_power_cut(seed)), copy.deepcopy(still))


def test_the_dead_program_does_nothing_more():
    dead, _ = crash(20)
    before = dead.after_kill()
    store = open_store(dead)
    with pytest.raises(SimulatedDeath):
        store.scan()
    with pytest.raises(SimulatedDeath):
        store.lock(ME, 0)
    path = "/memory/agents/Bot/journal"
    assert dead.after_kill().read_file(path) == before.read_file(path)


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EROFS])
@pytest.mark.parametrize("lasts", [False, True])
@pytest.mark.parametrize("keep", [0, 7])
def test_k9_a_disk_that_fails_at_any_change_costs_nothing_acknowledged(error, lasts, keep):
    for at in range(1, changes_of() + 1):
        promises = Promises()
        faulty = FaultyDisk(None, Fault(at, "fail", error, keep=keep, lasts=lasts))
        try:
            run(faulty, promises)
        except DiskTrouble as error_raised:
            trouble = error_raised
        else:
            trouble = None
        if trouble is None:
            assert faulty.log[at - 1].endswith("/lock"), f"nobody noticed: {faulty.log[at - 1]}"
        else:
            assert trouble.exit_code == 74
            assert "/memory/agents" in trouble.message
            assert trouble.hint
        run(FaultyDisk(faulty.after_kill()), copy.deepcopy(promises))
        run(FaultyDisk(faulty.after_power_cut(at)), copy.deepcopy(promises))


def test_a_short_write_is_continued_at_every_change():
    for at in range(1, changes_of() + 1):
        promises = Promises()
        faulty = FaultyDisk(None, Fault(at, "short", keep=9))
        run(faulty, promises)
        run(FaultyDisk(faulty.after_power_cut(at)), copy.deepcopy(promises))


def test_p12_a_full_disk_stops_and_with_space_it_goes_on():
    promises = Promises()
    faulty = FaultyDisk(None, Fault(30, "fail", errno.ENOSPC, keep=11, lasts=True))
    with pytest.raises(DiskTrouble, match="No space left on device"):
        run(faulty, promises)
    run(FaultyDisk(faulty.after_kill()), promises)


def _count(faulty, what):
    return sum(entry.startswith(f"{what} /") for entry in faulty.log)


def ready_store(fault_after, kind="fail", error=errno.EIO, **more):
    faulty = FaultyDisk()
    store = open_store(faulty)
    store.lock(ME, 0)
    store.scan()
    store.rewrite([b'{"journal":1}'])
    faulty.fault = Fault(faulty.changes + fault_after, kind, error, **more)
    return faulty, store


def test_after_a_failed_sync_every_further_change_is_refused():
    _, store = ready_store(2)
    store.append([b'{"event":1}'])
    with pytest.raises(DiskTrouble, match=r"(?m)journal can't be synced: Input/output error$"):
        store.sync()
    for change in (
        store.sync,
        lambda: store.append([b'{"event":2}']),
        lambda: store.rewrite([]),
        lambda: store.write_set_aside(b"x"),
        lambda: store.audit_append(["x"]),
        lambda: store.audit_tail(1),
        store.audit_sync,
    ):
        with pytest.raises(DiskTrouble, match="nothing has been written since"):
            change()
    store.close()


def test_a_failed_sync_is_not_tried_again():
    faulty, store = ready_store(2)
    store.append([b'{"event":1}'])
    syncs = _count(faulty, "sync")
    for _ in range(3):
        with pytest.raises(DiskTrouble):
            store.sync()
    assert _count(faulty, "sync") == syncs + 1
    # The system forgot the data: a second sync would have called it durable.
    assert b"event" in faulty.after_kill().read_file("/memory/agents/Bot/journal")
    lost = [
        faulty.after_power_cut(seed).read_file("/memory/agents/Bot/journal") for seed in range(9)
    ]
    assert not all(b'{"event":1,' in content for content in lost)


def test_a_write_that_fails_half_way_is_the_last_one():
    faulty, store = ready_store(1, error=errno.ENOSPC, keep=5)
    with pytest.raises(DiskTrouble, match="journal can't be written: No space left on device"):
        store.append([b'{"event":1}'])
    writes = _count(faulty, "write")
    with pytest.raises(DiskTrouble):
        store.append([b'{"event":2}'])
    assert _count(faulty, "write") == writes
    store.close()
    after = open_store(faulty.after_kill())
    after.lock(ME, 0)
    scan = after.scan()
    assert [line.body for line in scan.lines] == [b'{"journal":1}']
    assert scan.cut


def test_a_cut_audit_tail_is_truncated_and_synced_before_anything_is_appended():
    disk = MemoryDisk()
    path = "/memory/agents/Bot/audit.log"
    disk.put_file(path, b"one\ntwo\nthr")
    faulty = FaultyDisk(disk)
    store = open_store(faulty)
    store.lock(ME, 0)
    before = len(faulty.log)
    assert store.audit_tail(5) == ["one", "two"]
    store.audit_append(["three"])
    assert faulty.log[before:] == [f"truncate {path}", f"sync {path}", f"write {path}"]
