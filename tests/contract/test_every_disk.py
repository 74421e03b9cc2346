"""What the port `Disk` promises: the real disk, the one in memory and the one that fails."""

from __future__ import annotations

import errno

import pytest

from agentctl.storage.faulty import FaultyDisk
from agentctl.storage.files.disk import SystemDisk
from agentctl.storage.memory import MemoryDisk


@pytest.fixture(params=["system", "memory", "faulty"])
def place(request, tmp_path):
    """A disk and a folder on it: all three behave alike."""
    if request.param == "system":
        return SystemDisk(), str(tmp_path)
    disk = MemoryDisk() if request.param == "memory" else FaultyDisk()
    return disk, disk.root


def content(disk, path):
    fd = disk.open(path, "read")
    data = disk.read_at(fd, 1000, 0)
    disk.close(fd)
    return data


def test_everything_is_written_to_the_end(place):
    disk, root = place
    fd = disk.open(f"{root}/a", "append")
    assert disk.write(fd, b"one") == 3
    disk.close(fd)
    fd = disk.open(f"{root}/a", "append")
    disk.write(fd, b"two")
    assert (disk.size(fd), disk.read_at(fd, 2, 1), disk.read_at(fd, 9, 6)) == (6, b"ne", b"")
    disk.truncate(fd, 2)
    disk.write(fd, b"x")
    disk.sync(fd)
    disk.close(fd)
    assert content(disk, f"{root}/a") == b"onx"
    disk.close(disk.open(f"{root}/a", "new"))
    assert content(disk, f"{root}/a") == b""


def test_folders_names_and_renames(place):
    disk, root = place
    disk.make_folder(f"{root}/f")
    disk.sync_folder(root)
    for name in ("b", "a"):
        disk.close(disk.open(f"{root}/f/{name}", "new"))
    assert list(disk.list_folder(f"{root}/f")) == ["a", "b"]
    assert [disk.kind(f"{root}/{path}") for path in ("f", "f/a", "f/no")] == [
        "folder",
        "file",
        None,
    ]
    disk.replace(f"{root}/f/a", f"{root}/f/b")
    assert list(disk.list_folder(f"{root}/f")) == ["b"]
    disk.unlink(f"{root}/f/b")
    disk.sync_folder(f"{root}/f")
    assert list(disk.list_folder(f"{root}/f")) == []


@pytest.mark.parametrize(
    ("number", "do"),
    [
        (errno.ENOENT, lambda disk, root: disk.open(f"{root}/no", "read")),
        (errno.ENOENT, lambda disk, root: disk.open(f"{root}/no/x", "append")),
        (errno.ENOTDIR, lambda disk, root: disk.open(f"{root}/file/x", "append")),
        (errno.EISDIR, lambda disk, root: disk.open(f"{root}/folder", "append")),
        (errno.ENOENT, lambda disk, root: disk.replace(f"{root}/no", f"{root}/x")),
        (errno.ENOENT, lambda disk, root: disk.unlink(f"{root}/no")),
        (errno.EEXIST, lambda disk, root: disk.make_folder(f"{root}/folder")),
        (errno.ENOENT, lambda disk, root: disk.make_folder(f"{root}/no/x")),
        (errno.ENOENT, lambda disk, root: disk.list_folder(f"{root}/no")),
        (errno.ENOENT, lambda disk, root: disk.sync_folder(f"{root}/no")),
    ],
)
def test_they_refuse_the_same_things_in_the_same_way(place, number, do):
    disk, root = place
    disk.make_folder(f"{root}/folder")
    disk.close(disk.open(f"{root}/file", "new"))
    with pytest.raises(OSError) as caught:
        do(disk, root)
    assert caught.value.errno == number


def test_one_lock_at_a_time(place):
    disk, root = place
    path = f"{root}/lock"
    assert not disk.is_locked(path)
    held = disk.try_lock(path)
    assert disk.try_lock(path) is None
    assert disk.is_locked(path) in (True, None)  # a system may not list its locks
    held.release()
    held.release()
    assert not disk.is_locked(path)
    disk.try_lock(path).release()


def test_a_file_closed_twice_is_a_bug(place):
    disk, root = place
    fd = disk.open(f"{root}/a", "append")
    disk.close(fd)
    with pytest.raises(AssertionError, match="closed twice"):
        disk.close(fd)


def test_closing_what_is_closed_to_others_already_changes_nothing(place):
    disk, root = place
    disk.make_folder(f"{root}/f")
    fd = disk.open(f"{root}/f/a", "append")
    disk.write(fd, b"data")
    disk.close(fd)
    disk.tighten(f"{root}/f")
    disk.tighten(f"{root}/f/a")
    assert list(disk.list_folder(f"{root}/f")) == ["a"]
    assert content(disk, f"{root}/f/a") == b"data"
