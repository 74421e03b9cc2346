"""Who waits to get at a held folder sees when it changes hands, and learns who has it."""

from __future__ import annotations

from itertools import pairwise

from agentctl.storage.files.disk import SystemDisk
from agentctl.storage.files.folder import FilesStore
from agentctl.storage.files.holding import Lookout
from agentctl.storage.port import Holder
from agentctl.testing import FakeClock


def held_by(root, pid, since="2026-01-01T00:00:00.000000Z"):
    store = FilesStore(root, "Bot")
    store.lock(Holder(pid, "here", "agentctl invoke", since), 0)
    return store


def lookout(root):
    return Lookout("Bot", f"{root}/agents/Bot", SystemDisk(), FakeClock())


def test_it_differs_with_each_holder_and_with_each_file_there(tmp_path):
    one = lookout(tmp_path)
    seen = [one.look()]
    store = held_by(tmp_path, 17)
    seen.append(one.look())
    assert one.look() == seen[-1], "nothing has changed"
    store.close()
    seen.append(one.look())
    held_by(tmp_path, 17, since="2026-01-01T00:00:01.000000Z")
    seen.append(one.look())
    (tmp_path / "agents" / "Bot" / "control").touch()
    seen.append(one.look())
    assert all(before != after for before, after in pairwise(seen))


def test_the_refusal_names_the_holder_also_where_its_note_is_gone_by_now(tmp_path):
    one = lookout(tmp_path)
    assert "pid" not in one.refusal().message
    store = held_by(tmp_path, 17)
    one.look()
    store.close()
    assert "locked (pid 17 on here, agentctl invoke, since " in one.refusal().message
    assert one.refusal(5.0).message.endswith("; waited 5 s)")


def test_a_held_lock_is_seen_without_trying_it(tmp_path):
    one = lookout(tmp_path)
    assert not one.is_locked()
    store = held_by(tmp_path, 17)
    assert one.is_locked() == (SystemDisk().is_locked(f"{tmp_path}/agents/Bot/lock") is True)
    store.close()
    assert not one.is_locked()
