"""One agent's folder, `agents/<Name>/`: the store of the local engine, on files.

Puts the lock, the journal, `set-aside` and `audit.log` together behind the port `Store`. Nothing
in the folder is changed by who doesn't hold its lock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from agentctl.errors import UsageError
from agentctl.storage.files.anew import JournalAnew
from agentctl.storage.files.beside import AuditLog, SetAsideFile
from agentctl.storage.files.disk import Disk, Fuse, SystemDisk, disk_trouble
from agentctl.storage.files.journal import NAME as JOURNAL
from agentctl.storage.files.journal import Journal
from agentctl.storage.files.lock import FolderLock
from agentctl.storage.files.places import AGENTS, agent_folder
from agentctl.storage.port import Holder, Scan
from agentctl.times import Clock


class FilesStore:
    """An agent's folder under `root`; see the port `Store` for the order of its methods."""

    def __init__(
        self,
        root: Path,
        agent: str,
        disk: Disk | None = None,
        *,
        clock: Clock | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._disk: Disk = disk or SystemDisk()
        self._agent = agent
        self._root = str(Path(root).absolute())
        self._folder = agent_folder(root, agent)
        self._fuse = Fuse()
        self._lock = FolderLock(self._disk, self._folder, clock=clock, pause=pause)
        self._journal = Journal(self._disk, self._folder, agent, self._fuse)
        self._set_aside = SetAsideFile(self._disk, self._folder, self._fuse)
        self._audit = AuditLog(self._disk, self._folder, self._fuse)

    @property
    def path(self) -> str:
        """The folder's full path, for messages."""
        return self._folder

    @property
    def path_on_disk(self) -> str | None:
        """The folder's full path, where there is one on a real disk for a socket to lie in."""
        return self._folder if isinstance(self._disk, SystemDisk) else None

    @property
    def syncs(self) -> int:
        """How many times the journal was synced."""
        return self._journal.syncs

    @property
    def threaded_sync(self) -> bool:
        """Whether `sync` may run in a thread."""
        return self._disk.threaded

    def lock(self, holder: Holder, wait_s: float, *, waited_s: float = 0.0) -> None:
        """Take the folder's lock, making the folder if need be, for nobody but its owner (R24).

        Raises:
            Locked: another program holds it, still after `wait_s` seconds.
            UsageError: the folder's name is taken by something else.
            DiskTrouble: the folder can't be made or written.
        """
        try:
            self._make_folder()
        except OSError as error:
            raise disk_trouble("can't be made", self._folder, error) from error
        self._lock.take(self._agent, holder, wait_s, waited_s=waited_s)
        try:
            self._tighten()
        except OSError as error:
            self._lock.release()
            raise disk_trouble("can't be kept from others", self._folder, error) from error

    def _tighten(self) -> None:
        """Close what was copied, restored or unpacked with looser modes; from the outside in."""
        self._disk.tighten(f"{self._root}/{AGENTS}")
        self._disk.tighten(self._folder)
        for name in self._disk.list_folder(self._folder):
            path = f"{self._folder}/{name}"
            if self._disk.kind(path) == "file":
                self._disk.tighten(path)

    def _make_folder(self) -> None:
        agents = f"{self._root}/{AGENTS}"
        self._make_root(self._root)
        self._make(agents)
        self._refuse_other_case(agents)
        self._make(self._folder)
        if self._disk.kind(f"{self._folder}/{JOURNAL}") is None:
            # Also where they were there: whoever made them may have been killed before this.
            # Crash here: after a power cut the folder may be gone, and with it nothing that was
            # acknowledged.
            self._disk.sync_folder(self._root)
            self._disk.sync_folder(agents)

    def _make_root(self, path: str) -> None:
        """Make the folder that `agents/` lies in, and what is missing above it."""
        if self._disk.kind(path) is None:
            above = str(Path(path).parent)
            self._make_root(above)
            self._make(path)
            self._disk.sync_folder(above)

    def _make(self, path: str) -> None:
        kind = self._disk.kind(path)
        if kind is None:
            try:
                self._disk.make_folder(path)
            except FileExistsError:
                kind = self._disk.kind(path)  # another program was faster
            else:
                kind = "folder"
        if kind != "folder":
            raise UsageError(
                f"{path} is in the way: it isn't a folder",
                hint="move it away, or choose another place with --root",
            )

    def _refuse_other_case(self, agents: str) -> None:
        for name in self._disk.list_folder(agents):
            if name != self._agent and name.lower() == self._agent.lower():
                raise UsageError(
                    f"the agent {self._agent} can't stand beside {agents}/{name}: "
                    "their names differ only in case",
                    hint="rename one of them; some file systems take both for one",
                )

    def scan(self) -> Scan:
        """Read and check the journal; changes nothing.

        Raises:
            JournalDamaged: a record that was durable is broken, lost, doubled or out of order.
        """
        return self._journal.scan()

    def settle(self) -> None:
        """Make durable what `scan` read, changing nothing."""
        self._need_lock()
        self._journal.settle()

    def rewrite(self, bodies: Iterable[bytes], *, marked: bool = True) -> None:
        """Replace the whole journal; all of it is durable when it returns."""
        self._need_lock()
        self._journal.rewrite(bodies, marked=marked)

    @property
    def size(self) -> int:
        """How long the journal is, in bytes."""
        return self._journal.size

    def anew(self, place: int) -> JournalAnew:
        """Begin to write the journal anew while it goes on (R23)."""
        self._need_lock()
        return self._journal.anew(place)

    def append(self, bodies: Sequence[bytes]) -> int:
        """Hand records to the operating system; return the journal's place."""
        return self._journal.append(bodies)

    def sync(self) -> int:
        """Make everything appended so far durable; return up to which place that is."""
        return self._journal.sync()

    def check(self) -> None:
        """Make sure that the journal is in its place, as long as what was written."""
        self._journal.check()

    def read_set_aside(self) -> bytes:
        """The file `set-aside`, b"" if there is none."""
        return self._set_aside.read()

    def write_set_aside(self, content: bytes) -> None:
        """Replace `set-aside`, durably; b"" removes it."""
        self._need_lock()
        self._set_aside.write(content)

    def audit_tail(self, lines: int) -> Sequence[str]:
        """The last whole lines of `audit.log`, oldest first; an unfinished one is cut off."""
        self._need_lock()
        return self._audit.tail(lines)

    def audit_append(self, lines: Sequence[str]) -> None:
        """Add lines to `audit.log`; they aren't durable yet."""
        self._need_lock()
        self._audit.append(lines)

    def audit_sync(self) -> None:
        """Make `audit.log` durable."""
        self._need_lock()
        self._audit.sync()

    def _need_lock(self) -> None:
        assert self._lock.held, "changed without the folder's lock"

    def close(self) -> None:
        """Free the lock and close every file; syncs nothing. Safe to call twice."""
        self._journal.close()
        self._audit.close()
        self._lock.release()
