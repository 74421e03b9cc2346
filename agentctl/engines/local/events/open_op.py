"""OpenOp: something a handler asked for, without an outcome yet.

It may be under way, or rest: for the end of a backoff, or for an input. While it rests nobody is
at work for it, and it holds no permit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from agentctl.core.event_history import Stands
from agentctl.engines.local.events.made import Made
from agentctl.engines.local.events.timers import Timer
from agentctl.record_steps import AnswerRecord, StepRecord, TriedRecord, WaitingRecord
from agentctl.records import CallRecord
from agentctl.sdk.ops import CallOp, CancelOp, Op, QuestionOp, SendOp, StepOp, TimerOp
from agentctl.times import Uptime

_HOLD: Final = (CallOp, StepOp, SendOp, CancelOp)


def holds_permit(op: Op) -> bool:
    """Whether an event that waits for this is at work, and not parked."""
    return isinstance(op, _HOLD)


_STATELESS: Final[Mapping[str, bytes]] = MappingProxyType({})


class OpenOp:
    """Something the handler asked for, without an outcome yet.

    Attributes:
        attempt: which one it is at, from 1.
        answer: the input that it has, if it asked for one.
        cut_off: a crash cut its attempt off: it may or may not have happened (R9).
        repeat: it may be made again after that.
        rests: no attempt is under way, and the next waits for a time or an input.
        last: the last record of its attempts, waits and inputs.
        state: of a step: the state that it begins with, each field as JSON.
        until_us: when its wait ends by itself, if it waits.
    """

    __slots__ = (
        "_since",
        "answer",
        "attempt",
        "cut_off",
        "last",
        "made",
        "op",
        "repeat",
        "rests",
        "running",
        "state",
        "timer",
        "until_us",
    )

    def __init__(self, op: Op, recorded: CallRecord | None, set_us: int) -> None:
        self.op = op
        self.state: Mapping[str, bytes] = _STATELESS
        self.running: asyncio.Task[None] | None = None
        self.timer: Timer | None = None
        self.made: Made | None = None
        self.attempt = 1
        self.answer: AnswerRecord | None = None
        self.cut_off = recorded is not None
        self.repeat = recorded is None or recorded.repeat
        self.rests = False
        self.last: StepRecord | None = None
        self.until_us = op.until_us if isinstance(op, TimerOp | QuestionOp) else None
        since_us, up = (set_us, None) if recorded is None else (recorded.at, recorded.up)
        self._since = since_us, up, recorded is not None

    @property
    def holds(self) -> bool:
        """Whether the event is at work while this is open."""
        return not self.rests and isinstance(self.op, _HOLD)

    def recover(self, stands: Stands) -> None:
        """Stand where the record says."""
        self.attempt, self.answer = stands.attempt, stands.answer
        self.stand(stands.last, recovered=True)

    def stand(self, record: StepRecord, *, recovered: bool = False) -> None:
        """Take what goes on record of it."""
        self.last = record
        match record:
            case TriedRecord():
                self.attempt = record.attempt
                self._rest(record.next, (record.at, record.up, recovered))
            case WaitingRecord():
                self._rest(record.until, (record.at, record.up, recovered))
            case AnswerRecord():
                self.answer = record
                self._rest(None, (record.at, None, recovered))
            case _:
                self.attempt = record.n
                self.rests, self.cut_off = False, recovered

    def _rest(self, until_us: int | None, since: tuple[int, str | None, bool]) -> None:
        self.rests, self.cut_off = True, False
        self.until_us, self._since = until_us, since

    def work(self) -> None:
        """Begin an attempt: it rests no longer."""
        self.rests = False
        self.until_us = self.timer = None

    @property
    def since_us(self) -> int:
        """When its wait began, or it was asked for."""
        return self._since[0]

    @property
    def is_answered(self) -> bool:
        """Whether what it waits for is on record, and has only to be taken in."""
        return isinstance(self.last, AnswerRecord) and (
            self.rests or isinstance(self.op, QuestionOp)
        )

    def rest_us(self, now_us: int, up: Uptime | None, latest_us: int) -> int:
        """What is left of a wait, never more than was asked for, whatever was done to the clock.

        Args:
            now_us: the wall clock.
            up: the machine's uptime, which tells what has passed since the wait was recorded.
            latest_us: the latest time on record, for where the machine was booted anew.
        """
        assert self.until_us is not None
        since_us, since_up, recovered = self._since
        passed_us: int | None = 0
        if recovered:
            passed_us = None if up is None else up.since(since_up)
        if passed_us is None:
            passed_us = max(0, latest_us - since_us)
        asked_us = self.until_us - since_us
        return max(0, min(self.until_us - now_us, asked_us - passed_us))
