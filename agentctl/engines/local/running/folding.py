"""Folding a journal's lines into what they say; what can't follow is damage with file and line.

A start folds a journal as a whole, a running program that writes it anew a part at a time.
"""

from __future__ import annotations

from collections.abc import Iterable

from agentctl.core.history import JournalHistory
from agentctl.errors import JournalDamaged
from agentctl.record_lines import check_format, decode_line
from agentctl.records import Header
from agentctl.storage.port import Line


def fold_some(history: JournalHistory, agent: str, path: str, lines: Iterable[Line]) -> None:
    """Fold the next lines of a journal.

    Raises:
        JournalDamaged: a record can't follow what stands before it.
        FormatTooNew: a later version wrote it.
    """
    for line in lines:
        body = line.body
        kind, record = decode_line(body, path=path, line=line.number)
        try:
            if type(record) is Header:
                _check_header(record, agent, path)
            history.fold(kind, record, body)
        except ValueError as error:
            raise _damaged(agent, path, line.number, str(error)) from None


def check_whole(history: JournalHistory, agent: str, path: str) -> None:
    """Refuse a rewritten journal that got shorter: it got its name when all was durable.

    Raises:
        JournalDamaged: records that it carried over are missing.
    """
    kept = history.header.kept if history.header is not None else 0
    if kept and history.records <= kept:
        reason = f"the header says that {kept} records follow, and {history.records - 1} do"
        raise _damaged(agent, path, history.records + 1, reason)


def _damaged(agent: str, path: str, line: int, reason: str) -> JournalDamaged:
    hint = f"read what is there with: agentctl inspect journal {agent}"
    return JournalDamaged(path, line, reason, hint=hint)


def _check_header(header: Header, agent: str, path: str) -> None:
    check_format(path, header.journal)
    if header.agent != agent:
        raise ValueError(f"the journal is the agent {header.agent}'s, not {agent}'s")
