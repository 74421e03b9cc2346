"""An archive is whole, agrees with itself, and overwrites nothing."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from agentctl.engines.local.looking.backing_up import backup
from agentctl.errors import Conflict, DiskTrouble, JournalDamaged
from agentctl.storage.files.disk import SystemDisk
from agentctl.storage.files.folder import FilesStore
from agentctl.storage.port import Holder

HEADER = b'{"journal":1,"agent":"Bot","id":"ab","next":1}'
EVENT = b'{"event":1,"handler":"request","args":[7]}'
ASIDE = b'{"aside":1,"handler":"request","starts":3,"nonce":"ab"}'
REQUEUE = [EVENT, b'{"requeued":1,"lines":1}']
HOLDER = Holder(1, "here", "test", "2026-01-01T00:00:00Z")


@pytest.fixture
def store(tmp_path: Path):
    made = FilesStore(tmp_path / "root", "Bot")
    made.lock(HOLDER, 0.0)
    made.rewrite([HEADER], marked=False)
    made.append([EVENT])
    yield made
    made.close()


def files_of(target: Path) -> dict[str, bytes]:
    with tarfile.open(target) as archive:
        found = {}
        for member in archive:
            assert member.mode == (0o700 if member.isdir() else 0o600)
            if member.isfile():
                content = archive.extractfile(member)
                assert content is not None
                found[member.name] = content.read()
        return found


class Hooked(SystemDisk):
    """A disk on which something else happens when a file is opened for the n-th time."""

    def __init__(self, name: str, *deeds) -> None:
        self.name = name
        self.deeds = list(deeds)

    def open(self, path, opening):
        if opening == "read" and path.endswith(f"/{self.name}") and self.deeds:
            self.deeds.pop(0)()
        return super().open(path, opening)


def test_an_archive_holds_the_folders_as_they_are(store, tmp_path: Path) -> None:
    store.append([ASIDE])
    store.write_set_aside(EVENT + b"\n")
    store.audit_append(["a line"])
    blobs = Path(store.path) / "blobs"
    blobs.mkdir()
    (blobs / "abc").write_bytes(b"x" * 100_000)
    target = tmp_path / "b.tar.gz"
    (made,) = backup(tmp_path / "root", ["Bot"], target, SystemDisk())
    found = files_of(target)
    assert found == {
        "agents/Bot/journal": (Path(store.path) / "journal").read_bytes(),
        "agents/Bot/audit.log": b"a line\n",
        "agents/Bot/set-aside": EVENT + b"\n",
        "agents/Bot/blobs/abc": b"x" * 100_000,
    }
    assert (made.agent, made.records) == ("Bot", 3)
    assert made.bytes == sum(map(len, found.values()))
    assert target.stat().st_mode & 0o777 == 0o600


def test_what_does_not_count_yet_is_left_out(store, tmp_path: Path) -> None:
    journal, audit = Path(store.path) / "journal", Path(store.path) / "audit.log"
    whole = journal.read_bytes()
    journal.write_bytes(whole + b'{"start":1')
    audit.write_bytes(b"a line\nhalf of anoth")
    backup(tmp_path / "root", ["Bot"], tmp_path / "b", SystemDisk())
    assert files_of(tmp_path / "b") == {
        "agents/Bot/journal": whole,
        "agents/Bot/audit.log": b"a line\n",
    }


def test_nothing_is_overwritten(store, tmp_path: Path) -> None:
    target = tmp_path / "b"
    target.write_bytes(b"precious")
    with pytest.raises(Conflict, match="exists"):
        backup(tmp_path / "root", ["Bot"], target, SystemDisk())
    assert target.read_bytes() == b"precious"
    assert {path.name for path in tmp_path.iterdir()} == {"b", "root"}


def test_a_damaged_journal_gives_no_archive(store, tmp_path: Path) -> None:
    store.sync()
    store.append([b'{"start":1,"at":1}'])
    journal = Path(store.path) / "journal"
    journal.write_bytes(journal.read_bytes().replace(b'"args":[7]', b'"args":[8]'))
    with pytest.raises(JournalDamaged, match="line 2"):
        backup(tmp_path / "root", ["Bot"], tmp_path / "b", SystemDisk())
    assert {path.name for path in tmp_path.iterdir()} == {"root"}


def test_a_place_that_can_not_be_written_is_said(store, tmp_path: Path) -> None:
    with pytest.raises(DiskTrouble, match="can't be written"):
        backup(tmp_path / "root", ["Bot"], tmp_path / "nowhere" / "b", SystemDisk())


def test_an_event_that_is_requeued_meanwhile_is_not_lost(store, tmp_path: Path) -> None:
    """The journal was read with its `aside` record; then its lines went."""
    store.write_set_aside(EVENT + b"\n")
    store.append([ASIDE])

    def requeue() -> None:
        store.append(REQUEUE)
        store.write_set_aside(b"")

    backup(tmp_path / "root", ["Bot"], tmp_path / "b", Hooked("set-aside", requeue))
    found = files_of(tmp_path / "b")
    assert b'"requeued":1' in found["agents/Bot/journal"]
    assert "agents/Bot/set-aside" not in found


def test_an_event_that_is_set_aside_meanwhile_is_not_lost(store, tmp_path: Path) -> None:
    def move() -> None:
        store.write_set_aside(EVENT + b"\n")
        store.append([ASIDE])

    backup(tmp_path / "root", ["Bot"], tmp_path / "b", Hooked("audit.log", move))
    found = files_of(tmp_path / "b")
    assert (b'"aside":1' in found["agents/Bot/journal"]) <= ("agents/Bot/set-aside" in found)
    assert found["agents/Bot/set-aside"] == EVENT + b"\n"


def test_a_journal_that_is_replaced_meanwhile_is_read_again(store, tmp_path: Path) -> None:
    def replace() -> None:
        store.audit_append(["of the old one", "of the new one"])
        store.rewrite([HEADER, EVENT])

    backup(tmp_path / "root", ["Bot"], tmp_path / "b", Hooked("set-aside", replace))
    found = files_of(tmp_path / "b")
    assert found["agents/Bot/journal"] == (Path(store.path) / "journal").read_bytes()
    assert found["agents/Bot/audit.log"] == b"of the old one\nof the new one\n"


def test_a_journal_that_its_program_exchanges_meanwhile_is_read_again(store, tmp_path) -> None:
    def exchange() -> None:
        anew = store.anew(store.sync())
        list(anew.lines())
        store.audit_append(["of what goes"])
        anew.write([HEADER])
        anew.take_over()
        store.append([EVENT.replace(b"1", b"2")])
        store.sync()

    for turn, name in enumerate(("journal", "audit.log", "set-aside")):
        # Beside what it reads: the file is opened, and then exchanged.
        backup(tmp_path / "root", ["Bot"], tmp_path / f"b{turn}", Hooked(name, exchange))
        found = files_of(tmp_path / f"b{turn}")
        assert found["agents/Bot/journal"] == (Path(store.path) / "journal").read_bytes()
        assert found["agents/Bot/audit.log"] == b"of what goes\n" * (turn + 1)


def test_lines_that_a_person_took_out_stay_out(store, tmp_path: Path) -> None:
    store.append([ASIDE])
    backup(tmp_path / "root", ["Bot"], tmp_path / "b", SystemDisk())
    assert "agents/Bot/set-aside" not in files_of(tmp_path / "b")


def test_a_set_aside_that_a_person_broke_is_taken_as_it_is(store, tmp_path: Path) -> None:
    store.append([ASIDE])
    (Path(store.path) / "set-aside").write_bytes(b"{broken\n")
    backup(tmp_path / "root", ["Bot"], tmp_path / "b", SystemDisk())
    assert files_of(tmp_path / "b")["agents/Bot/set-aside"] == b"{broken\n"


def test_what_never_stands_still_is_given_up(store, tmp_path: Path) -> None:
    again = [lambda: store.rewrite([HEADER, EVENT])] * 100
    with pytest.raises(Conflict, match="faster than it can be read"):
        backup(tmp_path / "root", ["Bot"], tmp_path / "b", Hooked("set-aside", *again))
    assert not (tmp_path / "b").exists()


def test_an_agent_that_never_ran_is_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "root" / "agents" / "Bot").mkdir(parents=True)
    (made,) = backup(tmp_path / "root", ["Bot"], tmp_path / "b", SystemDisk())
    assert (made.bytes, made.records) == (0, 0)
    assert files_of(tmp_path / "b") == {}
