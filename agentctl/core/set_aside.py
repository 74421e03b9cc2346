"""Moving an event to `set-aside` and back (R10).

`set-aside` shows a person plain lines; what they leave out stays in the journal's `aside` record,
so that a requeued event replays exactly. The journal decides: lines in the file whose event has
no `aside` record don't count, and are taken out again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw

from agentctl.core.event_history import QUESTION, WAITED_FOR, EventHistory
from agentctl.core.keys import call_of, number_of, path_of
from agentctl.core.retrying import standing
from agentctl.errors import SetAsideDamaged
from agentctl.record_moves import AsideRecord, CancelRecord, RequeuedRecord
from agentctl.records import (
    ErrorRecord,
    EventRecord,
    FiredRecord,
    OkRecord,
    StartRecord,
    decode,
    encode,
    kind_of,
)

_SHOWN_KINDS: Final = frozenset(["call", "answer", "ok", "error", "fired", "again"])
_IN_A_CALL: Final = frozenset(["tried", "attempt", "waiting", "answer"])
_DELIVERIES: Final = {"ok": OkRecord, "error": ErrorRecord, "fired": FiredRecord}


@dataclass(frozen=True)
class SetAsideEvent:
    """One event of the file `set-aside`.

    Attributes:
        lines: all its lines as they stand there, the event's own first.
    """

    number: int
    handler: str
    args: Raw
    kwargs: Raw | None
    of: tuple[str, ...]
    lines: tuple[bytes, ...]

    @property
    def starts(self) -> int:
        """How often it was started again."""
        return sum(kind_of(line) == "again" for line in self.lines)

    @property
    def finished_calls(self) -> list[str]:
        """What it has done to the world: the names of calls with an outcome, in order."""
        names: dict[str, str] = {}
        done = []
        for line in self.lines[1:]:
            kind, record = kind_of(line), msgspec.json.decode(line)
            if kind == "call":
                names[record["call"]] = _name(record)
            elif kind in ("ok", "error"):
                done.append(names.get(record[kind], record[kind]))
        return done

    @property
    def outcomes(self) -> set[str]:
        """The keys of its calls and waits that have an outcome."""
        lines = ((kind_of(line), line) for line in self.lines[1:])
        return {msgspec.json.decode(line)[kind] for kind, line in lines if kind in _DELIVERIES}

    def edited(self, aside: AsideRecord) -> bool:
        """Whether a person changed the event's own line."""
        return bool(aside.line) and _line_digest(self.lines[0]) != aside.line


def _name(call: Mapping[str, Any]) -> str:
    step = call.get("step")
    return str(call["fn"] if step is None else f"step {step}")


def calls_under_way(event: SetAsideEvent, aside: AsideRecord) -> list[str]:
    """The names of calls that a crash cut off: each may or may not have happened."""
    calls: dict[str, str] = {}
    for body in (*event.lines[1:], *map(bytes, aside.extra)):
        kind, record = kind_of(body), msgspec.json.decode(body)
        if kind == "call" and record["fn"] not in WAITED_FOR:
            calls[record["call"]] = _name(record)
        elif kind in ("ok", "error", "dropped"):
            calls.pop(record[kind], None)
    return list(calls.values())


def plain_lines(history: EventHistory) -> list[bytes]:
    """The lines of an event as a person can read and edit them."""
    lines = [_event_line(history.accepted)]
    for body in standing(history):
        kind = kind_of(body)
        if kind in _SHOWN_KINDS and _is_shown(history, kind, body):
            lines.append(_plain(kind, body))
    return lines


def _event_line(accepted: EventRecord) -> bytes:
    kwargs = accepted.kwargs if _has_members(accepted.kwargs) else UNSET
    return encode(
        EventRecord(accepted.event, accepted.handler, accepted.args, kwargs=kwargs, of=accepted.of)
    )


