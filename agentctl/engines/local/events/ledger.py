"""What one event has asked for and not got yet, and what isn't on record yet.

The handler submits and drops during a turn; the ledger matches that with the record and collects
the turn's batch. It never writes: whoever runs the event does, when the turn is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from msgspec import Raw

from agentctl.core.event_history import EventHistory
from agentctl.core.replay import LOOK, Difference, Replay
from agentctl.engines.local.events import asking
from agentctl.engines.local.events.calls import Made
from agentctl.engines.local.events.effects import is_effect
from agentctl.engines.local.events.timers import Timer
from agentctl.records import CallRecord, DroppedRecord, OkRecord, Record, encode
from agentctl.sdk.capability import CallOptions
from agentctl.sdk.execution import CallOp, CancelOp, Op, SendOp, TimerOp
from agentctl.times import Uptime

_NOTHING: Final = b"[]"
_HOLD: Final = (CallOp, SendOp, CancelOp)


def holds_permit(op: Op) -> bool:
    """Whether an event that waits for this is at work, and not parked."""
    return isinstance(op, _HOLD)


class OpenOp:
    """Something the handler asked for, without an outcome yet."""

    __slots__ = ("made", "op", "recorded", "running", "set_us", "timer")

    def __init__(self, op: Op, recorded: CallRecord | None, set_us: int) -> None:
        self.op = op
        self.recorded = recorded
        self.set_us = set_us if recorded is None else recorded.at
        self.running: asyncio.Task[None] | None = None
        self.timer: Timer | None = None
        self.made: Made | None = None

    def rest_us(self, now_us: int, up: Uptime | None, latest_us: int) -> int:
        """What is left of a wait, never more than was asked for, whatever was done to the clock.

        Args:
            now_us: the wall clock.
            up: the machine's uptime, which tells what has passed since the wait was recorded.
            latest_us: the latest time on record, for where the machine was booted anew.
        """
        assert isinstance(self.op, TimerOp)
        passed_us: int | None = 0
        if self.recorded is not None:
            passed_us = None if up is None else up.since(self.recorded.up)
        if passed_us is None:
            passed_us = max(0, latest_us - self.set_us)
        asked_us = self.op.until_us - self.set_us
        return max(0, min(self.op.until_us - now_us, asked_us - passed_us))


class Ledger:
    """The open things of one event, and its batch.

    Attributes:
        open: what has no outcome yet, by path.
        replay: the record being run over; None once the event is live.
        difference: the first divergence; once there is one, nothing more is taken.
        calls: how many of the open things keep the event at work; the others hold no permit.
    """

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
        self._batch: list[bytes] = []
        self._launch: list[OpenOp] = []
        self._unarmed: list[OpenOp] = []
        self._effects: list[OpenOp] = []

    def submit(self, op: Op, now_us: int) -> None:
        """Match what the handler asks for with the record, or note it for the batch."""
        if self.difference is not None:
            return
        by_name = False
        if isinstance(op, CallOp):
            options = self._options(op)
            asked = asking.call(self._event, op, options, now_us)
            by_name = options.match == "name"
        elif isinstance(op, TimerOp):
            asked = asking.timer(self._event, op, self._uptime(), now_us)
        else:
            asked = asking.other(self._event, op, now_us)
        replay = self.replay
        found = None if replay is None else replay.match(op.path, asked, by_name=by_name)
        if isinstance(found, Difference):
            self.difference = found
            return
        opened = self.open[op.path] = OpenOp(op, found, now_us)
        self.calls += isinstance(op, _HOLD)
        self._begins_with(op).append(opened)
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
            self.calls -= isinstance(opened.op, _HOLD)
        return opened

    def note(self, record: Record) -> None:
        """Add a record to the batch."""
        self._batch.append(encode(record))

    def take_batch(self) -> list[bytes]:
        """Hand over what isn't on record yet."""
        batch, self._batch = self._batch, []
        return batch

    def _begins_with(self, op: Op) -> list[OpenOp]:
        if isinstance(op, TimerOp):
            return self._unarmed
        return self._effects if is_effect(op, self._agent) else self._launch

    def take_effects(self) -> list[OpenOp]:
        """Hand over the timings that the event's own agent carries out."""
        effects, self._effects = self._effects, []
        return [opened for opened in effects if self._is_open(opened)]

    def take_launch(self) -> list[OpenOp]:
        """Hand over the calls that are to be made, once they are durable."""
        launch, self._launch = self._launch, []
        return [opened for opened in launch if self._is_open(opened)]

    def take_unarmed(self) -> list[OpenOp]:
        """Hand over the waits for time that are to begin."""
        unarmed, self._unarmed = self._unarmed, []
        return [opened for opened in unarmed if self._is_open(opened)]

    def _is_open(self, opened: OpenOp) -> bool:
        return self.open.get(opened.op.path) is opened

    def call_id(self, path: str) -> str:
        """A call's key as records have it: `17-1.3`."""
        return self._event + path
