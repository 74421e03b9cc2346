"""What follows an attempt: its call's outcome, another attempt, or waiting for an input.

Decides, and puts nothing on record; time and chance come in from the program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import UNSET, Raw

from agentctl.core.event_history import EventHistory
from agentctl.core.retry import ONCE, RetryPolicy
from agentctl.core.waits import Wait, wait_of
from agentctl.engines.local.events.ledger import Ledger
from agentctl.engines.local.events.made import Made, failed
from agentctl.engines.local.events.open_op import OpenOp
from agentctl.engines.local.events.site import Site
from agentctl.errors import NotRecordable, StepFailed, UsageError
from agentctl.record_steps import AttemptRecord, StepRecord, TriedRecord, WaitingRecord
from agentctl.sdk.inputs import WaitForInput
from agentctl.sdk.ops import CallOp, Op, QuestionOp, StepOp


class Attempts:
    """The attempts of one event's calls."""

    __slots__ = (
        "_history",
        "_ledger",
        "_site",
    )

    def __init__(self, site: Site, history: EventHistory, ledger: Ledger) -> None:
        self._site = site
        self._history = history
        self._ledger = ledger

    def _is_last(self, op: Op) -> bool:
        """Whether no attempt follows: a cancellation waits for the end of the one that runs.

        What cleans up after it is tried as its own policy says.
        """
        cancel = self._history.cancel
        if cancel is None or not cancel.gently or op.path not in self._history.before_cancel:
            return False
        return not (isinstance(op, StepOp) and op.undoes is not None)

    def after(self, opened: OpenOp, made: Made, at_us: int) -> Made | Sequence[StepRecord]:
        """What comes of an attempt: the outcome, or what goes on record since there is none yet.

        Not asked of one that is final anyhow.
        """
        if made.waits is not None:
            if self._is_last(opened.op):
                return failed(StepFailed("it was cancelled before its input came"))
            return [self._waiting(opened, made.waits, at_us)]
        policy, error = self._policy(opened), made.raised
        assert error is not None
        if self._is_last(opened.op) or not policy.allows_another(opened.attempt, error):
            return made
        return self._tried(opened, made, policy, at_us)

    def _policy(self, opened: OpenOp) -> RetryPolicy:
        if isinstance(opened.op, StepOp):
            return opened.op.policy
        if isinstance(opened.op, CallOp):
            return self._site.options(opened.op).retry or ONCE
        return ONCE

    def _tried(
        self, opened: OpenOp, made: Made, policy: RetryPolicy, at_us: int
    ) -> Sequence[StepRecord]:
        program, call = self._site.program, self._ledger.call_id(opened.op.path)
        error = made.error
        assert error is not None
        chance = _fraction(program.entropy()) if policy.jitter else 0.0
        wait_us, uptime = policy.delay_us(opened.attempt, chance), program.clock.uptime()
        tried = TriedRecord(
            call,
            opened.attempt,
            error.type,
            error.text,
            at_us + wait_us,
            up=None if uptime is None or not wait_us else str(uptime),
            at=at_us,
        )
        if wait_us > 0:
            return [tried]
        return [tried, AttemptRecord(call, opened.attempt + 1, at=at_us)]

    def _waiting(self, opened: OpenOp, waits: WaitForInput, at_us: int) -> WaitingRecord:
        until_us = None if waits.timeout_us is None else at_us + waits.timeout_us
        uptime = None if until_us is None else self._site.program.clock.uptime()
        schema = waits.what.description
        return WaitingRecord(
            self._ledger.call_id(opened.op.path),
            waits.text,
            waits.what.name,
            UNSET if schema is None else Raw(schema),
            until_us,
            up=None if uptime is None else str(uptime),
            attempt=opened.attempt,
            at=at_us,
        )

    def waits(self) -> Mapping[str, Wait]:
        """The inputs that the event waits for, by the path of the call."""
        found = {}
        for path, opened in self._ledger.open.items():
            op, last = opened.op, opened.last
            if isinstance(last, WaitingRecord) and isinstance(op, StepOp):
                found[path] = wait_of(last, op.name)
            elif isinstance(op, QuestionOp) and opened.answer is None:
                schema, until_us = op.type.description, op.until_us
                since_us, fits = opened.since_us, _fits(op)
                found[path] = Wait(
                    op.text, op.type.name, schema, since_us, until_us, step=None, fits=fits
                )
        return found


def _fits(op: QuestionOp) -> Callable[[bytes], None]:
    def fits(value: bytes) -> None:
        try:
            op.codec.decode(value)
        except NotRecordable as error:
            raise UsageError(error.message) from None

    return fits


def _fraction(chance: str) -> float:
    """From 0 to 1, of what is hexadecimal and by chance."""
    return int(chance[:12], 16) / 0xFFFFFFFFFFFF