def _has_members(kwargs: object) -> bool:
    return isinstance(kwargs, Raw) and bytes(kwargs) != b"{}"


def _is_shown(history: EventHistory, kind: str, body: bytes) -> bool:
    if kind not in ("call", "answer"):
        return True
    record: Any = decode(body)
    path = path_of(getattr(record, kind))
    if kind == "answer":  # without it the end of a question's wait would be that of its time
        return history.calls[path].fn == QUESTION and path in history.ended - history.dropped
    return path not in history.dropped and (path in history.ended or not record.repeat)


def _is_hidden(history: EventHistory, body: bytes) -> bool:
    kind = kind_of(body)
    if kind in _IN_A_CALL:  # how a call that is over came there isn't needed any more
        return path_of(getattr(decode(body), kind)) not in history.ended
    return kind == "dropped" or (kind == "call" and not _is_shown(history, kind, body))


def _plain(kind: str, body: bytes) -> bytes:
    members = msgspec.json.decode(body, type=dict[str, Raw])
    for hidden in ("at", "alone"):
        members.pop(hidden, None)
    assert next(iter(members)) == kind
    return msgspec.json.encode(members)


def aside_record(history: EventHistory, at_us: int) -> AsideRecord:
    """What the journal keeps of an event whose lines lie in `set-aside`."""
    accepted = history.accepted
    hidden = [Raw(body) for body in standing(history) if _is_hidden(history, body)]
    times = {
        call_of(one): one.at for _, one in history.deliveries if not isinstance(one, CancelRecord)
    }
    return AsideRecord(
        accepted.event,
        accepted.handler,
        history.starts,
        accepted.nonce,
        line=_line_digest(_event_line(accepted)),
        of=accepted.of,
        key=accepted.key,
        lane=accepted.lane,
        digest=accepted.digest,
        from_=accepted.from_,
        asker=accepted.asker,
        behind=accepted.behind,
        schedule=accepted.schedule,
        occurrence=accepted.occurrence or accepted.due,
        missed=accepted.missed,
        once=accepted.once,
        accepted=accepted.at,
        started=history.started_us or 0,
        times=times,
        extra=tuple(hidden),
        at=at_us,
    )


def _line_digest(line: bytes) -> str:
    # Spaces that an editor leaves don't make another event.
    return hashlib.sha256(msgspec.json.encode(msgspec.json.decode(line))).hexdigest()


class _EventLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    event: int
    handler: str
    args: list[Raw]
    kwargs: dict[str, Raw] = {}
    of: tuple[str, ...] = ()


def parse(content: bytes, path: str) -> list[SetAsideEvent]:
    """Read the file `set-aside`.

    Raises:
        SetAsideDamaged: a line that can't be read; the message names file and line.
    """
    groups: dict[int, list[bytes]] = {}
    event = 0
    for number, raw in enumerate(content.split(b"\n"), start=1):
        line = raw.strip()
        if not line:
            continue
        try:
            owner = _owner(line)
            if kind_of(line) == "event":
                if owner in groups:
                    raise ValueError(f"event {owner} is there twice")
                event, groups[owner] = owner, []
            elif not groups:
                raise ValueError("the first line is no event's")
            elif owner != event:
                raise ValueError(f"it belongs to event {owner}, and stands among those of {event}")
        except (ValueError, RecursionError) as error:
            raise SetAsideDamaged(
                f"{path}, line {number}: {error}",
                hint="mend the line with an editor, or take the event's lines out",
            ) from None
        groups[event].append(line)
    return [_event(lines) for lines in groups.values()]


def _owner(line: bytes) -> int:
    """The number of the event that a line belongs to.

    Raises:
        ValueError: it can't be read, or doesn't belong into the file at all.
    """
    kind = kind_of(line)
    if kind == "event":
        return msgspec.json.decode(line, type=_EventLine).event
    if kind in _SHOWN_KINDS:
        return number_of(decode(line))
    raise ValueError(f"a line of the kind {kind!r} doesn't belong here")


