"""What a journal on disk is worth: torn tails are cut, damage is refused, nothing is guessed."""

from __future__ import annotations

import itertools
import zlib

import pytest

from agentctl.errors import FormatTooNew, JournalDamaged
from agentctl.storage.files.reading import read_journal
from agentctl.storage.memory import MemoryDisk, memory_store
from agentctl.storage.port import Holder

ME = Holder(pid=1, host="here", command="agentctl run", since="2026-11-30T09:14:02.000000Z")
PATH = "/memory/agents/Bot/journal"
BODIES = [
    b'{"journal":1,"agent":"Bot","next":1}',
    b'{"event":1,"handler":"request","args":[7]}',
    b'{"call":"1-1","fn":"Payments.refund","args":[7]}',
    b'{"ok":"1-1","value":{"id":"r7"}}',
    b'{"done":1,"value":"r7"}',
]


def journal_of(batches, *, rewritten=False):
    """The bytes of a journal in which each batch was synced before the next was written."""
    store = memory_store(disk=(disk := MemoryDisk()))
    store.lock(ME, 0)
    if rewritten:
        store.rewrite(batches[0])
        batches = batches[1:]
    else:
        store.rewrite([], marked=False)
    for batch in batches:
        store.append(batch)
        store.sync()
    store.close()
    return disk.read_file(PATH)


def open_on(content):
    disk = MemoryDisk()
    disk.put_file(PATH, content)
    store = memory_store(disk=disk)
    store.lock(ME, 0)
    return disk, store


def bodies_in(content):
    _, store = open_on(content)
    scan = store.scan()
    bodies = [line.body for line in scan.lines]
    store.close()
    return bodies, scan.cut


def refused(content):
    disk, store = open_on(content)
    with pytest.raises(JournalDamaged) as caught:
        store.scan()
    store.close()
    assert disk.read_file(PATH) == content, "a refused journal was changed"
    assert caught.value.path == PATH
    assert str(caught.value).startswith(f"{PATH}, line {caught.value.line}: it ")
    assert "agentctl inspect journal Bot" in caught.value.hint
    return caught.value


ONE_BY_ONE = journal_of([[body] for body in BODIES])
AT_ONCE = journal_of([BODIES, [b'{"stop":1}']])
REWRITTEN = journal_of([BODIES], rewritten=True)
JOURNALS = {"one by one": ONE_BY_ONE, "at once": AT_ONCE, "rewritten": REWRITTEN}


def lines_of(content):
    return content.splitlines(keepends=True)


def test_a_journal_reads_as_it_is_specified():
    assert ONE_BY_ONE.splitlines()[0] == b'{"journal":1,"agent":"Bot","next":1,"crc":"%08x"}' % (
        zlib.crc32(BODIES[0][:-1])
    )
    first = zlib.crc32(BODIES[0][:-1])
    head = BODIES[1][:-1] + b',"synced":%d' % len(ONE_BY_ONE.splitlines(keepends=True)[0])
    assert ONE_BY_ONE.splitlines()[1] == head + b',"crc":"%08x"}' % zlib.crc32(head, first)


def test_a_rewritten_journal_ends_with_a_mark_that_is_no_record():
    last = lines_of(REWRITTEN)[-1]
    assert last.startswith(b'{"synced":%d,"crc":"' % (len(REWRITTEN) - len(last)))
    assert bodies_in(REWRITTEN) == (BODIES, None)


def test_only_the_first_record_of_a_batch_bears_a_mark_and_only_a_new_one():
    store = memory_store(disk=(disk := MemoryDisk()))
    store.lock(ME, 0)
    store.rewrite([], marked=False)
    store.append([b'{"a":1}', b'{"a":2}'])
    store.append([b'{"a":3}'])
    size = store.sync()
    store.append([b'{"a":4}', b'{"a":5}'])
    store.append([b'{"a":6}'])
    lines = disk.read_file(PATH).splitlines()
    assert [b"synced" in line for line in lines] == [False, False, False, True, False, False]
    assert b'"synced":%d,"crc"' % size in lines[3]


