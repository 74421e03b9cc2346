"""Looking at an agent from outside: what each event, instance and lock is shown as."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentctl.engines.changes import State
from agentctl.engines.local.desk import FilesDesk
from agentctl.engines.local.looking.showing import with_holders
from agentctl.engines.views import EventView, Inside
from agentctl.errors import FormatTooNew, JournalDamaged
from agentctl.names import Address
from agentctl.storage.files import frame
from agentctl.storage.files.disk import SystemDisk
from agentctl.storage.files.folder import FilesStore
from agentctl.storage.files.holding import this_program
from agentctl.testing import FakeClock
from agentctl.times import SystemClock

AT = 1_764_500_000_000_000
MINUTE = 60_000_000
HEADER = b'{"journal":1,"agent":"Bot","id":"00000000000000000000000000000000","next":1,"at":1}'
LINES = [
    HEADER,
    b'{"state":{"count":3},"of":["eu"]}',
    b'{"outcome":1,"handler":"request","key":"old","status":"failed","of":["eu"],"type":"shop.No"'
    b',"text":"declined","at":5}',
    b'{"event":2,"handler":"request","args":[7],"of":["eu"],"key":"k","at":%d}' % AT,
    b'{"event":3,"handler":"request","args":[8],"of":["eu"],"at":%d}' % AT,
    b'{"event":4,"handler":"request","args":[],"kwargs":{"a":1},"due":%d,"at":%d}'
    % (AT + 9 * MINUTE, AT),
    b'{"event":5,"handler":"request","args":[9],"of":["us"],"at":%d}' % AT,
    b'{"event":6,"handler":"request","args":[9],"of":["us"],"from":"Other-1-1","at":%d}' % AT,
    b'{"event":7,"handler":"broken","args":[9],"of":["xx"],"at":%d}' % AT,
    b'{"start":2,"at":%d}' % (AT + 1),
    b'{"call":"2-1","fn":"Shop.pay","args":[7],"at":%d}' % (AT + 2),
    b'{"ok":"2-1","value":{"id":"r7"},"at":%d}' % (AT + 3),
    b'{"call":"2-2","fn":"Shop.pay","args":[8],"at":%d}' % (AT + 4),
    b'{"error":"2-2","type":"shop.Declined","text":"no","at":%d}' % (AT + 5),
    b'{"call":"2-3","fn":"timer","until":%d,"at":%d}' % (AT + 5 * MINUTE, AT + 5),
    b'{"parked":2}',
    b'{"start":5,"at":%d}' % (AT + 6),
    b'{"call":"5-1","fn":"Shop.pay","args":[9],"at":%d}' % (AT + 7),
    b'{"start":6,"at":%d}' % (AT + 6),
    b'{"bug":6,"text":"KeyError: \'total\'","line":"shop/bot.py:31","at":%d}' % (AT + 8),
    b'{"aside":7,"handler":"broken","starts":3,"nonce":"ab","of":["xx"],"accepted":%d,"at":%d}'
    % (AT, AT + 9),
]
ASIDE = b'{"event":7,"handler":"broken","args":[9],"of":["xx"]}\n{"again":7}\n'


def write(root: Path, lines: list[bytes], agent: str = "Bot") -> Path:
    folder = root / "agents" / agent
    folder.mkdir(parents=True, exist_ok=True)
    data, _ = frame.seal(lines, 0, None)
    (folder / "journal").write_bytes(data)
    (folder / "set-aside").write_bytes(ASIDE)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path, LINES)


@pytest.fixture
def desk(tmp_path: Path, folder: Path) -> FilesDesk:
    return FilesDesk(tmp_path, FakeClock(AT + MINUTE))


@pytest.fixture
def held(tmp_path: Path, folder: Path) -> Iterator[FilesStore]:
    """A program that holds the folder."""
    store = FilesStore(tmp_path, "Bot")
    store.lock(this_program("agentctl run", FakeClock(AT)), 0.0)
    yield store
    store.close()


def test_without_a_program_nothing_runs(desk: FilesDesk) -> None:
    view = desk.look("Bot")
    assert view.holder is None
    states = {one.event.event: str(one.state) for one in view.events}
    assert states == {
        2: "sleeping",
        3: "queued",
        4: "scheduled",
        5: "queued",
        6: "stuck",
        7: "set_aside",
    }
    assert view.counts == {"sleeping": 1, "queued": 2, "scheduled": 1, "stuck": 1}
    assert (view.set_aside, view.damaged) == (1, None)
    assert view.journal_bytes == os.path.getsize(desk.journal("Bot").path)


def test_with_one_what_executes_runs_and_the_next_waits_for_its_instance(
    desk: FilesDesk, held: FilesStore
) -> None:
    view = desk.look("Bot")
    assert view.holder is not None
    assert (view.holder.pid, view.holder.command) == (os.getpid(), "agentctl run")
    events = {one.event.event: one for one in view.events}
    assert events[5].state is State.RUNNING
    assert events[3].waits_for == "Bot/eu#2"
    assert events[4].waits_for is None


def test_who_holds_an_instance_is_what_the_program_says() -> None:
    """Not every event that runs keeps others from running: their handlers may go side by side."""
    queued = EventView(Address("Bot", ("eu",), 3), "request", State.QUEUED)
    runs = EventView(Address("Bot", ("eu",), 2), "request", State.RUNNING)
    for holding, waits_for in (((), None), ((2,), "Bot/eu#2"), ((3,), None)):
        inside = Inside(AT, (2,), {}, (), (), holding)
        shown = with_holders([runs, queued], inside)
        assert [one.waits_for for one in shown] == [None, waits_for]
    assert with_holders([runs, queued], None)[1].waits_for == "Bot/eu#2"


def test_an_event_shows_its_calls_with_their_outcomes(desk: FilesDesk) -> None:
    two = desk.look("Bot").events[0]
    assert (two.event, two.key, two.next_us) == (Address("Bot", ("eu",), 2), "k", AT + 5 * MINUTE)
    shown = [(one.key, one.fn, one.state, one.outcome) for one in two.calls]
    assert shown == [
        ("Bot/eu-2-1", "Shop.pay", "ok", '{"id":"r7"}'),
        ("Bot/eu-2-2", "Shop.pay", "error", "shop.Declined: no"),
        ("Bot/eu-2-3", "timer", "open", None),
    ]
    assert [one.at_us - AT for one in two.calls] == [2, 4, 5]
    assert two.calls[2].until_us == AT + 5 * MINUTE
    assert two.records == 8


def test_stuck_and_set_aside_events_say_why(desk: FilesDesk) -> None:
    *_, six, seven = desk.look("Bot").events
    assert (six.text, six.line, six.from_) == ("KeyError: 'total'", "shop/bot.py:31", "Other-1-1")
    assert (seven.starts, seven.args, seven.handler) == (3, b"[9]", "broken")


def test_what_is_kept_of_ended_events_is_shown_when_asked_for(desk: FilesDesk) -> None:
    *_, one = desk.look("Bot", ended=True).events
    assert (one.event.event, one.state, one.type, one.text) == (1, "failed", "shop.No", "declined")
    assert len(desk.look("Bot", ended=True).events) == len(desk.look("Bot").events) + 1


def test_kept_events_are_shown_with_their_ends_and_calls(tmp_path: Path) -> None:
    ends = [
        b'{"done":2,"value":"r7","at":%d}' % (AT + 20),
        b'{"failed":3,"type":"shop.No","text":"declined","at":%d}' % (AT + 21),
        b'{"cancelled":4,"by":"ana","reason":"not needed","at":%d}' % (AT + 22),
    ]
    write(tmp_path, [*LINES, b'{"start":2,"at":1}', b'{"start":3,"at":1}', *ends])
    view = FilesDesk(tmp_path).look("Bot", ended=True)
    two, three, four = (one for one in view.events if one.event.event in (2, 3, 4))
    assert (two.state, two.value, len(two.calls)) == ("completed", b'"r7"', 3)
    assert (three.state, three.type, three.text) == ("failed", "shop.No", "declined")
    assert (four.state, four.text, four.ended_us) == ("cancelled", "not needed", AT + 22)
    assert not {2, 3, 4} & {one.event.event for one in FilesDesk(tmp_path).look("Bot").events}


def test_instances_have_state_keys_and_open_events(desk: FilesDesk) -> None:
    found = {str(one.instance): one for one in desk.instances("Bot")}
    assert list(found) == ["Bot", "Bot/eu", "Bot/us"]
    eu = found["Bot/eu"]
    assert (eu.state, eu.state_bytes, eu.open) == (b'{"count":3}', 11, 2)
    assert [(one.key, one.state) for one in eu.keys] == [("k", "sleeping"), ("old", "failed")]
    assert eu.next_due_us == AT + 5 * MINUTE
    assert found["Bot"].next_due_us == AT + 9 * MINUTE


def test_counting_says_the_same_and_how_late_it_is(desk: FilesDesk, tmp_path: Path) -> None:
    count, view = desk.count("Bot"), desk.look("Bot")
    assert (count.counts, count.set_aside) == (view.counts, view.set_aside)
    assert (count.journal_bytes, count.damaged) == (view.journal_bytes, None)
    assert (count.next_due_us, count.late_us) == (AT + 5 * MINUTE, 0)
    late = FilesDesk(tmp_path, FakeClock(AT + 7 * MINUTE)).count("Bot")
    assert (late.next_due_us, late.late_us) == (AT + 9 * MINUTE, 2 * MINUTE)


def test_a_damaged_journal_is_shown_as_far_as_it_can_be_trusted(
    desk: FilesDesk, folder: Path
) -> None:
    journal = folder / "journal"
    whole = journal.read_bytes()
    marked, _ = frame.seal([LINES[-1]], 0, len(whole))
    journal.write_bytes(whole.replace(b'"args":[8]', b'"args":[9]', 1) + marked)
    for view in (desk.look("Bot"), desk.count("Bot")):
        assert view.damaged is not None
        assert view.damaged[0] == 5
        assert view.counts == {"queued": 1}
    with pytest.raises(JournalDamaged, match="line 5"):
        desk.instances("Bot")


@pytest.mark.parametrize(
    "lines", [[*LINES, b'{"start":99,"at":1}'], [HEADER.replace(b"Bot", b"Other")]]
)
def test_a_line_that_makes_no_sense_is_damage_too(tmp_path: Path, lines: list[bytes]) -> None:
    write(tmp_path, lines)
    desk = FilesDesk(tmp_path)
    for view in (desk.look("Bot"), desk.count("Bot")):
        assert view.damaged is not None
        assert view.damaged[0] == len(lines)


def test_a_later_version_is_not_guessed_at(tmp_path: Path) -> None:
    write(tmp_path, [*LINES, b'{"unheard_of":1}'])
    desk = FilesDesk(tmp_path)
    for ask in (desk.look, desk.count, desk.instances):
        with pytest.raises(FormatTooNew):
            ask("Bot")


def test_an_agent_that_never_ran_has_nothing(tmp_path: Path) -> None:
    desk = FilesDesk(tmp_path)
    assert desk.look("Bot").events == []
    assert desk.count("Bot").journal_bytes == 0
    assert desk.instances("Bot") == []
    assert desk.holder("Bot") is None
    assert not desk.lock("Bot").held


def test_the_note_of_a_program_that_was_killed_proves_nothing(
    desk: FilesDesk, folder: Path
) -> None:
    note = {"pid": os.getpid(), "host": "h", "command": "agentctl run", "since": "2026-01-01Z"}
    (folder / "lock").write_text(json.dumps(note) + "\n")
    lock = desk.lock("Bot")
    assert (lock.held, lock.path) == (False, f"{folder}/lock")
    assert lock.note is not None
    assert lock.note.pid == os.getpid()
    assert desk.holder("Bot") is None


def test_a_lock_is_seen_without_being_taken(desk: FilesDesk, held: FilesStore) -> None:
    assert desk.lock("Bot").held
    held.close()
    assert desk.lock("Bot") == desk.lock("Bot")
    assert not desk.lock("Bot").held
    assert desk.lock("Bot").note is None


def test_who_listens_at_the_socket_holds_the_folder_whatever_this_system_lists(
    desk: FilesDesk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = {"pid": 41, "host": "h", "command": "agentctl run", "since": "2026-01-01Z"}
    (folder / "lock").write_text(json.dumps(note) + "\n")
    monkeypatch.chdir(folder)  # the path of a socket is short
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind("control")
        assert desk.holder("Bot") is None, "nobody listens yet"
        listening.listen()
        holder = desk.holder("Bot")
        assert holder is not None
        assert holder.pid == 41
        assert desk.lock("Bot").held
    assert desk.holder("Bot") is None
    assert desk.inside("Bot") is None


class _Silent(SystemDisk):
    """A system that doesn't list its locks."""

    def is_locked(self, path: str) -> bool | None:
        return None


def test_where_locks_are_not_listed_the_process_in_the_note_is_the_proof(
    tmp_path: Path, folder: Path, held: FilesStore
) -> None:
    desk = FilesDesk(tmp_path, disk=_Silent())
    assert desk.lock("Bot").held
    note = folder / "lock"
    held.close()
    (tmp_path / "other").mkdir()
    gone = os.fork()
    if gone == 0:
        os._exit(0)
    os.waitpid(gone, 0)
    holder = this_program("agentctl run", SystemClock())
    text = {"host": holder.host, "command": "x", "since": "y"}
    note.write_text(json.dumps({"pid": gone, **text}))
    assert not desk.lock("Bot").held
    note.write_text(json.dumps({"pid": 1, **text}))
    assert desk.lock("Bot").held
    note.write_text(json.dumps({"pid": 1, **text, "host": "elsewhere"}))
    assert not desk.lock("Bot").held
