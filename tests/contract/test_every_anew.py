"""What the port `Anew` promises: a journal that is written anew while the old one goes on."""

from __future__ import annotations

import errno
import threading
from pathlib import Path

import pytest

from agentctl.errors import DiskTrouble, JournalDamaged
from agentctl.storage.faulty import Fault, FaultyDisk
from agentctl.storage.files import anew as anew_module
from agentctl.storage.files.disk import Disk, SystemDisk
from agentctl.storage.files.folder import FilesStore
from agentctl.storage.files.reading import read_journal
from agentctl.storage.memory import MemoryDisk
from agentctl.storage.port import Holder
from agentctl.storage.volatile import VolatileStore

ME = Holder(pid=17, host="here", command="agentctl run", since="2026-11-30T09:14:02.000000Z")
HEADER = b'{"journal":1,"agent":"Bot"}'


def event(number: int, size: int = 0) -> bytes:
    return b'{"event":%d,"args":["%s"]}' % (number, b"x" * size)


def program(root: Path, disk: Disk) -> FilesStore:
    store = FilesStore(root, "Bot", disk)
    store.lock(ME, 0)
    found = bodies(store)
    store.rewrite(found or [HEADER], marked=bool(found))
    return store


def bodies(store: FilesStore) -> list[bytes]:
    return [line.body for line in store.scan().lines]


@pytest.fixture(params=["system", "memory", "faulty"])
def place(request, tmp_path) -> tuple[Path, Disk]:
    if request.param == "system":
        return tmp_path, SystemDisk()
    disk = MemoryDisk() if request.param == "memory" else FaultyDisk()
    return Path(disk.root), disk


@pytest.fixture
def store(place):
    made = program(*place)
    yield made
    made.close()


def begin(store: FilesStore, events: int = 5):
    """A journal of some events, all durable, of which the last is still of use."""
    store.append([event(n) for n in range(1, events + 1)])
    anew = store.anew(store.sync())
    kept = [line.body for line in anew.lines()][-1:]
    anew.write([HEADER, *kept])
    return anew


def test_what_was_left_out_is_gone_and_what_came_since_follows(store, place):
    anew = begin(store)
    store.append([event(6)])
    while anew.copy():
        pass
    store.append([event(7)])
    anew.take_over()
    store.append([event(8)])
    assert bodies(store) == [HEADER, *map(event, range(1, 9))], "the old one has it all"
    before = store.size
    store.sync()
    expected = [HEADER, *map(event, range(5, 9))]
    assert bodies(store) == expected
    assert store.size < before
    store.append([event(9)])
    store.sync()
    store.close()
    after = program(*place)
    assert bodies(after) == [*expected, event(9)]
    after.close()


def test_a_place_only_grows_and_tells_what_is_durable(store):
    anew = begin(store, events=50)
    places = [store.append([event(60)])]
    anew.take_over()
    places.append(store.append([event(61)]))
    durable = store.sync()
    assert durable >= places[-1]
    for number in range(62, 70):
        places.append(store.append([event(number)]))
    assert places == sorted(set(places))
    assert store.append([]) == places[-1] > durable
    assert store.sync() == places[-1]


def test_lines_are_only_those_up_to_the_place_and_say_where_they_end(store):
    place = store.append([event(1)])
    store.sync()
    size = store.size
    store.append([event(2)])
    anew = store.anew(place)
    lines = list(anew.lines())
    assert [line.body for line in lines] == [HEADER, event(1)]
    assert [line.number for line in lines] == [1, 2]
    assert anew.end == size
    last = read_journal(f"{store.path}/journal", store._disk).texts()
    assert anew.crc.encode() == list(last)[1].body[-10:-2]
    anew.close()


def test_it_can_be_done_again_and_again(store, place):
    for turn in range(1, 6):
        store.append([event(n) for n in range(turn * 10, turn * 10 + 9)])
        anew = store.anew(store.sync())
        last = list(anew.lines())[-1].body
        anew.write([HEADER, last])
        anew.sync()
        store.append([event(turn)])
        anew.take_over()
        store.sync()
        assert bodies(store) == [HEADER, last, event(turn)]
    store.close()
    after = program(*place)
    assert bodies(after) == [HEADER, last, event(turn)]
    after.close()


def test_one_that_is_given_up_leaves_nothing_behind(store, place):
    _, disk = place
    anew = begin(store)
    assert "journal.new" in disk.list_folder(store.path)
    anew.close()
    anew.close()
    anew.remove()
    anew.remove()
    assert "journal.new" not in disk.list_folder(store.path)
    store.append([event(6)])
    store.sync()
    assert bodies(store) == [HEADER, *map(event, range(1, 7))]
    begin(store).take_over()
    store.sync()