@pytest.mark.parametrize("last", ['{"ok":"1","value":"é"}', '{"ok":"1","value":"🙂"}'])
def test_p2_a_last_record_cut_at_any_byte_costs_only_itself(last):
    whole = journal_of([[body] for body in [*BODIES, last.encode()]])
    start = len(whole) - len(lines_of(whole)[-1])
    for size in range(start, len(whole) + 1):
        disk, store = open_on(whole[:size])
        scan = store.scan()
        complete = size >= len(whole) - 1  # it may lack only its line end
        expected = [*BODIES, last.encode()] if complete else BODIES
        assert [line.body for line in scan.lines] == expected
        assert (scan.cut is None) == (complete or size == start)
        store.rewrite(line.body for line in scan.lines)
        assert store.append([b'{"again":1}']) == len(disk.read_file(PATH))
        store.sync()
        assert store.append([b'{"again":2}']) == len(disk.read_file(PATH))
        store.close()
        read, cut = bodies_in(disk.read_file(PATH))
        assert read == [*expected, b'{"again":1}', b'{"again":2}']
        assert cut is None


def test_a_cut_tail_is_described():
    _, cut = bodies_in(ONE_BY_ONE[:-5])
    lost = len(lines_of(ONE_BY_ONE)[-1]) - 5
    assert cut == f"line 5 isn't a whole record; {lost} bytes from there on were never acknowledged"


def test_p3_a_flipped_byte_in_line_2_of_5_is_refused_with_its_line():
    start = len(lines_of(ONE_BY_ONE)[0])
    for at in range(start, start + len(lines_of(ONE_BY_ONE)[1])):
        content = bytearray(ONE_BY_ONE)
        content[at] ^= 1
        assert refused(bytes(content)).line == 2


@pytest.mark.parametrize("name", JOURNALS)
@pytest.mark.parametrize("flip", [0x01, 0x20, 0x80, 0xFF])
def test_a_flipped_byte_of_a_durable_record_is_refused(name, flip):
    whole = JOURNALS[name]
    lines = lines_of(whole)
    durable = len(whole) - len(lines[-1])
    ends = list(itertools.accumulate(map(len, lines)))
    for at in range(durable):
        content = bytearray(whole)
        content[at] ^= flip
        assert refused(bytes(content)).line == 1 + sum(end <= at for end in ends), at


@pytest.mark.parametrize("name", JOURNALS)
def test_any_byte_in_place_of_a_durable_line_end_is_refused(name):
    whole = JOURNALS[name]
    durable = len(whole) - len(lines_of(whole)[-1])
    for at in [at for at in range(durable) if whole[at : at + 1] == b"\n"]:
        for byte in range(256):
            if byte != 10:
                error = refused(whole[:at] + bytes([byte]) + whole[at + 1 :])
                assert error.line == 1 + whole[:at].count(b"\n")


@pytest.mark.parametrize("name", JOURNALS)
def test_a_flipped_byte_in_what_nothing_proves_durable_is_cut(name):
    whole = JOURNALS[name]
    lines = lines_of(whole)
    start = len(whole) - len(lines[-1])
    expected = bodies_in(whole[:start])[0]
    for at in range(start, len(whole) - 1):
        for byte in (whole[at] ^ 1, ord("9"), ord("\n"), 0):
            content = whole[:at] + bytes([byte]) + whole[at + 1 :]
            if content != whole:
                read, cut = bodies_in(content)
                assert read == expected
                assert cut


@pytest.mark.parametrize("name", JOURNALS)
def test_p3_a_lost_line_is_refused(name):
    lines = lines_of(JOURNALS[name])
    for index in range(len(lines) - 1):
        error = refused(b"".join(lines[:index] + lines[index + 1 :]))
        assert error.line == index + 1
        assert "lost" in error.reason


