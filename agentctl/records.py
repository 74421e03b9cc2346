"""The kinds of record of a journal: one small struct each, and their JSON.

The first member of a record names its kind (`{"ok":"1-1",…}`), as docs/records.md specifies. The
frame around a record (checksum, `synced`) belongs to storage and is not seen here. Values inside
records stay raw JSON: reading a journal never builds a user's object, imports or runs anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

from agentctl.errors import AgentctlError, FormatTooNew
from agentctl.record_base import RecordBase
from agentctl.record_kept import OutcomeRecord, StateRecord
from agentctl.record_moves import (
    AnsweredRecord,
    AsideRecord,
    CancelledRecord,
    CancelRecord,
    DeletedRecord,
    DropRecord,
    MissedRecord,
    RequeuedRecord,
    RetryRecord,
    StoppingRecord,
    StopRecord,
    ToldRecord,
)
from agentctl.record_schedules import (
    PausedRecord,
    ResumedRecord,
    ScheduleRecord,
    SkippedRecord,
    UnscheduleRecord,
)
from agentctl.record_steps import AnswerRecord, AttemptRecord, TriedRecord, WaitingRecord

FORMAT: Final = 1

EMPTY_ARGS: Final = Raw(b"[]")
NULL: Final = Raw(b"null")


class Header(RecordBase, frozen=True):
    """The first record: format, owner, and the number that the next event gets.

    Attributes:
        kept: records behind it that a rewrite carried over; they were audited before.
        open: events that hadn't ended when it was written.
        start: false where a command rewrote the journal, not a program that starts.
        audit: false where the agent keeps no audit log.
        cut: what was wrong with a tail that this start cut off (R13).
        keep: how many ended events are kept, whoever writes it anew.
        since: where a running program wrote it: the records behind those carried over stood in
            the journal before it, too, from this byte on (R23).
        since_crc: the checksum of the line before that byte.
    """

    journal: int
    agent: str
    id: str
    next: int
    kept: int = 0
    open: int = 0
    start: bool = True
    audit: bool = True
    cut: str | None = None
    keep: int = 100
    since: int = 0
    since_crc: str = ""
    at: int = 0


class EventRecord(RecordBase, frozen=True, rename={"from_": "from"}):
    """An event was accepted (R1). `of` is the identity; `nonce` its random part (R1).

    Attributes:
        from_: the call key of the event that asked for it (R16); `asker` that event's nonce.
        behind: the instances that wait for it, from the asking one outwards.
        was: the set-aside event whose place it takes: no longer set aside from here on (R10).
        late: how long after its due time it may begin; later it is missed (R18).
        schedule, occurrence: of a scheduled one: the schedule's name, and the due time.
        missed: how many missed due times it stands for, its own included if it is one.
        next: the schedule's next due time: this record is what moves it on; None: it was the last.
        beside: it was asked for beside the schedule, and moves nothing.
        note: what is unusual about its due time, for people.
        once: a workflow's run: its key is the instance's only one, and its outcome stays.

    A timing of this agent's own makes it: then `from_` is that call, without `asker`, and the
    record counts with the one that follows, the call's result.
    """

    event: int
    handler: str
    args: Raw
    kwargs: Raw | UnsetType = UNSET
    of: tuple[str, ...] = ()
    key: str | None = None
    due: int | None = None
    lane: str | None = None
    digest: str | None = None
    from_: str | None = None
    asker: str | None = None
    behind: tuple[str, ...] = ()
    was: int | None = None
    late: int | None = None
    schedule: str | None = None
    occurrence: int | None = None
    missed: int = 0
    next: int | None = None
    beside: bool = False
    note: str | None = None
    once: bool = False
    nonce: str = ""
    at: int = 0

    @property
    def moves(self) -> bool:
        """Whether it is an occurrence that moves its schedule on."""
        return self.schedule is not None and not self.beside


class StartRecord(RecordBase, frozen=True):
    """The event begins to execute; its `at` is the handler's first `now()`."""

    start: int
    at: int


