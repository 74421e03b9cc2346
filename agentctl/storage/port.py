"""What the local engine needs of a store: one agent's folder.

A *body* is one record as JSON without the frame: `b'{"ok":"1-1","value":3}'`. The store adds what
makes it safe on disk (checksum, `synced` marks) and takes it off again when it reads.

Order of life: `lock()`, then `scan()`, perhaps `settle()`, then `rewrite()`, then any number of
`append()` and `sync()`, then `close()`. Before `rewrite` nothing of the journal is changed.
Every method but `sync` is called from one thread; `sync` may run in another thread while
`append` goes on, and so may `audit_sync` and `Anew.sync`.

A *place* is where the journal has grown to, in bytes; it only grows, also when the journal is
written anew and gets shorter.

Each method that touches the disk raises `DiskTrouble` when that fails; after that the store
refuses every further change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from msgspec import Struct


class Line(Struct, frozen=True, gc=False):
    """One record as read.

    Attributes:
        number: its line in the file, counted from 1.
        offset: where it begins, in bytes.
        body: the record without `synced` and `crc`.
    """

    number: int
    offset: int
    body: bytes


class Scan(Struct, frozen=True):
    """A journal as it lies on disk.

    Attributes:
        lines: every record that counts; to be walked through as often as need be.
        cut: what is wrong with the tail that doesn't count, or None; `rewrite` removes it.
        exists: False where there is no journal yet (or an empty one).
        end: bytes up to the end of the last line that counts.
    """

    lines: Iterable[Line]
    cut: str | None
    exists: bool
    end: int


class Holder(Struct, frozen=True):
    """Who holds a folder's lock; as the file `lock` tells it.

    Attributes:
        since: RFC 3339, UTC.
        control: the full path of its control socket; empty where that lies in the folder.
    """

    pid: int
    host: str
    command: str
    since: str
    control: str = ""


class Anew(Protocol):
    """A journal that is written anew while the old one goes on (R23).

    Order of life: all `lines`, then `write` what is still of use of them, then `copy` what was
    appended since, a part at a time, then `take_over`, or, at any time, `close`.
    """

    @property
    def end(self) -> int:
        """How many bytes of the old journal the lines are."""
        ...

    @property
    def crc(self) -> str:
        """The checksum of the last of the lines, once they were walked through."""
        ...

    def lines(self) -> Iterator[Line]:
        """The old journal's records up to there, checked; to be walked through once.

        Raises:
            JournalDamaged: they are no longer what was written.
        """
        ...

    def write(self, bodies: Sequence[bytes]) -> None:
        """Write records that stand for the lines."""
        ...

    def copy(self) -> int:
        """Copy a next part of what was appended since; return how many bytes are left."""
        ...

    def sync(self) -> None:
        """Make what was written durable, so that little is left for the last sync."""
        ...

    def take_over(self) -> None:
        """Copy the rest; from now on records go to both, and the store's next sync exchanges them.

        Every audit line of the lines must be durable by then; no sync may be under way.
        """
        ...

    def close(self) -> None:
        """Give it up, unless it was taken over; a second time does nothing."""
        ...

    def remove(self) -> None:
        """Remove what was written of it, once it is given up; it would do no harm."""
        ...


class Store(Protocol):
    """One agent's folder."""

    @property
    def path(self) -> str:
        """The folder's full path, for messages."""
        ...

    @property
    def path_on_disk(self) -> str | None:
        """The folder's full path, where there is one on a real disk for a socket to lie in."""
        ...

    @property
    def syncs(self) -> int:
        """How many times the journal was synced; counted for the benchmarks."""
        ...

    @property
    def threaded_sync(self) -> bool:
        """Whether `sync` may run in a thread; False where a test wants one order of things."""
        ...

    def lock(self, holder: Holder, wait_s: float, *, waited_s: float = 0.0) -> None:
        """Take the folder's lock, making the folder (0700) if need be.

        Args:
            waited_s: how long the caller has waited already, for the error's message.

        Raises:
            Locked: another program holds it, still after `wait_s` seconds.
        """
        ...

    def scan(self) -> Scan:
        """Read and check the journal (R13); changes nothing.

        Raises:
            JournalDamaged: a record that was durable is broken, lost, doubled or out of order.
        """
        ...

    def settle(self) -> None:
        """Make durable what `scan` read, changing nothing: it may only have been on record."""
        ...

    def rewrite(self, bodies: Iterable[bytes], *, marked: bool = True) -> None:
        """Replace the whole journal: written aside, synced, renamed, folder synced (R14, R23).

        May also be called later, between two appends, for compaction.

        Args:
            bodies: all that the journal holds from now on.
            marked: end it with a line that proves all of it durable; a journal that never held
                anything needs none.
        """
        ...

    @property
    def size(self) -> int:
        """How long the journal is, in bytes; 0 where there is none."""
        ...

    def anew(self, place: int) -> Anew:
        """Begin to write the journal anew while it goes on.

        Args:
            place: up to where it is durable, with every audit line of it written.
        """
        ...

    def append(self, bodies: Sequence[bytes]) -> int:
        """Hand records to the operating system, in one write; they are *on record* then.

        Returns:
            The journal's place: `sync()` has made them durable once it returns as much.
        """
        ...

    def sync(self) -> int:
        """Make everything appended so far durable.

        Returns:
            Up to which place the journal is durable now, at least.

        Raises:
            DiskTrouble: the disk failed, or somebody moved, replaced or cut off the journal.
        """
        ...

    def check(self) -> None:
        """Make sure that the journal is in its place, as long as what was written.

        `sync` does so, too; this is for a program that has nothing to write.

        Raises:
            DiskTrouble: somebody moved, replaced, deleted or cut it off.
        """
        ...

    def read_set_aside(self) -> bytes:
        """The file `set-aside`, b"" if there is none."""
        ...

    def write_set_aside(self, content: bytes) -> None:
        """Replace `set-aside`: written aside, synced, renamed, folder synced; b"" removes it."""
        ...

    def audit_tail(self, lines: int) -> Sequence[str]:
        """The last `lines` whole lines of `audit.log`, oldest first, without line ends.

        An unfinished last line (a crash cut it off) is truncated away first.
        """
        ...

    def audit_append(self, lines: Sequence[str]) -> None:
        """Add lines to `audit.log`; they needn't be durable, the journal completes them."""
        ...

    def audit_sync(self) -> None:
        """Make `audit.log` durable; before a rewrite drops the records it comes from."""
        ...

    def close(self) -> None:
        """Free the lock and close every file; syncs nothing. Safe to call twice."""
        ...