def _event(lines: Sequence[bytes]) -> SetAsideEvent:
    first = msgspec.json.decode(lines[0], type=_EventLine)
    kwargs = Raw(msgspec.json.encode(first.kwargs)) if first.kwargs else None
    args = Raw(msgspec.json.encode(first.args))
    return SetAsideEvent(first.event, first.handler, args, kwargs, first.of, tuple(lines))


def render(events: Iterable[SetAsideEvent]) -> bytes:
    """Write the file `set-aside`."""
    return b"".join(line + b"\n" for event in events for line in event.lines)


def requeue_bodies(event: SetAsideEvent, aside: AsideRecord, at_us: int) -> list[bytes]:
    """The one batch that puts an event back under its number; its last line commits it.

    Raises:
        SetAsideDamaged: its lines were edited to what can't have happened.
    """
    accepted = EventRecord(
        event.number,
        event.handler,
        event.args,
        kwargs=event.kwargs or UNSET,
        of=event.of,
        key=aside.key,
        lane=aside.lane,
        digest=aside.digest,
        from_=aside.from_,
        asker=aside.asker,
        behind=aside.behind,
        schedule=aside.schedule,
        occurrence=aside.occurrence,
        missed=aside.missed,
        beside=aside.schedule is not None,
        once=aside.once,
        nonce=aside.nonce,
        at=aside.accepted,
    )
    bodies = [encode(accepted)]
    recorded = [line for line in event.lines[1:] if kind_of(line) != "again"]
    # Where nothing came of any call, all of them are made anew.
    if recorded or any(kind_of(bytes(raw)) in _IN_A_CALL for raw in aside.extra):
        bodies.append(encode(StartRecord(event.number, aside.started)))
        bodies += [_timed(line, aside.times) for line in recorded]
        bodies += [bytes(raw) for raw in _calls_first(aside.extra)]
    _check_possible(accepted, bodies[1:])
    return [*bodies, encode(RequeuedRecord(event.number, of=event.of, lines=len(bodies), at=at_us))]


def _check_possible(accepted: EventRecord, bodies: Iterable[bytes]) -> None:
    """See whether a start will be able to read the requeued event."""
    history = EventHistory(accepted, b"")
    try:
        for body in bodies:
            record: Any = decode(body)
            history.fold(kind_of(body), record, body)
    except ValueError as error:
        raise SetAsideDamaged(
            f"the lines of event {accepted.event} in set-aside can't have happened: {error}",
            hint="put the line back, or requeue it as a new event: --fresh",
        ) from None


def _calls_first(extra: Iterable[Raw]) -> list[Raw]:
    return sorted(extra, key=lambda raw: kind_of(bytes(raw)) != "call")


def _timed(line: bytes, times: Mapping[str, int]) -> bytes:
    record: Any = decode(line)
    kind = kind_of(line)
    if kind in _DELIVERIES:
        return encode(msgspec.structs.replace(record, at=times.get(getattr(record, kind), 0)))
    return encode(record)


def fresh_bodies(
    event: SetAsideEvent,
    number: int,
    nonce: str,
    at_us: int,
    *,
    lane: str | None = None,
    run: AsideRecord | None = None,
) -> list[bytes]:
    """The batch that makes a new event of a set-aside one; its first line decides.

    Args:
        lane: as in the set-aside event's record.
        run: what the journal keeps of it, if it is a workflow's run: it is one again.
    """
    accepted = EventRecord(
        number,
        event.handler,
        event.args,
        kwargs=event.kwargs or UNSET,
        of=event.of,
        key=None if run is None else run.key,
        lane=lane,
        digest=None if run is None else run.digest,
        was=event.number,
        once=run is not None,
        nonce=nonce,
        at=at_us,
    )
    return [
        encode(accepted),
        encode(RequeuedRecord(event.number, of=event.of, fresh=number, at=at_us)),
    ]