class CallRecord(RecordBase, frozen=True):
    """The handler asked for something: a capability call, a timer, another agent's handler.

    Attributes:
        fn: `Capability.method`; or `step`, `timer`, `question`, `ask`, `query`; `trigger` and
            `schedule` of timings, `cancel` and `result` of what they made, `schedules` of a look.
        step: of a step: its name; `undoes` the call whose result it undoes.
        text, type, schema: of a question: as of a `waiting`.
        to: of what concerns another event: its instance, or its address; `handler` what of it.
        timing: of `trigger` and `schedule`: when, as it was asked for.
        repeat: false for a call that isn't made again after a crash (R9).
        up: of what has an end: the machine's boot and uptime when it was set, which no setting of
            the clock changes (R19).
    """

    call: str
    fn: str
    step: str | None = None
    undoes: str | None = None
    text: str | None = None
    type: str | None = None
    schema: Raw | UnsetType = UNSET
    args: Raw | UnsetType = UNSET
    kwargs: Raw | UnsetType = UNSET
    to: str | None = None
    handler: str | None = None
    digest: str | None = None
    timing: Raw | UnsetType = UNSET
    until: int | None = None
    up: str | None = None
    repeat: bool = True
    at: int = 0

    @property
    def name(self) -> str:
        """What was called, for people: `Payments.refund`, `step charge`, `undo charge`."""
        if self.step is None:
            return self.fn
        return f"{self.fn if self.undoes is None else 'undo'} {self.step}"


class OkRecord(RecordBase, frozen=True):
    """A call's result; of a step also the fields of the state that it changed."""

    ok: str
    value: Raw = NULL
    state: Raw | UnsetType = UNSET
    at: int = 0


class ErrorRecord(RecordBase, frozen=True):
    """A call's error; `args` is left out where they can't be recorded."""

    error: str
    type: str
    args: Raw | UnsetType = UNSET
    text: str = ""
    at: int = 0


class FiredRecord(RecordBase, frozen=True):
    """A wait ended: a timer's, or a question's, by its answer if one is on record before."""

    fired: str
    at: int = 0


class DroppedRecord(RecordBase, frozen=True):
    """Nobody waits for the call any more: it isn't made again (R9)."""

    dropped: str


class ParkedRecord(RecordBase, frozen=True):
    """The event only waits for time: a crash from here on isn't its fault (R10)."""

    parked: int


class AgainRecord(RecordBase, frozen=True):
    """The event starts again after a death (R10); `alone`: nothing else executed beside it."""

    again: int
    alone: bool = False
    at: int = 0


class BugRecord(RecordBase, frozen=True):
    """The event is stuck (R8): a bug, or a divergence (R6).

    Attributes:
        call: of a divergence: the call that differs.
        undo, forget: what accepting the divergence does to the record, as in `RetryRecord`.
    """

    bug: int
    text: str
    line: str | None = None
    divergence: bool = False
    call: str | None = None
    undo: tuple[str, ...] = ()
    forget: tuple[str, ...] = ()
    at: int = 0


class DoneRecord(RecordBase, frozen=True):
    """The handler returned; the instance's state is committed with it (R16).

    `unheard`: nobody waited for the outcome, so the audit log carries it (R8).
    """

    done: int
    value: Raw = NULL
    state: Raw | UnsetType = UNSET
    unheard: bool = False
    at: int = 0


class FailedRecord(RecordBase, frozen=True):
    """The event ended in an error that its caller is meant to see.

    `calls` are those that the error came out of, where it came out of any: a retry makes them anew.
    """

    failed: int
    type: str
    args: Raw | UnsetType = UNSET
    text: str = ""
    calls: tuple[str, ...] = ()
    unheard: bool = False
    at: int = 0


