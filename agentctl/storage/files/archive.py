"""One archive of agents' folders, consistent also while programs write to them.

Of each folder the journal up to its last line that counts, and beside it what agrees with that:
`audit.log` as it was before, so that a start completes it; of `set-aside` a content that holds
every event which the journal says lies there, since a start drops those without lines. The
archive is written aside, synced and renamed. Takes no lock, and changes no agent's folder.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from agentctl.errors import Conflict
from agentctl.storage.files.beside import AUDIT, SET_ASIDE, read_file
from agentctl.storage.files.disk import Disk, disk_trouble, write_all
from agentctl.storage.files.journal import NAME as JOURNAL
from agentctl.storage.files.places import AGENTS, agent_folder
from agentctl.storage.files.reading import Lines, damaged_error, judge

BLOBS: Final = "blobs"
_ROUNDS: Final = 50

Agrees = Callable[[Lines, bytes], bool]
"""Whether `set-aside` holds every event that the journal says lies there."""


class Archived(Struct, frozen=True):
    """One agent's part of an archive.

    Attributes:
        bytes: how long its files are.
        records: how many lines of its journal are in it.
    """

    agent: str
    bytes: int
    records: int


def write_archive(
    target: Path, root: Path, agents: Sequence[str], *, agrees: Agrees, disk: Disk
) -> Sequence[Archived]:
    """Write a new tar.gz with the folders of these agents; nothing else may be there.

    Raises:
        Conflict: the file exists, and is left as it is; or a folder changes too often to be read.
        JournalDamaged: a journal is damaged; no archive is written.
        DiskTrouble: something can't be read or written.
    """
    path = str(target.absolute())
    _refuse_existing(disk, path)
    aside = f"{path}.new"
    try:
        fd = disk.open(aside, "new")
    except OSError as error:
        raise disk_trouble("can't be written", path, error) from error
    try:
        with _removed_on_error(disk, aside):
            made = _write(_Sink(disk, fd), root, agents, agrees=agrees, disk=disk)
            disk.sync(fd)
            _refuse_existing(disk, path)
            # Crash here: only the file aside is there, under a name that nobody takes for whole.
            disk.replace(aside, path)
            disk.sync_folder(str(Path(path).parent))
    except OSError as error:
        raise disk_trouble("can't be written", path, error) from error
    finally:
        disk.close(fd)
    return made


def _refuse_existing(disk: Disk, path: str) -> None:
    if disk.kind(path) is not None:
        raise Conflict(f"{path} exists", hint="choose another name, or move it away")


@contextmanager
def _removed_on_error(disk: Disk, path: str) -> Iterator[None]:
    try:
        yield
    except BaseException:
        disk.unlink(path)
        raise


class _Sink(io.RawIOBase):
    """What the archive's writer writes to."""

    def __init__(self, disk: Disk, fd: int) -> None:
        self._disk = disk
        self._fd = fd

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: object) -> int:
        """Append all of it."""
        block = bytes(data)  # type: ignore[call-overload]
        write_all(self._disk, self._fd, block)
        return len(block)


def _write(
    sink: _Sink, root: Path, agents: Sequence[str], *, agrees: Agrees, disk: Disk
) -> Sequence[Archived]:
    made = []
    with tarfile.open(fileobj=sink, mode="w|gz", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(_folder(AGENTS))
        for agent in agents:
            folder = agent_folder(root, agent)
            snapshot = _Snapshot(disk, folder, agent)
            try:
                snapshot.take(agrees)
                made.append(snapshot.add_to(archive))
            finally:
                snapshot.close()
    return made


class _Snapshot:
    """One folder as it was at one moment."""

    def __init__(self, disk: Disk, folder: str, agent: str) -> None:
        self._disk = disk
        self._folder = folder
        self._agent = agent
        self._fd = -1
        self._end = 0
        self._beside: dict[str, bytes] = {}
        self._records = 0

    def take(self, agrees: Agrees) -> None:
        """Read until what was read agrees."""
        before = None
        for _ in range(_ROUNDS):
            self.close()
            seen = self._read(agrees)
            # What a person took out of `set-aside` stays out: it is the same each time.
            if seen is not None and (seen[0] or seen == before):
                return
            before = seen
        raise Conflict(
            f"{self._folder} changes faster than it can be read",
            hint="try again; or stop the program for as long as the backup takes",
        )

    def _read(self, agrees: Agrees) -> tuple[bool, int, bytes] | None:
        """Read it once; None if the journal was replaced meanwhile."""
        disk, path = self._disk, f"{self._folder}/{JOURNAL}"
        try:
            self._fd = disk.open(path, "read")
        except FileNotFoundError:
            self._beside, self._end, self._records = self._files(b""), 0, 0
            return True, 0, b""
        audit = read_file(disk, f"{self._folder}/{AUDIT}")
        verdict = judge(disk, path)
        if verdict.damage is not None:
            raise damaged_error(path, self._agent, verdict)
        lines = verdict.lines
        self._beside, self._end = self._files(audit), verdict.end
        self._records = sum(1 for _ in lines)
        set_aside = self._beside.get(SET_ASIDE, b"")
        seen = agrees(lines, set_aside), self._records, set_aside
        lines.close()
        return seen if disk.is_at(self._fd, path) else None

    def _files(self, audit: bytes) -> dict[str, bytes]:
        """What lies beside the journal, by its name; files of no content are left out."""
        disk, folder = self._disk, self._folder
        found = {
            AUDIT: audit[: audit.rfind(b"\n") + 1],
            SET_ASIDE: read_file(disk, f"{folder}/{SET_ASIDE}"),
        }
        if disk.kind(f"{folder}/{BLOBS}") == "folder":
            for name in disk.list_folder(f"{folder}/{BLOBS}"):
                if disk.kind(f"{folder}/{BLOBS}/{name}") == "file":
                    found[f"{BLOBS}/{name}"] = read_file(disk, f"{folder}/{BLOBS}/{name}")
        return {name: content for name, content in found.items() if content}

    def add_to(self, archive: tarfile.TarFile) -> Archived:
        """Put it into an archive."""
        base = f"{AGENTS}/{self._agent}"
        archive.addfile(_folder(base))
        size = self._end
        if self._end:
            reader = _Reader(self._disk, self._fd, self._end)
            archive.addfile(_file(f"{base}/{JOURNAL}", self._end), io.BufferedReader(reader))
        if any(name.startswith(BLOBS) for name in self._beside):
            archive.addfile(_folder(f"{base}/{BLOBS}"))
        for name, content in self._beside.items():
            archive.addfile(_file(f"{base}/{name}", len(content)), io.BytesIO(content))
            size += len(content)
        return Archived(self._agent, size, self._records)

    def close(self) -> None:
        """Close the journal; a second time does nothing."""
        if self._fd >= 0:
            self._disk.close(self._fd)
            self._fd = -1


class _Reader(io.RawIOBase):
    """The first bytes of an open file."""

    def __init__(self, disk: Disk, fd: int, end: int) -> None:
        self._disk = disk
        self._fd = fd
        self._end = end
        self._offset = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: object) -> int:
        """Fill the buffer with what comes next."""
        room = memoryview(buffer)  # type: ignore[arg-type]
        wanted = min(len(room), self._end - self._offset)
        data = self._disk.read_at(self._fd, wanted, self._offset)
        room[: len(data)] = data
        self._offset += len(data)
        return len(data)


def _folder(name: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.mode = tarfile.DIRTYPE, 0o700
    return info


def _file(name: str, size: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o600
    return info
