"""What a reader sees of an agent: its events, their calls, its instances, who holds its folder.

All of it follows from the journal and the lock's note; values are JSON as recorded. `State` words
are those of R8: without a holder an event that executed counts as queued.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from agentctl.core.lanes import Priority
from agentctl.engines.changes import State
from agentctl.engines.inputs import InputView
from agentctl.engines.step_views import AttemptView, StepView
from agentctl.names import Address


class HolderView(Struct, frozen=True):
    """The program that holds an agent's folder.

    Attributes:
        since: RFC 3339, UTC.
    """

    pid: int
    host: str
    command: str
    since: str


class CallView(Struct, frozen=True):
    """One call of an event.

    Attributes:
        key: its call key.
        fn: what was called: `Payments.refund`, `step charge`, `timer`, `ask`, `question`.
        state: `open`, `ok`, `error`, `fired`, `answered` or `dropped`.
        outcome: of `ok` and `answered` the value as JSON, of `error` its type and text.
        until_us: of a timer or a question: its end.
        where: of one that is being made: file and line at which its code stands.
        about: of one that concerns another event: the handler that is asked or scheduled,
            `Stock/eu.reserve`, or the event or schedule that is cancelled or waited for; what is
            asked, of one that needs an input.
        by: who answered.
        attempts: of a step, and of a call that was tried again: the last one last.
        next_us: of one that backs off: when the next attempt begins.
    """

    key: str
    fn: str
    state: str
    args: bytes | None = None
    outcome: str | None = None
    at_us: int = 0
    ended_us: int | None = None
    until_us: int | None = None
    where: str | None = None
    about: str | None = None
    by: str | None = None
    attempts: Sequence[AttemptView] = ()
    next_us: int | None = None
    kwargs: bytes | None = None


class LockView(Struct, frozen=True):
    """The lock of an agent's folder.

    Attributes:
        note: what its last holder wrote into it; None where nothing stands there.
        held: a program holds it just now; else the note is what a killed one left.
    """

    agent: str
    path: str
    note: HolderView | None
    held: bool


class EventView(Struct, frozen=True):
    """One event as its records tell it.

    Attributes:
        args: the arguments by position, a JSON list.
        starts: starts without a new result (R10).
        text: of one that failed or is stuck: what it says; `type` the error's type.
        value: of one that completed: the result as JSON.
        next_us: when it goes on by itself, of a sleeping or scheduled one.
        waits_for: of a waiting one: whose answer, or the key of the call that needs an input; of a
            queued one: the event that holds its instance.
        cancelling: a cancel is on record, and it hasn't ended yet.
        schedule: the name of the one that made it, at its due time `due_us`; that is None of one
            that was triggered. An event that was itself scheduled has a due time alone.
        inputs: what it waits for that a person can give, in the order of the calls.
        steps: those that were begun, in the order of their starts, undoings included.
        once: it is a workflow's run.
    """

    event: Address
    handler: str
    state: State
    args: bytes = b"[]"
    kwargs: bytes | None = None
    key: str | None = None
    priority: Priority = "medium"
    accepted_us: int = 0
    started_us: int | None = None
    ended_us: int | None = None
    starts: int = 0
    type: str | None = None
    text: str = ""
    line: str | None = None
    value: bytes | None = None
    next_us: int | None = None
    waits_for: str | None = None
    from_: str | None = None
    records: int = 0
    calls: Sequence[CallView] = ()
    cancelling: bool = False
    schedule: str | None = None
    due_us: int | None = None
    inputs: Sequence[InputView] = ()
    steps: Sequence[StepView] = ()
    once: bool = False


class KeyView(Struct, frozen=True):
    """An idempotency key that is remembered, and what became of its event."""

    key: str
    event: Address
    state: State


class InstanceView(Struct, frozen=True):
    """One instance: what is kept of it.

    Attributes:
        next_due_us: when the next of its events goes on by itself, or a schedule of it fires.
        state: as JSON; None if none was committed.
    """

    instance: Address
    state_bytes: int
    open: int
    next_due_us: int | None = None
    state: bytes | None = None
    keys: Sequence[KeyView] = ()


class AgentView(Struct, frozen=True):
    """One agent's journal as a whole, at one moment.

    Attributes:
        holder: None where no program holds the folder.
        events: the open ones, by number; then those that are set aside; with `ended`, also those
            that are kept of what is over.
        counts: open events by state.
        journal_bytes: the journal's length.
        damaged: the first damaged line and the reason, or None.
    """

    agent: str
    holder: HolderView | None
    events: Sequence[EventView]
    counts: Mapping[State, int]
    set_aside: int
    journal_bytes: int
    damaged: tuple[int, str] | None = None


class RunningCall(Struct, frozen=True):
    """A call that is being made right now.

    Attributes:
        where: file and line at which its code stands, where that can be seen.
    """

    key: str
    fn: str
    since_us: int
    where: str | None = None


class Inside(Struct, frozen=True):
    """A look into a running program.

    Attributes:
        executing: the events that hold a permit.
        unable: events that are stuck since their handler is gone, or no longer takes their
            arguments, each with the reason; no record says so, since new code may be able.
        warnings: the latest, each with its time in microseconds of the wall clock.
        holding: the events that hold an instance, or a schedule's turn, which others wait for.
    """

    now_us: int
    executing: Sequence[int]
    unable: Mapping[int, str]
    calls: Sequence[RunningCall]
    warnings: Sequence[tuple[int, str]]
    holding: Sequence[int] = ()


class ArchivedView(Struct, frozen=True):
    """One agent's part of an archive.

    Attributes:
        bytes: how long its files are.
        records: how many records of its journal are in it.
    """

    agent: str
    bytes: int
    records: int


class CountView(Struct, frozen=True):
    """How an agent stands, without its events one by one; quick also where there are many.

    Attributes:
        counts: open events by state.
        next_due_us: when the next of them goes on by itself, or a schedule fires.
        late_us: how long what is most overdue has been due; 0 if nothing is.
        inside: what the program that holds the folder says of itself, if it answers.
        long: the open events with more than `MANY_RECORDS` records.
        cancelling: the open events that a cancel is on record of.
        schedules: how many there are that fire; paused ones don't.
        schedules_late_us: how long the one of them that is most overdue has been due.
        longest_wait_us: of the events that wait for somebody: how long the longest has.
        waits_longest: the key of the call that waits so long.
    """

    agent: str
    holder: HolderView | None
    counts: Mapping[State, int]
    set_aside: int
    next_due_us: int | None
    late_us: int
    journal_bytes: int
    long: Sequence[Address] = ()
    damaged: tuple[int, str] | None = None
    inside: Inside | None = None
    cancelling: Sequence[Address] = ()
    schedules: int = 0
    schedules_late_us: int = 0
    longest_wait_us: int = 0
    waits_longest: str | None = None


MANY_RECORDS: Final = 10_000
"""From there on an event's replay takes noticeably long (R23)."""


class JournalLine(Struct, frozen=True):
    """One line of a journal as a reader sees it.

    Attributes:
        body: the record's JSON, without frame.
    """

    number: int
    body: bytes


class JournalView(Struct, frozen=True):
    """A journal as it lies there; its lines are read each time they are walked through.

    Attributes:
        lines: the records, and among them the lines that only say what was durable:
            `{"synced":512}`.
        texts: all lines of the file as they stand, whatever they are worth.
        damaged: the first damaged line and the reason, or None.
        unfinished: the last line is not complete yet.
    """

    agent: str
    path: str
    lines: Iterable[JournalLine]
    texts: Iterable[JournalLine]
    damaged: tuple[int, str] | None
    unfinished: bool


class SetAsideView(Struct, frozen=True):
    """One event in `set-aside`.

    Attributes:
        records: its lines, its own first.
        under_way: calls that a crash cut off and the lines don't show: each may or may not have
            happened.
    """

    event: Address
    handler: str
    args: bytes
    starts: int
    records: Sequence[bytes]
    under_way: Sequence[str] = ()
    kwargs: bytes | None = None
