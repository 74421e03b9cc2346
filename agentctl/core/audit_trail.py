"""AuditTrail: the audit lines of a journal that its log doesn't have yet (R15).

A line is written after its record is durable, so a crash can only leave the last ones out: they
are what follows the log's last line. Memory doesn't grow with the lines that are there.
"""

from __future__ import annotations

from collections.abc import Iterable


class AuditTrail:
    """Collects what is missing, while a journal is folded.

    Attributes:
        missing: the lines behind the log's last one; all of them where the log has none of them.
    """

    def __init__(self, last_written: str | None) -> None:
        self._last_written = last_written
        self.missing: list[str] = []

    def add(self, lines: Iterable[str]) -> None:
        """Take the lines of the next record."""
        for line in lines:
            if line == self._last_written:
                self.missing.clear()
            else:
                self.missing.append(line)
