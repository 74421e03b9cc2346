"""Where the socket lies: in the folder whatever its path, else in a runtime folder of ours."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from agentctl.engines.local.control.client import Control, is_served
from agentctl.engines.local.control.place import LONGEST, place_of, prepare, served_place
from agentctl.engines.local.control.server import ControlServer
from agentctl.engines.local.control.trouble import ControlGone
from agentctl.errors import DiskTrouble
from agentctl.storage.files.disk import SystemDisk
from agentctl.storage.files.holding import this_program
from agentctl.storage.files.lock import FolderLock, read_note
from agentctl.storage.port import Holder
from agentctl.times import SystemClock


async def answered(folder):
    """Serve the folder under its lock, and ask it once as another program would."""
    lock = FolderLock(SystemDisk(), folder)
    lock.take("Bot", this_program("test", SystemClock(), place_of(folder).named), 0)

    async def echo(params):
        return params

    server = ControlServer(folder, {"echo": echo})
    await server.start()

    def ask():
        with Control.connect(folder) as control:
            return control.call("echo", {"a": 1}, dict)

    try:
        return await asyncio.get_running_loop().run_in_executor(None, ask)
    finally:
        await server.close()
        lock.release()


@pytest.mark.parametrize("length", [60, 108, 150, 320, 900])
def test_it_lies_in_the_folder_however_long_that_is_named(deep, length):
    folder = deep(length)
    assert place_of(folder).named == ""
    before = len(os.listdir("/proc/self/fd"))
    assert asyncio.run(answered(folder)) == {"a": 1}
    assert os.listdir(folder) == ["lock"]
    assert len(os.listdir("/proc/self/fd")) == before


def test_it_is_found_through_another_name_of_the_folder(deep, tmp_path):
    folder = deep(200)
    (tmp_path / "short").symlink_to(folder)

    async def life():
        server = ControlServer(str(tmp_path / "short"), {})
        await server.start()
        assert is_served(folder)
        await server.close()

    asyncio.run(life())


def test_a_folder_is_found_from_any_working_folder(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert asyncio.run(answered("Bot")) == {"a": 1}


def test_without_proc_a_short_folder_holds_its_socket_itself(short_of_names):
    folder = short_of_names / "a"
    folder.mkdir()
    if len(f"{folder}/control") > LONGEST:
        pytest.fail("the test's own folder is too deep")
    assert place_of(str(folder)).path == f"{os.path.realpath(folder)}/control"


def test_without_proc_the_lock_names_a_socket_in_the_runtime_folder(short_of_names, deep):
    folder = deep(150)
    named = place_of(folder).named
    assert named.startswith(f"{short_of_names}/agentctl-{os.geteuid()}/")
    assert asyncio.run(answered(folder)) == {"a": 1}
    own = Path(named).parent
    assert own.stat().st_mode & 0o777 == 0o700
    assert list(own.iterdir()) == []


def test_two_folders_have_two_sockets_and_one_folder_always_the_same(short_of_names, deep):
    one, two = deep(150), deep(200)
    assert place_of(one).named != place_of(two).named
    assert place_of(one).named == place_of(f"{one}/../Bot").named


def test_a_client_elsewhere_goes_by_the_note(short_of_names, deep, monkeypatch, tmp_path):
    folder = deep(150)
    named = place_of(folder).named
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    note = f'{{"pid": 1, "host": "h", "command": "c", "since": "s", "control": "{named}"}}'
    Path(folder, "lock").write_text(note)
    assert served_place(folder).path == named


def test_without_a_runtime_folder_the_temporary_one_serves(short_of_names, deep, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", f"{short_of_names}/none")
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(short_of_names))
    assert place_of(deep(150)).named.startswith(f"{short_of_names}/agentctl-")


def test_no_short_folder_at_all_is_said(short_of_names, deep, monkeypatch):
    monkeypatch.setattr("agentctl.engines.local.control.place.LONGEST", 10)
    with pytest.raises(DiskTrouble, match="too long for a socket") as caught:
        place_of(deep(150))
    assert "--root" in caught.value.hint


@pytest.mark.parametrize("wrong", ["open", "link", "file", "foreign"])
def test_a_runtime_folder_that_others_could_change_is_refused(
    short_of_names, deep, monkeypatch, wrong
):
    own = short_of_names / f"agentctl-{os.geteuid()}"
    place = place_of(deep(150))
    if wrong == "open":
        own.mkdir()
        own.chmod(0o770)
    elif wrong == "link":
        (short_of_names / "theirs").mkdir(mode=0o700)
        own.symlink_to("theirs")
    elif wrong == "file":
        own.write_text("")
    else:
        own.mkdir(mode=0o700)
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(DiskTrouble, match=r"isn't a folder of this user alone|File exists"):
        prepare(place)


def test_the_note_of_an_old_program_is_read(folder):
    path = Path(folder, "lock")
    path.write_text('{"pid": 7, "host": "h", "command": "c", "since": "s"}')
    assert read_note(SystemDisk(), str(path)) == Holder(7, "h", "c", "s", "")
    path.write_text('{"pid": 7, "host": "h", "command": "c", "since": "s", "control": "/a/b"}')
    assert read_note(SystemDisk(), str(path)).control == "/a/b"


@pytest.mark.parametrize("text", ["", "{", "[" * 4000, "7", "[]", '{"pid": "x"}', "\xff"])
def test_a_note_that_cant_be_read_says_nothing(folder, text):
    path = Path(folder, "lock")
    path.write_text(text, encoding="latin-1")
    assert read_note(SystemDisk(), str(path)).pid == 0
    assert served_place(folder).path == f"{folder}/control"
    with pytest.raises(ControlGone):
        Control.connect(folder)


def test_the_note_says_nothing_of_a_socket_in_the_folder(folder):
    lock = FolderLock(SystemDisk(), folder)
    lock.take("Bot", Holder(7, "h", "c", "s"), 0)
    assert "control" not in Path(folder, "lock").read_text()
    lock.release()
