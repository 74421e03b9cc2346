"""The lock of an agent's folder between real processes: refused, waited for, freed by a kill."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from agentctl.errors import Locked
from agentctl.storage.files.folder import FilesStore
from agentctl.storage.port import Holder

PRELUDE = """
import os, sys, time
from pathlib import Path
from agentctl.storage.files.folder import FilesStore
from agentctl.storage.port import Holder
root = Path(sys.argv[1])
me = Holder(pid=os.getpid(), host="here", command="agentctl run",
            since="2026-11-30T09:14:02.511034Z")
store = FilesStore(root, "Bot")
"""
ME = Holder(pid=os.getpid(), host="here", command="pytest", since="2026-11-30T09:15:00.000000Z")


class TodayClock:
    """The day on which the other program started."""

    def now_us(self):
        return 1_796_031_000_000_000  # 2026-11-30

    def monotonic_s(self):
        return time.monotonic()


@pytest.fixture
def other(tmp_path):
    """Start another program that runs some code with `store`; its lines can be waited for."""
    started = []

    def start(code):
        process = subprocess.Popen(
            [sys.executable, "-c", PRELUDE + textwrap.dedent(code), str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


HOLD = """
    store.lock(me, 0)
    print("ready", flush=True)
    sys.stdin.readline()
    store.close()
    print("closed", flush=True)
    sys.stdin.readline()