@pytest.mark.parametrize("name", JOURNALS)
def test_p3_a_doubled_line_is_refused(name):
    lines = lines_of(JOURNALS[name])
    for index in range(len(lines) - 1):
        error = refused(b"".join(lines[: index + 1] + lines[index:]))
        assert error.line == index + 2


@pytest.mark.parametrize("name", JOURNALS)
def test_p3_swapped_lines_are_refused(name):
    lines = lines_of(JOURNALS[name])
    for first, second in itertools.combinations(range(len(lines) - 1), 2):
        swapped = list(lines)
        swapped[first], swapped[second] = swapped[second], swapped[first]
        assert refused(b"".join(swapped)).line == first + 1


def test_a_doubled_last_line_costs_nothing_and_is_cut():
    lines = lines_of(ONE_BY_ONE)
    read, cut = bodies_in(ONE_BY_ONE + lines[-1])
    assert read == BODIES
    assert cut


def test_p4_an_unsynced_batch_without_its_first_line_is_cut_and_the_journal_goes_on():
    lines = lines_of(journal_of([BODIES[:2], BODIES[2:]]))
    lost = b"\0" * len(lines[2])
    disk, store = open_on(b"".join([*lines[:2], lost, *lines[3:]]))
    scan = store.scan()
    assert [line.body for line in scan.lines] == BODIES[:2]
    assert scan.cut.startswith("line 3 isn't a whole record; ")
    store.rewrite(line.body for line in scan.lines)
    store.append([b'{"again":1}'])
    store.close()
    assert bodies_in(disk.read_file(PATH)) == ([*BODIES[:2], b'{"again":1}'], None)


@pytest.mark.parametrize(
    "tail",
    [
        b"\0" * 5000,
        b"\n",
        b"\n\n\n",
        b"garbage\n",
        b'{"event":2,"args":[{"a":1,"crc":"00000000"},{"b":2,"synced":999999,"crc":"00000000"}',
        b'{"event":2,"args":["' + b"x" * 3_000_000,
        b"\xff\xfe\n" * 100,
        b"[" * 100_000 + b',"synced":999999,"crc":"00000000"}\n',
        b'{"a":' * 100_000 + b'1,"synced":999999,"crc":"00000000"}\n',
        b'[7,"synced":999999,"crc":"00000000"}\n',
        b'"synced":999999,"crc":"00000000"}\n',
        b'{"synced":999999999999999999999999999999,"crc":"00000000"}\n',
        b',"crc":"00000000"}\n',
    ],
)
def test_a_garbage_tail_never_makes_damage_of_what_was_not_acknowledged(tail):
    read, cut = bodies_in(ONE_BY_ONE + tail)
    assert read == BODIES
    assert cut


def test_a_suffix_without_a_record_is_no_line():
    crc = ONE_BY_ONE[-11:-3]
    read, cut = bodies_in(ONE_BY_ONE + b',"crc":"' + crc + b'"}\n')
    assert read == BODIES
    assert cut


@pytest.mark.parametrize("content", [b"\0" * 4096, b'{"journal":1,"ag', b"\n"])
def test_a_file_without_a_whole_header_is_damaged_for_none_gets_its_name_without(content):
    disk, store = open_on(content)
    with pytest.raises(JournalDamaged, match="whole header") as caught:
        store.scan()
    assert caught.value.line == 1
    assert disk.read_file(PATH) == content


def test_an_empty_file_is_no_journal_yet():
    disk, store = open_on(b"")
    scan = store.scan()
    assert (scan.exists, scan.end, list(scan.lines), scan.cut) == (False, 0, [], None)
    store.rewrite(line.body for line in scan.lines)
    store.append(BODIES[:1])
    store.close()
    assert bodies_in(disk.read_file(PATH)) == (BODIES[:1], None)


