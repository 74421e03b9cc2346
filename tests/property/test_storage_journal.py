"""Journals of any content, with any faults: read back exactly, cut, or refused; never guessed."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from agentctl.errors import JournalDamaged
from agentctl.storage.files import frame
from agentctl.storage.files.reading import read_journal
from agentctl.storage.memory import MemoryDisk, memory_store
from agentctl.storage.port import Holder

ME = Holder(pid=1, host="here", command="agentctl run", since="2026-11-30T09:14:02.000000Z")
PATH = "/memory/agents/Bot/journal"

values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 10**12) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "synced", "crc", "é"]), inner, max_size=3)
    ),
    max_leaves=6,
)
records = st.builds(
    lambda kind, value: json.dumps(
        {kind: 1, "value": value}, ensure_ascii=False, separators=(",", ":")
    ).encode(),
    st.sampled_from(["event", "ok", "call", "done"]),
    values,
)
batches = st.lists(st.tuples(st.lists(records, min_size=1, max_size=4), st.booleans()), max_size=6)


def written(steps, *, rewritten=False):
    store = memory_store(disk=(disk := MemoryDisk()))
    store.lock(ME, 0)
    store.rewrite([], marked=rewritten)
    for bodies, synced in steps:
        store.append(bodies)
        if synced:
            store.sync()
    store.close()
    return disk


def scanned(content):
    disk = MemoryDisk()
    disk.put_file(PATH, content)
    store = memory_store(disk=disk)
    store.lock(ME, 0)
    scan = store.scan()
    return disk, store, scan


def flat(steps):
    return [body for bodies, _ in steps for body in bodies]


@given(batches, st.booleans())
def test_every_record_reads_back_byte_for_byte(steps, rewritten):
    content = written(steps, rewritten=rewritten).read_file(PATH)
    _, _, scan = scanned(content)
    assert [line.body for line in scan.lines] == flat(steps)
    assert scan.cut is None
    for line in content.splitlines():
        json.loads(line)


@given(batches, st.data())
def test_any_changed_byte_gives_a_beginning_of_the_records_or_is_refused(steps, data):
    content = written(steps, rewritten=True).read_file(PATH)
    at = data.draw(st.integers(0, len(content) - 1))
    byte = data.draw(st.integers(0, 255))
    changed = content[:at] + bytes([byte]) + content[at + 1 :]
    lines = content.splitlines(keepends=True)
    marks, offset = [], 0
    for line in lines:
        if offset > at and (mark := frame.mark_of(line[:-1])):
            marks.append(mark)
        offset += len(line)
    proven = any(mark > at for mark in marks)
    try:
        _, _, scan = scanned(changed)
    except JournalDamaged as error:
        damaged_line = error.line
    else:
        damaged_line = None
        read = [line.body for line in scan.lines]
        assert read == flat(steps)[: len(read)]
    in_header = at < len(lines[0])  # a journal gets its name with a whole header
    is_damage = (proven or in_header) and changed != content
    expected = content[:at].count(b"\n") + 1 if is_damage else None
    assert damaged_line == expected


@given(st.binary(max_size=400))
def test_arbitrary_bytes_are_a_journal_or_damage_and_nothing_else(content):
    try:
        disk, store, scan = scanned(content)
    except JournalDamaged:
        return
    store.rewrite(line.body for line in scan.lines)
    store.append([b'{"again":1}'])
    _, _, after = scanned(disk.read_file(PATH))
    assert [*scan.lines, *after.lines][-1].body == b'{"again":1}'
    assert after.cut is None


fragments = st.sampled_from(
    [b'{"event":1', b',"synced":99', b',"crc":"00000000"}', b"\n", b"{", b"}", b'"', b"\0", b"\xff"]
)


@given(batches, st.lists(fragments | st.binary(max_size=3), max_size=12))
def test_any_tail_behind_good_records_leaves_them_readable(steps, tail):
    content = written(steps).read_file(PATH) + b"".join(tail)
    read = read_journal(PATH, (disk := MemoryDisk()))
    assert not read.exists
    disk.put_file(PATH, content)
    read = read_journal(PATH, disk)
    assert [line.body for line in read.lines][: len(flat(steps))] == flat(steps)


@settings(max_examples=60)
@given(batches, st.integers(0, 2**32))
def test_a_power_cut_leaves_a_beginning_of_the_records_with_all_that_was_synced(steps, seed):
    disk = written([([b'{"journal":1}'], True), *steps])
    expected = [b'{"journal":1}', *flat(steps)]
    last = max((n for n, (_, synced) in enumerate(steps, 1) if synced), default=0)
    durable = 1 + len(flat(steps[:last]))
    store = memory_store(disk=disk.after_power_cut(seed))
    store.lock(ME, 0)
    read = [line.body for line in store.scan().lines]
    assert len(read) >= durable
    assert read == expected[: len(read)]
