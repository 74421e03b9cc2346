"""Following a journal: each record once, whatever happens to the file."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from agentctl.errors import DiskTrouble
from agentctl.storage.files.folder import FilesStore
from agentctl.storage.files.following import Follower
from agentctl.storage.memory import MemoryDisk
from agentctl.storage.port import Holder

HEADER = b'{"journal":1,"agent":"Bot","id":"ab","next":1}'


def state(number: int) -> bytes:
    return b'{"state":{"count":%d}}' % number


@pytest.fixture
def store(tmp_path: Path):
    made = FilesStore(tmp_path, "Bot")
    made.lock(Holder(1, "here", "test", "2026-01-01T00:00:00Z"), 0.0)
    yield made
    made.close()


@pytest.fixture
def follower(store: FilesStore):
    made = Follower(f"{store.path}/journal", store._disk)
    yield made
    made.close()


def read(follower: Follower) -> list[bytes]:
    return [line.body for line in follower.read()]


def test_what_is_there_comes_first_and_then_what_is_new(store, follower) -> None:
    assert read(follower) == []
    store.rewrite([HEADER], marked=False)
    assert read(follower) == [HEADER]
    assert read(follower) == []
    store.append([state(1), state(2)])
    lines = follower.read()
    assert [(line.number, line.body) for line in lines] == [(2, state(1)), (3, state(2))]


def test_an_unfinished_line_waits_for_its_end(store, follower) -> None:
    store.rewrite([HEADER], marked=False)
    store.append([state(1)])
    journal = Path(store.path) / "journal"
    whole = journal.read_bytes()
    for cut in (len(whole) - 1, len(whole) - 9):
        journal.write_bytes(whole[:cut])
        follower.close()
        assert read(follower) == [HEADER]
        with journal.open("ab") as file:
            file.write(whole[cut:])
        assert read(follower) == [state(1)]


def test_a_replacement_gives_only_what_is_new(store, follower) -> None:
    store.rewrite([HEADER], marked=False)
    store.append([state(1)])
    assert len(read(follower)) == 2
    store.append([state(2)])  # the old file gets this one, and then there is another
    again = HEADER[:-1] + b',"kept":2}'
    store.rewrite([again, state(1), state(2)])
    store.append([state(3)])
    bodies = read(follower)
    assert [body for body in bodies if b"synced" not in body] == [state(2), again, state(3)]
    assert read(follower) == []


def begin_anew(store: FilesStore, place: int, carried_over: bytes):
    """Write the journal anew as a running program does, up to the exchange."""
    anew = store.anew(place)
    assert list(anew.lines())
    more = b',"kept":1,"since":%d,"since_crc":"%s"}' % (anew.end, anew.crc.encode())
    anew.write([HEADER[:-1] + more, carried_over])
    return anew


def records(follower: Follower) -> list[bytes]:
    """What is read, without headers and lines of a mark alone."""
    return [body for body in read(follower) if body.startswith(b'{"state"')]


@pytest.mark.parametrize("reads", ["always", "before", "behind", "only then"])
def test_an_exchange_while_the_program_runs_gives_each_record_once(store, follower, reads) -> None:
    store.rewrite([HEADER], marked=False)
    given: list[bytes] = []
    for turn in range(4):
        first = turn * 6
        store.append([state(first), state(first + 1)])
        anew = begin_anew(store, store.sync(), state(first + 1))
        given += records(follower) if reads in ("always", "before") else []
        store.append([state(first + 2)])
        given += records(follower) if reads == "always" else []
        anew.copy()
        store.append([state(first + 3)])
        anew.take_over()
        given += records(follower) if reads in ("always", "behind") else []
        store.append([state(first + 4)])
        given += records(follower) if reads == "always" else []
        store.sync()
        store.append([state(first + 5)])
        given += records(follower)
    first = 1 if reads == "only then" else 0  # it was gone before anybody looked
    assert given == [state(number) for number in range(first, 24)]


def test_after_an_exchange_that_came_and_went_unseen_what_is_new_is_given(store, follower) -> None:
    store.rewrite([HEADER], marked=False)
    store.append([state(1)])
    assert records(follower) == [state(1)]
    for number in (2, 12):
        store.append([state(number)])
        anew = begin_anew(store, store.sync(), state(number))
        store.append([state(number + 1)])
        anew.take_over()
        store.append([state(number + 2)])
        store.sync()
    # 2 and 12 were carried over: what was known, not what happened.
    assert records(follower) == [state(number) for number in (2, 3, 4, 13, 14)]


def test_a_journal_that_goes_away_and_comes_back_is_followed(store, follower) -> None:
    store.rewrite([HEADER], marked=False)
    assert read(follower) == [HEADER]
    (Path(store.path) / "journal").unlink()
    assert read(follower) == []
    store.rewrite([HEADER, state(1)], marked=False)
    assert read(follower) == [HEADER, state(1)]


def test_what_is_cut_off_and_what_is_no_line_is_left_out(store, follower) -> None:
    store.rewrite([HEADER], marked=False)
    journal = Path(store.path) / "journal"
    whole = journal.read_bytes()
    journal.write_bytes(whole + b"\0" * 50 + b"\n{}\n")
    follower.close()
    assert read(follower) == [HEADER]
    journal.write_bytes(whole)
    assert read(follower) == []


def test_a_file_that_can_not_be_read_is_said(store) -> None:
    class Broken(MemoryDisk):
        def open(self, path, opening):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    with pytest.raises(DiskTrouble, match="can't be read"):
        Follower("/memory/journal", Broken()).read()
