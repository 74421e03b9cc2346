"""What one event has asked for and not got yet, and what isn't on record yet.

The handler submits and drops during a turn; the ledger matches that with the record and collects
the turn's batch. It never writes: whoever runs the event does, when the turn is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
from msgspec import UNSET, Raw

from agentctl.core.history import EventHistory
from agentctl.core.replay import Asked, Difference, Replay
from agentctl.engines.local.timers import Timer
from agentctl.records import CallRecord, DroppedRecord, Record, encode
from agentctl.sdk.capability import CallOptions
from agentctl.sdk.execution import CallOp, Op, TimerOp
from agentctl.values import digest


class OpenOp:
    """Something the handler asked for, without an outcome yet."""

    __slots__ = ("op", "recorded", "running", "set_us", "timer")

    def __init__(self, op: Op, recorded: CallRecord | None, set_us: int) -> None:
        self.op = op
        self.recorded = recorded
        self.set_us = set_us if recorded is None else recorded.at
        self.running: asyncio.Task[None] | None = None
        self.timer: Timer | None = None


class Ledger:
    """The open things of one event, and its batch.

    Attributes:
        open: what has no outcome yet, by path.
        replay: the record being run over; None once the event is live.
        difference: the first divergence; once there is one, nothing more is taken.
        calls: how many of the open things are capability calls.
    """

    def __init__(self, history: EventHistory, options: Callable[[CallOp], CallOptions]) -> None:
        self._history = history
        self._options = options
        self.open: dict[str, OpenOp] = {}
        self.replay = Replay(history) if history.calls else None
        self.difference: Difference | None = None
        self.calls = 0
        self._batch: list[bytes] = []
        self._launch: list[OpenOp] = []

    def submit(self, op: Op, now_us: int) -> None:
        """Match what the handler asks for with the record, or note it for the batch."""
        if self.difference is not None:
            return
        asked = self._asked(op)
        found = self.replay.match(asked) if self.replay is not None else None
        if isinstance(found, Difference):
            self.difference = found
            return
        opened = self.open[op.path] = OpenOp(op, found, now_us)
        is_call = isinstance(op, CallOp)
        self.calls += is_call
        if is_call:
            self._launch.append(opened)
        if found is None:
            self.note(self._call_record(op, asked, now_us))

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
            self.calls -= isinstance(opened.op, CallOp)
        return opened

    def note(self, record: Record) -> None:
        """Add a record to the batch."""
        self._batch.append(encode(record))

    def take_batch(self) -> list[bytes]:
        """Hand over what isn't on record yet."""
        batch, self._batch = self._batch, []
        return batch

    def take_launch(self) -> list[OpenOp]:
        """Hand over the calls that are to be made, once they are durable."""
        launch, self._launch = self._launch, []
        return [opened for opened in launch if self.open.get(opened.op.path) is opened]

    @property
    def timers(self) -> list[OpenOp]:
        """The open waits for time."""
        return [opened for opened in self.open.values() if isinstance(opened.op, TimerOp)]

    def call_id(self, path: str) -> str:
        """A call's key as records have it: `17-1.3`."""
        return f"{self._history.number}-{path}"

    def _asked(self, op: Op) -> Asked:
        if isinstance(op, TimerOp):
            return Asked(op.path, "timer", until_us=op.until_us)
        options = self._options(op)
        if options.record == "digest":
            whole = digest(op.args + (op.kwargs or b""))
            return Asked(op.path, op.method.fn, digest=whole, match=options.match)
        return Asked(op.path, op.method.fn, op.args, op.kwargs, match=options.match)

    def _call_record(self, op: Op, asked: Asked, now_us: int) -> CallRecord:
        call = self.call_id(op.path)
        if isinstance(op, TimerOp):
            return CallRecord(call, "timer", until=op.until_us, at=now_us)
        return CallRecord(
            call,
            asked.fn,
            args=UNSET if asked.args is None else Raw(asked.args),
            kwargs=UNSET if asked.kwargs is None else Raw(asked.kwargs),
            digest=asked.digest,
            repeat=self._options(op).repeat,
            at=now_us,
        )


def stamped(record: Record, **members: object) -> Record:
    """A record with its call and its time filled in."""
    made: Record = msgspec.structs.replace(record, **members)
    return made