def test_a_store_that_is_closed_in_the_midst_of_an_exchange_has_the_old_journal(store, place):
    anew = begin(store)
    anew.take_over()
    store.append([event(6)])
    store.close()
    after = program(*place)
    assert bodies(after) == [HEADER, *map(event, range(1, 7))]
    after.close()


def test_more_than_a_part_is_read_and_copied_part_by_part(store, monkeypatch):
    monkeypatch.setattr(anew_module, "PART", 100)
    store.append([event(n, size=n % 250) for n in range(1, 300)])
    anew = store.anew(store.sync())
    assert [line.body for line in anew.lines()][1:] == [event(n, n % 250) for n in range(1, 300)]
    anew.write([HEADER])
    store.append([event(n, size=n % 250) for n in range(300, 400)])
    left = [anew.copy()]
    while left[-1]:
        left.append(anew.copy())
    assert len(left) > 50
    assert left == sorted(set(left), reverse=True)
    anew.take_over()
    store.sync()
    assert bodies(store) == [HEADER, *(event(n, n % 250) for n in range(300, 400))]


def test_durable_lines_that_are_no_longer_what_was_written_are_damage(tmp_path):
    store = program(tmp_path, SystemDisk())
    store.append([event(n) for n in range(1, 6)])
    place = store.sync()
    journal = Path(store.path) / "journal"
    content = journal.read_bytes()
    journal.write_bytes(content.replace(b'"event":3', b'"event":8'))
    anew = store.anew(place)
    with pytest.raises(JournalDamaged) as damaged:
        list(anew.lines())
    assert damaged.value.line == 4
    anew.close()
    journal.write_bytes(content[:-30])
    anew = store.anew(place)
    with pytest.raises(JournalDamaged, match="no longer there"):
        list(anew.lines())
    anew.close()
    store.close()


@pytest.mark.parametrize("number", range(1, 8))
def test_whatever_fails_of_it_nothing_goes_on(number):
    """R14 as it is everywhere: one rule, also where the old file could still be written."""
    disk = FaultyDisk()
    store = program(Path(disk.root), disk)
    store.append([event(1)])
    place = store.sync()
    first = disk.changes
    disk.fault = Fault(first + number, "fail", errno.ENOSPC, lasts=True)
    with pytest.raises(DiskTrouble):
        write_anew(store, place)
    assert disk.changes == first + number
    with pytest.raises(DiskTrouble, match="earlier"):
        store.append([event(2)])
    with pytest.raises(DiskTrouble, match="earlier"):
        store.sync()
    after = program(Path(disk.root), disk.after_kill())
    assert bodies(after) == ([HEADER] if number == 7 else [HEADER, event(1)])


def write_anew(store: FilesStore, place: int) -> None:
    """Leave all but the header out."""
    anew = store.anew(place)
    anew.write([line.body for line in anew.lines()][:1])
    anew.sync()
    anew.take_over()
    store.sync()


def test_it_does_just_what_can_fail():
    disk = FaultyDisk()
    store = program(Path(disk.root), disk)
    store.append([event(1)])
    write_anew(store, store.sync())
    assert [entry.split(" /")[0] for entry in disk.log[-7:]] == [
        "create", "write", "sync", "write", "sync", "rename", "sync folder",
    ]  # fmt: skip


def test_who_took_the_journal_away_is_told_before_the_name_is_given(tmp_path):
    store = program(tmp_path, SystemDisk())
    anew = begin(store)
    anew.take_over()
    journal = Path(store.path) / "journal"
    journal.rename(journal.with_name("elsewhere"))
    journal.write_bytes(b"somebody else's\n")
    with pytest.raises(DiskTrouble, match="no longer there"):
        store.sync()
    assert journal.read_bytes() == b"somebody else's\n"
    store.close()


def test_an_agent_without_a_journal_has_none_to_write_anew():
    store = VolatileStore("/nowhere", None)
    store.append([event(1)])
    assert store.size == 0
    with pytest.raises(AssertionError):
        store.anew(store.sync())


def test_appends_beside_the_exchange_in_a_thread_are_all_there(tmp_path):
    """On a real disk, with the exchange in a thread; each append is in what stands at last."""
    store = program(tmp_path, SystemDisk())
    number = 0
    for _ in range(60):
        number += 1
        store.append([event(number)])
        anew = store.anew(store.sync())
        kept = [line.body for line in anew.lines()][1:]
        anew.write([HEADER, *kept[-40:]])
        anew.take_over()
        thread = threading.Thread(target=store.sync)
        thread.start()
        while thread.is_alive():
            number += 1
            store.append([event(number)])
        thread.join()
    store.sync()
    store.close()
    after = program(tmp_path, SystemDisk())
    found = [int(body.split(b":")[1].partition(b",")[0]) for body in bodies(after)[1:]]
    assert found == list(range(found[0], number + 1))
    assert len(found) >= 40
    after.close()
