"""Where the control socket of an agent's folder lies, and by which name it is bound and reached.

A socket's name has room for about 100 bytes, a folder's path may be longer. So the socket lies in
the folder wherever the system lets it be named there: by the folder's real path, or on Linux
through `/proc/self/fd`. Elsewhere it lies in a folder for such files of this user, and the lock's
note says where.

Server and client follow the same rules from the folder's real path, wherever either of them
works; a path relative to the working folder is never used, because the other side couldn't use
it. A folder that isn't this user's alone is refused, never repaired.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agentctl.engines.local.control import SOCKET
from agentctl.errors import DiskTrouble
from agentctl.storage.files.disk import SystemDisk, disk_trouble
from agentctl.storage.files.lock import NAME as LOCK
from agentctl.storage.files.lock import read_note

LONGEST: Final = 100
"""Bytes of a socket's name: 108 on Linux, 104 on macOS, both with a zero at the end."""

_OPEN_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_OTHERS: Final = 0o077
_FDS: Final = "/proc/self/fd"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a control socket lies.

    Attributes:
        folder: the folder that it lies in, a full path.
        name: its name there.
        named: what the lock's note has to say: the full path, empty for one in the agent's folder.
    """

    folder: str
    name: str
    named: str = ""

    @property
    def path(self) -> str:
        """The full path, for messages; perhaps too long to be bound."""
        return f"{self.folder}/{self.name}"

    @contextmanager
    def address(self) -> Iterator[str]:
        """The name to bind or connect; good within the block.

        Raises:
            OSError: the folder can't be opened.
        """
        if _fits(self.path):
            yield self.path
            return
        fd = os.open(self.folder, _OPEN_FOLDER)
        try:
            yield f"{_FDS}/{fd}/{self.name}"
        finally:
            os.close(fd)


def place_of(folder: str) -> Place:
    """Decide where the socket of an agent's folder lies; makes nothing.

    Raises:
        DiskTrouble: no folder for it has a path that is short enough.
    """
    real = os.path.realpath(folder)
    if _fits(f"{real}/{SOCKET}") or _has_fds():
        return Place(real, SOCKET)
    digest = hashlib.sha256(os.fsencode(real)).hexdigest()[:24]
    for above in (os.environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir(), "/tmp"):  # noqa: S108 - checked before it is used
        own = f"{os.path.realpath(above)}/agentctl-{os.geteuid()}"
        path = f"{own}/{digest}"
        if above and Path(above).is_dir() and _fits(path):
            return Place(own, digest, path)
    raise DiskTrouble(
        f"{real}/{SOCKET}: the path is too long for a socket",
        hint="choose a shorter one with --root, or set XDG_RUNTIME_DIR to a short path",
    )


def served_place(folder: str) -> Place:
    """Where whoever holds the folder serves it, as far as the lock's note tells."""
    note = read_note(SystemDisk(), f"{folder}/{LOCK}")
    if note.control:
        above, _, name = note.control.rpartition("/")
        return Place(above, name, note.control)
    return Place(os.path.realpath(folder), SOCKET)


def prepare(place: Place) -> None:
    """Make the folder for a socket that can't lie in the agent's own, and check that it is ours.

    Raises:
        DiskTrouble: it can't be made, or somebody else could put a socket there.
    """
    if not place.named:
        return
    try:
        Path(place.folder).mkdir(mode=0o700, exist_ok=True)
        found = os.lstat(place.folder)
    except OSError as error:
        raise disk_trouble("can't be made", place.folder, error) from error
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    if not ours or stat.S_IMODE(found.st_mode) & _OTHERS:
        raise DiskTrouble(
            f"{place.folder} isn't a folder of this user alone (0700)",
            hint="remove it, or set XDG_RUNTIME_DIR to a folder of yours",
        )


def _fits(path: str) -> bool:
    return len(os.fsencode(path)) <= LONGEST


def _has_fds() -> bool:
    return Path(_FDS).is_dir()