Record: TypeAlias = (
    Header
    | EventRecord
    | StartRecord
    | CallRecord
    | OkRecord
    | ErrorRecord
    | FiredRecord
    | DroppedRecord
    | ParkedRecord
    | AgainRecord
    | BugRecord
    | DoneRecord
    | FailedRecord
    | AsideRecord
    | RequeuedRecord
    | DropRecord
    | StateRecord
    | OutcomeRecord
    | StoppingRecord
    | StopRecord
    | CancelRecord
    | CancelledRecord
    | RetryRecord
    | DeletedRecord
    | ToldRecord
    | AnsweredRecord
    | MissedRecord
    | ScheduleRecord
    | SkippedRecord
    | UnscheduleRecord
    | PausedRecord
    | ResumedRecord
    | TriedRecord
    | AttemptRecord
    | WaitingRecord
    | AnswerRecord
)

KINDS: Final[dict[str, type[RecordBase]]] = {
    "journal": Header,
    "event": EventRecord,
    "start": StartRecord,
    "call": CallRecord,
    "ok": OkRecord,
    "error": ErrorRecord,
    "fired": FiredRecord,
    "dropped": DroppedRecord,
    "parked": ParkedRecord,
    "again": AgainRecord,
    "bug": BugRecord,
    "done": DoneRecord,
    "failed": FailedRecord,
    "aside": AsideRecord,
    "requeued": RequeuedRecord,
    "drop": DropRecord,
    "state": StateRecord,
    "outcome": OutcomeRecord,
    "stopping": StoppingRecord,
    "stop": StopRecord,
    "cancel": CancelRecord,
    "cancelled": CancelledRecord,
    "retry": RetryRecord,
    "deleted": DeletedRecord,
    "told": ToldRecord,
    "answered": AnsweredRecord,
    "missed": MissedRecord,
    "schedule": ScheduleRecord,
    "skipped": SkippedRecord,
    "unschedule": UnscheduleRecord,
    "paused": PausedRecord,
    "resumed": ResumedRecord,
    "tried": TriedRecord,
    "attempt": AttemptRecord,
    "waiting": WaitingRecord,
    "answer": AnswerRecord,
}

_encoder = msgspec.json.Encoder()
_READERS: Final[dict[bytes, tuple[str, Callable[[bytes], Any]]]] = {}
"""By the kind as written; made when a kind is first met, since commands start quickly."""

encode = _encoder.encode
"""Write a record's body: compact JSON, without the frame."""

R = TypeVar("R")


def kind_of(body: bytes) -> str:
    """The name of a record's first member, "" where the body has none."""
    if not body.startswith(b'{"'):
        return ""
    end = body.find(b'"', 2)
    return body[2:end].decode("utf-8", "replace") if end > 0 else ""


def decode(body: bytes) -> Record:
    """Read one record.

    Raises:
        FormatTooNew: a kind of record that this version doesn't know.
        ValueError: it is no record at all, or a member has the wrong type.
    """
    return decode_kind(body)[1]


def decode_kind(body: bytes) -> tuple[str, Record]:
    """Read one record, and say of which kind it is."""
    written = body[2 : body.find(b'"', 2)] if body[:2] == b'{"' else b""
    found = _READERS.get(written) or _new_reader(written)
    if found is None:
        raise _unknown(body)
    return found[0], found[1](body)


def _new_reader(written: bytes) -> tuple[str, Callable[[bytes], Any]] | None:
    kind = written.decode("utf-8", "replace")
    if kind not in KINDS:
        return None
    made = _READERS[written] = (kind, msgspec.json.Decoder(KINDS[kind]).decode)
    return made


def _unknown(body: bytes) -> AgentctlError | ValueError:
    kind = kind_of(body)
    if not kind:
        return ValueError("not a record: it doesn't begin with the name of a kind")
    return FormatTooNew(
        f"a record of the kind {kind[:40]!r} isn't known to this version",
        hint="use the version of agentctl that wrote it",
    )