def test_a_nested_value_is_never_taken_for_a_mark():
    bodies = [
        b'{"ok":"1","value":{"synced":5}}',
        b'{"ok":"1","value":",\\"synced\\":5"}',
        b'{"ok":"1","value":[{"a":1,"synced":99999,"crc":"00000000"}]}',
        b'{"ok":"1","at":5}',
        b'{"start":1}',
    ]
    assert bodies_in(journal_of([bodies])) == (bodies, None)
    assert bodies_in(journal_of([[body] for body in bodies])) == (bodies, None)


@pytest.mark.parametrize("name", JOURNALS)
def test_inspect_shows_what_is_readable_before_and_behind_damage(name):
    whole = JOURNALS[name]
    second = len(lines_of(whole)[0])
    disk = MemoryDisk()
    disk.put_file(PATH, whole[: second + 3] + b"\0" + whole[second + 4 :])
    read = read_journal(PATH, disk)
    expected = bodies_in(whole)[0]
    assert [line.body for line in read.lines] == [expected[0], *expected[2:]]
    assert [line.number for line in read.lines][:2] == [1, 3]
    assert read.damaged[0] == 2
    assert read.unfinished is None


def test_inspect_takes_an_unfinished_last_line_for_what_it_is():
    disk = MemoryDisk()
    disk.put_file(PATH, ONE_BY_ONE + b'{"event":2,"ha')
    read = read_journal(PATH, disk)
    assert [line.body for line in read.lines] == BODIES
    assert (read.damaged, read.unfinished, read.exists) == (None, b'{"event":2,"ha', True)
    assert disk.read_file(PATH) == ONE_BY_ONE + b'{"event":2,"ha'


def test_inspect_of_a_journal_that_is_not_there():
    read = read_journal(PATH, MemoryDisk())
    assert (list(read.lines), read.damaged, read.unfinished, read.exists) == ([], None, None, False)


def test_lines_tell_where_they_stand():
    _, store = open_on(REWRITTEN)
    lines = store.scan().lines
    assert [line.body for line in lines] == BODIES
    for line in lines:
        assert REWRITTEN[line.offset :].startswith(line.body[:-1])
        assert REWRITTEN[: line.offset].count(b"\n") == line.number - 1


def test_a_journal_of_many_chunks_reads_back(monkeypatch):
    monkeypatch.setattr("agentctl.storage.files.reading.CHUNK", 37)
    for whole in JOURNALS.values():
        read, cut = bodies_in(whole)
        assert cut is None
        assert read[: len(BODIES)] == BODIES
    _, store = open_on(AT_ONCE)
    lines = store.scan().lines
    assert [line.body for line in lines] == [*BODIES, b'{"stop":1}']
    for line in lines:
        assert AT_ONCE[line.offset :].startswith(line.body[:-1])
        assert AT_ONCE[: line.offset].count(b"\n") == line.number - 1
    test_p3_a_flipped_byte_in_line_2_of_5_is_refused_with_its_line()


def test_lines_stay_as_they_were_when_the_journal_is_replaced():
    _, store = open_on(ONE_BY_ONE)
    scan = store.scan()
    store.rewrite(line.body for line in scan.lines if b"call" not in line.body)
    store.append([b'{"again":1}'])
    assert [line.body for line in scan.lines] == BODIES


@pytest.mark.parametrize("line", [b'{"journal":2,"agent":"Bot"}', b'{"journal":2} another frame'])
def test_a_journal_of_a_later_format_is_refused_as_such_not_as_damaged(line):
    disk, store = open_on(line + b"\n")
    for read in (store.scan, lambda: read_journal(PATH, disk)):
        with pytest.raises(FormatTooNew) as refused:
            read()
        assert refused.value.message == f"{PATH} has the format 2, and this version reads 1"
        assert "the version of agentctl that wrote it" in refused.value.hint
    assert disk.read_file(PATH) == line + b"\n"


def test_a_broken_first_line_of_this_format_is_no_later_format():
    with pytest.raises(JournalDamaged):
        bodies_in(b'{"journal":1,"agent":"B')
