"""Reads journals: which records, of which event, when, in which order; secrets stay hidden.

Invariant: whatever a record holds, it is shown or left out, never raised about; nothing is
imported or run. Never changes anything and takes no lock.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Raw

from agentctl.engines.port import Desk, JournalView
from agentctl.errors import DiskTrouble
from agentctl.names import Identity, format_call_key, format_instance
from agentctl.ops.hidden import hide
from agentctl.ops.journal_documents import Damage, SeenJournal, SeenRecord
from agentctl.times import to_rfc3339

# Their first member is no event's number.
_OF_NO_EVENT: Final = frozenset({"journal", "stopping", "stop", "state"})
_CALL: Final = re.compile(r"(\d{1,18})-(\d[\d.]*)")
_LAST_INSTANT_US: Final = 253_402_300_799_999_999  # the year 9999

_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True, kw_only=True)
class JournalQuery:
    """Which records.

    Attributes:
        identity: only of this instance; () means all.
        grep: only those whose JSON, as shown, holds a match.
        last: so many at the end; None is all.
    """

    identity: Identity = ()
    event: int | None = None
    kinds: frozenset[str] = frozenset()
    grep: re.Pattern[str] | None = None
    since_us: int | None = None
    until_us: int | None = None
    last: int | None = None
    reverse: bool = False
    show_secrets: bool = False


def read_journal(desk: Desk, agent: str, query: JournalQuery) -> tuple[SeenJournal, JournalView]:
    """Read one agent's journal, as far as it can be read."""
    view = desk.journal(agent)
    records = list(_select(view, query))
    if query.last is not None:
        records = records[len(records) - query.last :] if query.last < len(records) else records
    if query.reverse:
        records.reverse()
    damaged = Damage(*view.damaged) if view.damaged else None
    return SeenJournal(agent, view.path, tuple(records), damaged), view


def raw_lines(seen: SeenJournal, query: JournalQuery) -> Iterator[bytes]:
    """The file's own lines: of the records that were chosen, or all if nothing was left out.

    Raises:
        DiskTrouble: the file can't be read.
    """
    try:
        data = Path(seen.path).read_bytes()
    except FileNotFoundError:  # it never ran
        return
    except OSError as error:
        raise DiskTrouble(f"{seen.path} can't be read: {error.strerror or error}") from None
    lines = data.removesuffix(b"\n").split(b"\n") if data else []
    if replace(query, show_secrets=False, reverse=False) == JournalQuery():
        chosen = list(reversed(lines)) if query.reverse else lines
    else:
        chosen = [lines[each.line - 1] for each in seen.records if each.line <= len(lines)]
    for line in chosen:
        yield hide(line, show_secrets=query.show_secrets)


def _select(view: JournalView, query: JournalQuery) -> Iterator[SeenRecord]:
    identities: dict[int, Identity] = {}
    now_us: int | None = None
    for line in view.lines:
        body = hide(line.body, show_secrets=query.show_secrets)
        fields = _fields(body)
        at_us = _instant(fields.get("at"))
        now_us = at_us if at_us is not None else now_us  # one without a time is as old as the last
        kind, first = next(iter(fields.items()), ("?", None))
        event, path = (None, None) if kind in _OF_NO_EVENT else _event_of(first)
        identity = _identity(fields.get("of"))
        if event is not None:
            identity = identities.setdefault(event, identity)
        if query.identity and identity != query.identity:
            continue
        if not _wanted(query, event, kind, now_us):
            continue
        if query.grep is not None and not query.grep.search(body.decode("utf-8", "replace")):
            continue
        instance = format_instance(view.agent, identity)
        yield SeenRecord(
            line=line.number,
            at=None if at_us is None else to_rfc3339(at_us),
            event=None if event is None else f"{instance}#{event}",
            kind=kind,
            key=None if path is None else format_call_key(instance, str(event), path),
            record=Raw(body if fields else msgspec.json.encode(body.decode("utf-8", "replace"))),
        )


def _wanted(query: JournalQuery, event: int | None, kind: str, now_us: int | None) -> bool:
    if query.event is not None and event != query.event:
        return False
    if query.kinds and kind not in query.kinds:
        return False
    if query.since_us is not None and (now_us is None or now_us < query.since_us):
        return False
    return query.until_us is None or now_us is None or now_us <= query.until_us


def _fields(body: bytes) -> Mapping[str, Any]:
    try:
        fields = _decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _event_of(first: object) -> tuple[int | None, str | None]:
    if isinstance(first, int) and not isinstance(first, bool):
        return first, None
    if isinstance(first, str) and (found := _CALL.fullmatch(first)):
        return int(found[1]), found[2]
    return None, None


def _instant(at: object) -> int | None:
    if isinstance(at, int) and not isinstance(at, bool) and 0 <= at <= _LAST_INSTANT_US:
        return at
    return None


def _identity(of: object) -> Identity:
    return tuple(str(part) for part in of) if isinstance(of, list) else ()
