"""Who waits for an end is told once, of what is durable or known; who gave up is forgotten."""

from __future__ import annotations

import asyncio

import pytest

from agentctl.core.event_history import EventHistory
from agentctl.core.history import JournalHistory
from agentctl.engines.local.asking.deadlocks import Waits
from agentctl.engines.local.events.outcomes import of_outcome, of_record
from agentctl.engines.local.running.ends import Ends
from agentctl.engines.local.running.waiters import Waiters
from agentctl.engines.port import Ended
from agentctl.errors import CallFailed, Cancelled, Interrupted, NotFound, Stuck
from agentctl.names import Address
from agentctl.record_kept import OutcomeRecord
from agentctl.record_moves import CancelledRecord
from agentctl.records import BugRecord, DoneRecord, EventRecord, FailedRecord, Raw

EVENT = Address("Bot", ("a",), 1)
ASKING = ("Boss-1-1", "cd")
DONE = of_record(EVENT, "h", DoneRecord(1, Raw(b"7")))
BUG = of_record(EVENT, "h", BugRecord(1, "KeyError", "bot.py:3"))


def within(do):
    async def main():
        return await do()

    return asyncio.run(main())


def test_all_who_wait_are_told_and_heard_until_then():
    async def do():
        waiters = Waiters()
        assert not waiters.heard(1)
        both = [waiters.wait_for(1), waiters.wait_for(1)]
        assert (waiters.heard(1), waiters.heard(2)) == (True, False)
        waiters.tell(1, None, DONE)
        assert not waiters.heard(1)
        return [(await one).ended.result for one in both]

    assert within(do) == [b"7", b"7"]


def test_who_gave_up_is_not_heard_any_more():
    async def do():
        waiters = Waiters()
        waiters.wait_for(1).cancel()
        heard = waiters.heard(1)
        waiters.tell(1, None, DONE)
        return heard

    assert within(do) is False


def test_r16_who_hangs_up_and_asks_again_leaves_nothing_behind():
    async def do():
        waiters = Waiters()
        for _ in range(3):
            waiters.wait_for_answer(ASKING).cancel()
            await asyncio.sleep(0)
        left = list(waiters._all())
        again = waiters.wait_for_answer(ASKING)
        waiters.tell(1, ASKING, DONE)
        return left, (await again).ended.result

    assert within(do) == ([], b"7")


def test_r16_that_an_event_is_stuck_is_no_answer_to_who_asked():
    async def do():
        waiters = Waiters()
        caller, asker = waiters.wait_for(1), waiters.wait_for_answer(ASKING)
        waiters.tell(1, ASKING, BUG)
        assert (await caller).ended.status == "stuck"
        assert not asker.done()
        waiters.tell(1, ASKING, DONE)
        return (await asker).ended.result

    assert within(do) == b"7"


def test_when_nothing_comes_any_more_everybody_is_told_so():
    async def do():
        waiters = Waiters()
        both = [waiters.wait_for(1), waiters.wait_for_answer(ASKING)]
        waiters.fail(Interrupted("the program stopped"))
        for one in both:
            with pytest.raises(Interrupted):
                await one
        return waiters.heard(1)

    assert within(do) is False


# -- what is over already


def ends(*, over=None, keep=9, key=None):
    history = JournalHistory(keep=keep)
    history.begin(EventHistory(EventRecord(1, "h", Raw(b"[]"), of=("a",), key=key), b""))
    if over is not None:
        history.open[1].end = over
        history.finish(history.open[1], over)
    return Ends("Bot", history, Waiters())


ENDS = [
    (DoneRecord(1, Raw(b"7")), "completed", type(None)),
    (FailedRecord(1, "x.Y", text="no"), "failed", CallFailed),
    (CancelledRecord(1), "cancelled", Cancelled),
]


@pytest.mark.parametrize(("record", "status", "error"), ENDS, ids=[one[1] for one in ENDS])
@pytest.mark.parametrize(("keep", "key"), [(9, None), (0, "k")], ids=["kept", "outcome"])
def test_r17_an_end_is_known_from_the_event_or_from_what_its_key_keeps(
    record, status, error, keep, key
):
    async def do():
        there = ends(over=record, keep=keep, key=key)
        end = await there.wait_for(1)
        return there.address_of(1), end

    address, end = within(do)
    assert (address, end.ended.event, end.ended.status) == (EVENT, EVENT, status)
    assert isinstance(end.error, error)
    assert end.ended.result == (b"7" if status == "completed" else None)


def test_of_what_nothing_is_kept_nothing_can_be_told():
    async def do():
        with pytest.raises(NotFound, match="isn't open, and nothing is kept of it") as refused:
            ends(over=DoneRecord(1), keep=0).wait_for(1)
        return refused.value.hint

    assert "keep" in within(do)


def test_an_open_event_is_waited_for_and_a_stuck_one_says_so_at_once():
    async def do():
        there = ends()
        waiting = there.wait_for(1)
        assert not waiting.done()
        there.stuck[1] = Ended(EVENT, "h", "stuck", text="KeyError")
        return await there.wait_for(1)

    end = within(do)
    assert (end.ended.status, isinstance(end.error, Stuck)) == ("stuck", True)
    assert "KeyError" in str(end.error)


def test_an_outcome_and_the_record_it_was_made_of_tell_the_same():
    outcome = OutcomeRecord(1, "h", "k", "failed", of=("a",), type="x.Y", args=Raw(b'["no"]'))
    told, record = of_outcome(EVENT, outcome), of_record(EVENT, "h", ENDS[1][0])
    assert (told.ended.type, told.ended.status) == (record.ended.type, record.ended.status)
    assert (BUG.ended.line, BUG.ended.text, BUG.ended.divergence) == ("bot.py:3", "KeyError", False)


# -- who waits for whom


def test_a_wait_is_noted_as_long_as_it_lasts():
    waits, a, b, c = Waits(), ("A", 1), ("B", 1), ("C", 1)
    with waits.between(a, b), waits.between(b, c):
        assert list(waits.line(c)) == [c, b, a]
        assert (waits.asked_by(a), waits.asked_by(b)) == ([b], [c])
    assert (list(waits.line(c)), waits.asked_by(a)) == ([c], [])


def test_an_event_may_ask_several_at_once():
    waits, a, b, c = Waits(), ("A", 1), ("B", 1), ("C", 1)
    with waits.between(a, b):
        with waits.between(a, c):
            assert waits.asked_by(a) == [b, c]
        assert (waits.asked_by(a), list(waits.line(c))) == ([b], [c])


def test_who_asks_from_another_program_is_not_in_the_line():
    waits = Waits()
    with waits.between(None, ("B", 1)), waits.between(("A", 1), None):
        assert (waits.asked_by(("A", 1)), list(waits.line(("B", 1)))) == ([], [("B", 1)])
