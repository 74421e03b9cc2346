"""R19: what is left of a wait, whatever the clock says; and where a recovered call stands."""

from __future__ import annotations

import pytest

from agentctl.core.event_history import Stands
from agentctl.engines.local.events.open_op import OpenOp
from agentctl.record_steps import AttemptRecord, TriedRecord
from agentctl.records import CallRecord
from agentctl.sdk.ops import CallOp, TimerOp
from agentctl.times import Uptime

SET, WAIT = 1_000, 100
TIMER = TimerOp("1", SET + WAIT)


def recovered(up: str | None) -> OpenOp:
    return OpenOp(TIMER, CallRecord("1-1", "timer", until=SET + WAIT, up=up, at=SET), SET)


@pytest.mark.parametrize(
    ("now", "left"), [(SET, WAIT), (SET + 40, 60), (SET + 200, 0), (SET - 5_000, WAIT)]
)
def test_a_wait_that_was_just_set_takes_no_longer_than_was_asked_for(now: int, left: int) -> None:
    assert OpenOp(TIMER, None, SET).rest_us(now, Uptime("boot", 7), latest_us=0) == left


@pytest.mark.parametrize(
    ("up", "now", "left"),
    [
        (Uptime("boot", 70), SET + 40, 60),
        (Uptime("boot", 70), SET - 5_000, 80),  # set back: 20 have passed since it was set
        (Uptime("boot", 70), SET + 5_000, 0),  # set forward: it fires once
        (Uptime("boot", 900), SET - 5_000, 0),
        (Uptime("other", 5), SET - 5_000, 70),  # booted anew: 30, as the record shows
        (None, SET - 5_000, 70),
    ],
)
def test_of_a_recovered_one_the_rest_is_left(up: Uptime | None, now: int, left: int) -> None:
    assert recovered("boot:50").rest_us(now, up, latest_us=SET + 30) == left


def test_a_recovered_attempt_was_cut_off_and_one_in_a_backoff_was_not() -> None:
    def stands(last: TriedRecord | AttemptRecord) -> OpenOp:
        call = CallRecord("1-1", "World.busy", at=SET)
        made = OpenOp(CallOp("1", "world", None, b"[]", None, None), call, SET)  # type: ignore[arg-type]
        made.recover(Stands(last, attempt=2))
        return made

    under_way = stands(AttemptRecord("1-1", 2, at=SET))
    assert (under_way.cut_off, under_way.rests, under_way.holds) == (True, False, True)
    backing_off = stands(TriedRecord("1-1", 2, "OSError", next=SET + WAIT, at=SET))
    assert (backing_off.cut_off, backing_off.rests, backing_off.holds) == (False, True, False)
    assert backing_off.attempt == 2
    assert backing_off.rest_us(SET + 40, None, latest_us=SET) == 60