"""


def try_lock(root, wait_s=0.0, clock=None):
    store = FilesStore(root, "Bot", clock=clock)
    store.lock(ME, wait_s)
    return store


def test_p11_k7_a_second_program_is_refused_with_the_full_path_and_who_holds_it(other, tmp_path):
    process = other(HOLD)
    with pytest.raises(Locked) as caught:
        try_lock(tmp_path, 0.2, TodayClock())
    assert caught.value.exit_code == 5
    assert caught.value.message == (
        f"the agent Bot already runs in another program: its folder {tmp_path}/agents/Bot is "
        f"locked (pid {process.pid}, agentctl run, since 09:14:02Z; waited 0.2 s)"
    )
    assert caught.value.hint == (
        "stop that program; or read without the lock: agentctl inspect journal Bot"
    )


def test_a_holder_from_another_day_or_host_is_told_with_both(other, tmp_path):
    process = other(HOLD)
    store = FilesStore(tmp_path, "Bot")
    with pytest.raises(Locked) as caught:
        store.lock(Holder(1, "elsewhere", "agentctl run", ""), 0)
    today = time.strftime("%Y-%m-%d", time.gmtime())
    since = "09:14:02Z" if today == "2026-11-30" else "2026-11-30T09:14:02.511034Z"
    facts = f"(pid {process.pid} on here, agentctl run, since {since})"
    assert caught.value.message.endswith(facts)


def test_k7_the_second_program_starts_when_the_first_ends_in_time(other, tmp_path):
    process = other(HOLD)
    waits = []

    def pause(seconds):
        waits.append(seconds)
        if len(waits) == 3:
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "closed\n"

    store = FilesStore(tmp_path, "Bot", pause=pause)
    store.lock(ME, 5)
    assert len(waits) == 3
    store.close()


def test_the_lock_file_stays_and_says_nothing_once_nobody_holds_it(other, tmp_path):
    process = other(HOLD)
    path = tmp_path / "agents" / "Bot" / "lock"
    before = path.stat()
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline() == "closed\n"
    assert path.read_bytes() == b""
    assert path.stat().st_ino == before.st_ino, "the lock file is never deleted"


def test_the_note_is_one_line_of_json_for_people(other, tmp_path):
    process = other(HOLD)
    text = (tmp_path / "agents/Bot/lock").read_text()
    assert text.endswith("\n")
    assert json.loads(text) == {
        "pid": process.pid,
        "host": "here",
        "command": "agentctl run",
        "since": "2026-11-30T09:14:02.511034Z",
    }


@pytest.mark.parametrize("note", [b"", b"{", b"[]", b'{"pid":"x"}', b"\xff\xff", b"null"])
def test_an_unreadable_note_never_hides_that_somebody_holds_the_lock(other, tmp_path, note):
    other(HOLD)
    path = tmp_path / "agents/Bot/lock"
    path.write_bytes(note)
    with pytest.raises(Locked, match=r"(?m)is locked$"):
        try_lock(tmp_path)


def test_p11_kill_9_frees_the_lock_at_once_and_the_next_program_starts(other, tmp_path):
    process = other(HOLD)
    process.send_signal(signal.SIGKILL)
    process.wait()
    path = tmp_path / "agents/Bot/lock"
    assert path.read_text() != "", "a dead program leaves its note"
    try_lock(tmp_path).close()


def test_p11_a_forked_child_neither_keeps_nor_frees_the_lock(other, tmp_path):
    process = other("""
        store.lock(me, 0)
        store.rewrite([], marked=False)
        hear, tell = os.pipe()
        child = os.fork()
        if child == 0:
            store.close()              # of no effect on the parent's lock
            os.write(tell, b"closed")
            time.sleep(100)
            os._exit(0)
        os.read(hear, 6)
        store.append([b'{"journal":1}'])
        store.sync()
        print("ready", flush=True)
        print(child, flush=True)
        time.sleep(100)
    """)
    child = int(process.stdout.readline())
    try:
        with pytest.raises(Locked, match=f"pid {process.pid},"):
            try_lock(tmp_path)
        process.send_signal(signal.SIGKILL)
        process.wait()
        os.kill(child, 0)  # it lives
        store = try_lock(tmp_path)
        assert [line.body for line in store.scan().lines] == [b'{"journal":1}']
        store.close()
    finally:
        os.kill(child, signal.SIGKILL)


def test_p11_a_spawned_child_neither_keeps_nor_frees_the_lock(other, tmp_path):
    process = other("""
        import subprocess
        store.lock(me, 0)
        store.rewrite([], marked=False)
        child = subprocess.Popen(["sleep", "100"], close_fds=False)
        print("ready", flush=True)
        print(child.pid, flush=True)
        time.sleep(100)
    """)
    child = int(process.stdout.readline())
    try:
        with pytest.raises(Locked):
            try_lock(tmp_path)
        process.send_signal(signal.SIGKILL)
        process.wait()
        os.kill(child, 0)
        try_lock(tmp_path).close()
    finally:
        os.kill(child, signal.SIGKILL)


def test_a_child_that_exits_normally_leaves_the_parent_its_lock(other, tmp_path):
    other("""
        store.lock(me, 0)
        child = os.fork()
        if child == 0:
            sys.exit(0)                # runs every clean-up the interpreter has
        os.waitpid(child, 0)
        print("ready", flush=True)
        time.sleep(100)
    """)
    with pytest.raises(Locked, match=r"\(pid \d+,"):
        try_lock(tmp_path)


def test_two_stores_in_one_program_exclude_each_other_too(tmp_path):
    first = try_lock(tmp_path)
    with pytest.raises(Locked):
        try_lock(tmp_path)
    first.close()
    try_lock(tmp_path).close()


def test_kill_9_while_appending_and_syncing_loses_nothing_that_was_acknowledged(other, tmp_path):
    process = other("""
        store.lock(me, 0)
        store.rewrite([b'{"journal":1}'])
        print("ready", flush=True)
        for number in range(10**9):
            store.append([b'{"event":%d}' % number])
            store.sync()
            print(number, flush=True)
            if number % 100 == 99:
                store.rewrite([b'{"journal":1}', b'{"event":%d}' % number])
    """)
    for line in process.stdout:
        if int(line) == 337:
            process.kill()
            break
    told = [337, *map(int, re.findall(r"^\d+(?=\n)", process.stdout.read(), re.MULTILINE))][-1]
    store = try_lock(tmp_path)
    scan = store.scan()
    numbers = [int(line.body[9:-1]) for line in list(scan.lines)[1:]]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    assert numbers[-1] >= told
    store.rewrite(line.body for line in scan.lines)
    store.append([b'{"event":-1}'])
    store.sync()
    assert list(store.scan().lines)[-1].body == b'{"event":-1}'
    store.close()
