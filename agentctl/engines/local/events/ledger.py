"""What one event has asked for and not got yet, and what isn't on record yet.

The handler submits and drops during a turn; the ledger matches that with the record and collects
the turn's batch. It never writes: whoever runs the event does, when the turn is over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from msgspec import Raw

from agentctl.core.audit import audit_lines, is_audited
from agentctl.core.event_history import EventHistory
from agentctl.core.keys import path_of
from agentctl.core.replay import LOOK, Difference, Replay
from agentctl.engines.local.events import asking
from agentctl.engines.local.events.effects import is_effect
from agentctl.engines.local.events.open_op import OpenOp, holds_permit
from agentctl.record_steps import AnswerRecord, StepRecord, WaitingRecord
from agentctl.records import CallRecord, DroppedRecord, OkRecord, Record, encode
from agentctl.sdk.capability import CallOptions
from agentctl.sdk.ops import CallOp, Op, QuestionOp, StepOp, TimerOp
from agentctl.times import Uptime

_NOTHING: Final = b"[]"


class Batch(NamedTuple):
    """What goes on record together, with its audit lines.

    Attributes:
        asked: what it asks a person for: the call's path, the question, the type of its answer.
    """

    bodies: list[bytes]
    audit: list[str]
    asked: list[tuple[str, str, str]]


class Begun(NamedTuple):
    """What a turn began.

    Attributes:
        waits: for a time.
        effects: timings that the event's own agent carries out.
        answered: what found its input on record.
        calls: to be made, once they are durable.
    """

    waits: list[OpenOp]
    effects: list[OpenOp]
    answered: list[OpenOp]
    calls: list[OpenOp]


_EMPTY: Final = Batch([], [], [])
_NOTHING_BEGUN: Final = Begun([], [], [], [])


class Ledger:
    """The open things of one event, and its batch.

    Attributes:
        open: what has no outcome yet, by path.
        replay: the record being run over; None once the event is live.
        difference: the first divergence; once there is one, nothing more is taken.
        calls: how many of the open things keep the event at work; the others hold no permit.
    """

    __slots__ = (
        "_agent",
        "_batch",
        "_begun",
        "_event",
        "_history",
        "_options",
        "_uptime",
        "calls",
        "difference",
        "open",
        "replay",
    )

    def __init__(
        self,
        agent: str,
        history: EventHistory,
        options: Callable[[CallOp], CallOptions],
        uptime: Callable[[], Uptime | None],
    ) -> None:
        self._agent = agent
        self._history = history
        self._uptime = uptime
        self._options = options
        self._event = f"{history.number}-"
        self.open: dict[str, OpenOp] = {}
        self.replay = Replay(history) if history.calls or history.deliveries else None
        self.difference: Difference | None = None
        self.calls = 0
        # None while there is nothing: very many events wait, and each has a ledger.
        self._batch: Batch | None = None
        self._begun: dict[str, OpenOp] | None = None

    def submit(self, op: Op, now_us: int) -> None:
        """Match what the handler asks for with the record, or note it for the batch."""
        if self.difference is not None:
            return
        by_name = False
        if isinstance(op, CallOp):
            options = self._options(op)
            asked = asking.call(self._event, op, options, now_us)
            by_name = options.match == "name"
        elif isinstance(op, StepOp):
            asked = asking.step(self._event, op, now_us)
        elif isinstance(op, TimerOp):
            asked = asking.timer(self._event, op, self._uptime(), now_us)
        elif isinstance(op, QuestionOp):
            asked = asking.question(self._event, op, self._uptime(), now_us)
        else:
            asked = asking.other(self._event, op, now_us)
        replay = self.replay
        found = None if replay is None else replay.match(op.path, asked, by_name=by_name)
        if isinstance(found, Difference):
            self.difference = found
            return
        opened = self.open[op.path] = OpenOp(op, found, now_us)
        if found is not None and (stands := self._history.steps.get(op.path)) is not None:
            opened.recover(stands)
        self.calls += opened.holds
        self._begin(opened)
        if found is None:
            self.note(asked)

    def read(self, path: str, look: Callable[[], bytes], now_us: int) -> bytes:
        """Read what is on record of a look at the schedules; or look, and note what is seen."""
        if self.difference is not None:
            return _NOTHING
        call = self.call_id(path)
        asked = CallRecord(call, LOOK, at=now_us)
        found = None if self.replay is None else self.replay.match(path, asked)
        if isinstance(found, Difference):
            self.difference = found
            return _NOTHING
        seen = None if self.replay is None or found is None else self.replay.read(path)
        if found is None:
            self.note(asked)
        if seen is None:
            seen = look()
            self.note(OkRecord(call, Raw(seen), at=now_us))
        return seen

    def drop(self, path: str) -> OpenOp | None:
        """Close what nobody waits for any more (R9); returns it if it was open."""
        opened = self.take(path)
        if opened is None or self.difference is not None:
            return opened
        on_record = self.replay is not None and path in self._history.dropped
        if not on_record:
            self.note(DroppedRecord(self.call_id(path)))
        return opened

    def take(self, path: str) -> OpenOp | None:
        """Take out what has got its outcome."""
        opened = self.open.pop(path, None)
        if opened is not None:
            self.calls -= opened.holds
        return opened

    def note(self, record: Record) -> None:
        """Add a record to the batch."""
        if self._batch is None:
            self._batch = Batch([], [], [])
        batch = self._batch
        batch.bodies.append(encode(record))
        if is_audited(record):
            batch.audit.extend(audit_lines(self._agent, record, self._history.accepted))
            if isinstance(record, CallRecord | WaitingRecord):
                call = record.call if isinstance(record, CallRecord) else record.waiting
                batch.asked.append((path_of(call), record.text or "", record.type or ""))

    def take_batch(self) -> Batch:
        """Hand over what isn't on record yet."""
        batch, self._batch = self._batch, None
        return batch or _EMPTY

    def rest(self, opened: OpenOp, record: StepRecord) -> None:
        """Note that an open thing rests: for its next attempt, or for an input."""
        self.note(record)
        self.calls -= opened.holds
        opened.stand(record)
        self._begin(opened)

    def work(self, opened: OpenOp) -> None:
        """Let an attempt of an open thing begin, once what is on record is durable."""
        opened.work()
        self.calls += 1
        self._begin(opened)

    @property
    def is_under_way(self) -> bool:
        """Whether an attempt on record was under way, and is or will be made to its end."""
        over = {path for path, _ in self._history.deliveries}
        return any(
            opened.cut_off or path in over or isinstance(opened.last, AnswerRecord)
            for path, opened in self.open.items()
            # What was asked for behind the cancellation is on record, too, from the next start on.
            if path in self._history.before_cancel and holds_permit(opened.op)
        )

    def _begin(self, opened: OpenOp) -> None:
        if self._begun is None:
            self._begun = {}
        self._begun[opened.op.path] = opened

    def take_begun(self) -> Begun:
        """Hand over what the turn began, once its batch is on record."""
        if self._begun is None:
            return _NOTHING_BEGUN
        ops, self._begun = self._begun, None
        begun = Begun([], [], [], [])
        for path, opened in ops.items():
            if self.open.get(path) is not opened:
                continue
            if opened.is_answered:
                begun.answered.append(opened)
            elif opened.rests or isinstance(opened.op, TimerOp | QuestionOp):
                if opened.until_us is not None:
                    begun.waits.append(opened)
            elif is_effect(opened.op, self._agent):
                begun.effects.append(opened)
            else:
                begun.calls.append(opened)
        return begun

    def call_id(self, path: str) -> str:
        """A call's key as records have it: `17-1.3`."""
        return self._event + path
