"""VolatileStore: an agent without a journal; nothing survives the program.

The folder's lock is held, and the audit log kept, only if the agent has an audit log.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agentctl.storage.port import Anew, Holder, Scan, Store


class VolatileStore:
    """Implements `Store` without a journal; `beside` keeps lock and audit log, where wanted."""

    def __init__(self, path: str, beside: Store | None) -> None:
        self._path = path
        self._beside = beside
        self._written = 0

    @property
    def path(self) -> str:
        """The folder's full path, for messages."""
        return self._path

    @property
    def path_on_disk(self) -> str | None:
        """The folder's full path, where the agent has one."""
        return None if self._beside is None else self._beside.path_on_disk

    @property
    def syncs(self) -> int:
        """Always 0: nothing is synced."""
        return 0

    @property
    def threaded_sync(self) -> bool:
        """Always False: there is nothing to wait for."""
        return False

    def lock(self, holder: Holder, wait_s: float, *, waited_s: float = 0.0) -> None:
        """Take the folder's lock if there is an audit log to keep."""
        if self._beside is not None:
            self._beside.lock(holder, wait_s, waited_s=waited_s)

    def scan(self) -> Scan:
        """There is no journal to read, and none that lies there is touched."""
        return Scan((), None, exists=False, end=0)

    def settle(self) -> None:
        """Nothing was read."""

    def rewrite(self, bodies: Iterable[bytes], *, marked: bool = True) -> None:
        """Nothing to rewrite."""

    @property
    def size(self) -> int:
        """Always 0: there is no journal to grow."""
        return 0

    def anew(self, place: int) -> Anew:
        """Nothing to write anew: it never grows."""
        raise AssertionError("an agent without a journal has none to write anew")

    def append(self, bodies: Sequence[bytes]) -> int:
        """Count what would have been written."""
        self._written += sum(map(len, bodies))
        return self._written

    def sync(self) -> int:
        """Say that all is as durable as it will ever be."""
        return self._written

    def check(self) -> None:
        """Nothing was written that could be gone."""

    def read_set_aside(self) -> bytes:
        """Nothing is ever set aside."""
        return b""

    def write_set_aside(self, content: bytes) -> None:
        """Nothing is ever set aside."""
        assert not content, "an agent without a journal sets nothing aside"

    def audit_tail(self, lines: int) -> Sequence[str]:
        """The last lines of the audit log."""
        return self._beside.audit_tail(lines) if self._beside is not None else ()

    def audit_append(self, lines: Sequence[str]) -> None:
        """Add lines to the audit log, if there is one."""
        if self._beside is not None:
            self._beside.audit_append(lines)

    def audit_sync(self) -> None:
        """Make the audit log durable, if there is one."""
        if self._beside is not None:
            self._beside.audit_sync()

    def close(self) -> None:
        """Free the lock."""
        if self._beside is not None:
            self._beside.close()
