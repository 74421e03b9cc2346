"""Reads journals: which records, of which event, when, in which order; secrets stay hidden.

Invariant: whatever a record holds, it is shown or left out, never raised about; nothing is
imported or run. Never changes anything and takes no lock.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec
from msgspec import Raw

from agentctl.engines.desk import Desk
from agentctl.engines.views import JournalLine, JournalView
from agentctl.names import Identity, format_call_key, format_instance
from agentctl.ops.hidden import hide
from agentctl.ops.journal_documents import Damage, SeenJournal, SeenRecord
from agentctl.times import LAST_INSTANT_US, to_rfc3339

MARK: Final = "synced"
"""The kind of a line that is no record: it only says how many bytes were durable."""

_OF_SCHEDULES: Final = ("schedule", "skipped", "unschedule", "paused", "resumed")
"""Kinds that begin with a schedule's name, which may look like a call's: `2026-11`."""

# Their first member is no event's number.
_OF_NO_EVENT: Final = frozenset(["journal", "stopping", "stop", "state", MARK, *_OF_SCHEDULES])
_CALL: Final = re.compile(r"(\d{1,18})-(\d[\d.]*)")
_BEGIN: Final = re.compile(rb'\{"([a-z]+)":"?([0-9]{1,18})[-,}]')

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
    """Read one agent's journal, as far as it can be read; keeps in memory what is asked for."""
    view = desk.journal(agent)
    records = select(view, query, {})
    if query.last is not None:
        records = iter(deque(records, maxlen=query.last))
    seen = tuple(records)
    damaged = Damage(*view.damaged) if view.damaged else None
    return SeenJournal(agent, view.path, seen[::-1] if query.reverse else seen, damaged), view


def raw_lines(seen: SeenJournal, view: JournalView, query: JournalQuery) -> Iterator[bytes]:
    """The file's own lines: of the records that were chosen, or all if nothing was left out."""
    texts: Iterable[JournalLine] = view.texts
    if replace(query, show_secrets=False, reverse=False) != JournalQuery():
        chosen = {each.line for each in seen.records}
        texts = (text for text in texts if text.number in chosen)
    for text in reversed(list(texts)) if query.reverse else texts:
        yield hide(text.body, show_secrets=query.show_secrets)


def select(
    view: JournalView, query: JournalQuery, identities: dict[int, Identity]
) -> Iterator[SeenRecord]:
    """Make the records that the query wants, decoding no more lines than it needs.

    Args:
        identities: which instance each event is of, as far as earlier lines said; added to.
    """
    timed = query.since_us is not None or query.until_us is not None
    by_content = query.identity or query.grep is not None or timed
    lines = iter(view.lines) if by_content else _candidates(view, query, identities)
    if not by_content and query.last is not None:
        lines = iter(deque(lines, maxlen=query.last))
    now_us: int | None = None
    for line in lines:
        body = hide(line.body, show_secrets=query.show_secrets)
        fields = _fields(body)
        at_us = _instant(fields.get("at"))
        now_us = at_us if at_us is not None else now_us  # one without a time is as old as the last
        kind, event, path = _begin(fields)
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


def _candidates(
    view: JournalView, query: JournalQuery, identities: dict[int, Identity]
) -> Iterator[JournalLine]:
    """Leave out what another kind or event begins, and note which instance each event is of."""
    for line in view.lines:
        begin = _BEGIN.match(line.body)
        if begin is None:
            yield line
            continue
        kind, event = begin[1].decode(), int(begin[2])
        if b'"of":' in line.body and kind not in _OF_NO_EVENT:
            identities.setdefault(event, _identity(_fields(line.body).get("of")))
        if query.kinds and kind not in query.kinds:
            continue
        if query.event is None or (event == query.event and kind not in _OF_NO_EVENT):
            yield line


def _begin(fields: Mapping[str, Any]) -> tuple[str, int | None, str | None]:
    """The kind that the first member says, and the event and the call that it is about."""
    kind, first = next(iter(fields.items()), ("?", None))
    return (kind, None, None) if kind in _OF_NO_EVENT else (kind, *_event_of(first))


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
    if isinstance(at, int) and not isinstance(at, bool) and 0 <= at <= LAST_INSTANT_US:
        return at
    return None


def _identity(of: object) -> Identity:
    return tuple(str(part) for part in of) if isinstance(of, list) else ()
