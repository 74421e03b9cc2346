"""Counting where events stand says the same as reading all that they did."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentctl.core.history import JournalHistory
from agentctl.core.lifecycle import Phase
from agentctl.core.states import pending, state_of
from agentctl.core.tally import Tally
from agentctl.errors import FormatTooNew
from agentctl.records import decode_kind
from agentctl.storage.files import frame

GOLDEN = Path(__file__).parents[1] / "golden" / "journals"
HEADER = b'{"journal":1,"agent":"Bot","id":"ab","next":1}'
NOW_US = 100

# What may be written about event {e}; most of it makes no sense at most places, and is then
# refused by both.
LINES = (
    b'{"event":%d,"handler":"request","args":[7],"at":1}',
    b'{"event":%d,"handler":"request","args":["\\"due\\":5"],"of":["eu"],"at":1}',
    b'{"event":%d,"handler":"request","args":[7],"due":50,"at":1}',
    b'{"event":%d,"handler":"request","args":[7],"due":500,"at":1}',
    b'{"start":%d,"at":2}',
    b'{"again":%d,"at":2}',
    b'{"call":"%d-1","fn":"Shop.pay","args":["\\"fn\\":\\"timer\\""],"at":3}',
    b'{"call":"%d-2","fn":"timer","until":700,"at":3}',
    b'{"call":"%d-1.1","fn":"timer","until":70,"at":3}',
    b'{"call":"%d-3","fn":"ask","at":3}',
    b'{"ok":"%d-1","value":3,"at":4}',
    b'{"error":"%d-1","type":"shop.Declined","at":4}',
    b'{"fired":"%d-2","at":4}',
    b'{"fired":"%d-1.1","at":4}',
    b'{"ok":"%d-3","at":4}',
    b'{"dropped":"%d-2"}',
    b'{"parked":%d}',
    b'{"bug":%d,"text":"KeyError","at":5}',
    b'{"done":%d,"value":3,"at":6}',
    b'{"failed":%d,"type":"shop.Declined","at":6}',
    b'{"aside":%d,"handler":"request","starts":3,"nonce":"ab","at":6}',
    b'{"requeued":%d,"at":7}',
    b'{"drop":%d,"reason":"no","at":7}',
    b'{"cancel":%d,"at":7}',
    b'{"cancelled":%d,"ran":true,"at":7}',
    b'{"retry":%d,"at":7}',
    b'{"retry":%d,"undo":["1-2","2-2"],"at":7}',
    b'{"retry":%d,"forget":["1-2"],"at":7}',
    b'{"event":%d,"handler":"h","args":[],"schedule":"s","occurrence":10,"next":20,"at":7}',
    b'{"event":%d,"handler":"h","args":[],"schedule":"s","occurrence":10,"at":7}',
    b'{"event":%d,"handler":"h","args":[],"schedule":"s","beside":true,"at":7}',
    b'{"event":%d,"handler":"h","args":[],"of":["eu"],"schedule":"1-2","next":30,"at":7}',
    b'{"event":%d,"handler":"h","args":[],"due":500,"from":"Bot-1-4","at":7}',
    b'{"missed":%d,"late_us":5,"at":7}',
    b'{"call":"%d-4","fn":"question","text":"so?","type":"bool","until":600,"at":8}',
    b'{"call":"%d-5","fn":"question","text":"\\"until\\":5","type":"bool","at":9}',
    b'{"tried":"%d-1","attempt":1,"type":"OSError","next":80,"at":4}',
    b'{"attempt":"%d-1","n":2,"at":5}',
    b'{"waiting":"%d-1","text":"so?","type":"str","until":90,"at":6}',
    b'{"waiting":"%d-1","text":"so?","type":"str","at":3}',
    b'{"answer":"%d-1","value":true,"at":7}',
    b'{"answer":"%d-4","value":true,"at":9}',
    b'{"fired":"%d-4","at":9}',
    b'{"retry":%d,"undo":["1-1","2-1"],"at":9}',
)
OTHERS = (
    b'{"state":{"count":1},"of":["eu"]}',
    b'{"outcome":1,"handler":"request","key":"k","status":"completed","at":1}',
    b'{"requeued":1,"fresh":2,"at":7}',
    b'{"event":2,"handler":"request","args":[7],"was":1,"at":7}',
    b'{"stopping":1,"at":8}',
    b'{"stop":1,"at":8}',
    b'{"unheard_of":1}',
    b'{"deleted":["eu"],"at":8}',
    b'{"told":"Other-1-1","event":1,"at":8}',
    b'{"answered":"12ab","do":"cancel","value":null,"at":8}',
    b'{"schedule":"s","handler":"h","args":[],"due":10,"period":10,"at":8}',
    b'{"schedule":"s","handler":"h","args":[],"due":15,"paused":true,"at":8}',
    b'{"schedule":"1-2","of":["eu"],"handler":"h","args":[],"due":40,"at":8}',
    b'{"schedule":"1-2","of":["eu"],"handler":"h","args":[],"due":45,"from":"Bot/eu-1-4"}',
    b'{"skipped":"s","due":10,"count":2,"next":30,"at":8}',
    b'{"skipped":"s","due":10,"count":2,"at":8}',
    b'{"unschedule":"s","due":10,"at":8}',
    b'{"unschedule":"1-2","of":["eu"],"at":8}',
    b'{"paused":"s","at":8}',
    b'{"resumed":"s","due":70,"count":3,"at":8}',
    b'{"deleted":[],"at":8}',
)


def told(
    history: JournalHistory, *, held: bool
) -> tuple[Counter, list[int], list[int], int | None]:
    """What a tally must say, from the whole history."""
    events = history.open.values()
    words = Counter(state_of(event, held=held, now_us=NOW_US) for event in events)
    times, since = [], []
    for event in events:
        if event.phase is Phase.QUEUED and event.accepted.due is not None:
            times.append(event.accepted.due)
        if event.phase is Phase.PARKED:
            waits = pending(event)
            times += [] if waits.until_us is None else [waits.until_us]
            since += [] if waits.since_us is None else [waits.since_us]
    times += [one.due for one in history.schedules.live.values() if not one.paused]
    long = sorted(e.number for e in events if len(e.bodies) > 3)
    return words, sorted(times), long, min(since, default=None)


def same(tally: Tally, history: JournalHistory) -> None:
    for held in (True, False):
        words, times, long, since = told(history, held=held)
        assert tally.words(held=held, now_us=NOW_US) == words
        assert sorted(tally.times()) == times
        assert sorted(number for _, number in tally.longer_than(3)) == long
        longest = tally.waits_longest()
        assert (None if longest is None else longest[0]) == since
    assert tally.asides == set(history.asides)
    assert tally.records == history.records


@pytest.mark.parametrize("path", sorted(GOLDEN.rglob("*.journal")), ids=lambda path: path.name)
def test_every_beginning_of_every_golden_journal_counts_the_same(path: Path) -> None:
    tally, framed, history = Tally(), Tally(), JournalHistory()
    for text in path.read_bytes().splitlines():
        body = frame.unseal(text)
        framed.fold(text)
        if body is not None:
            tally.fold(body)
            kind, record = decode_kind(body)
            history.fold(kind, record, body)
        same(tally, history)
        same(framed, history)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 4), st.data())
def test_what_a_rewrite_took_along_of_schedules_counts_the_same(kept: int, data) -> None:
    """A header says how many of the records behind it were carried over."""
    header = b'{"journal":1,"agent":"Bot","id":"ab","next":3,"kept":%d}' % kept
    drawn = data.draw(st.lists(st.sampled_from(OTHERS), min_size=kept, max_size=12))
    tally, history = Tally(), JournalHistory()
    for line in (header, *drawn):
        before = history.records
        try:
            history.fold(*decode_kind(line), line)
        except (ValueError, FormatTooNew):
            return  # from here on it is damaged
        tally.fold(line)
        same(tally, history)
        assert history.records - before <= 2


choices = st.tuples(st.integers(0, len(LINES) - 1), st.integers(1, 2))
other = st.integers(0, len(OTHERS) - 1)


@settings(max_examples=600, deadline=None)
@given(st.lists(st.one_of(choices, other), max_size=150))
def test_whatever_is_accepted_counts_the_same(drawn: list[tuple[int, int] | int]) -> None:
    """Of what is drawn, that becomes the journal which the whole fold accepts."""
    accepted = [HEADER]
    for one in drawn:
        body = OTHERS[one] if isinstance(one, int) else LINES[one[0]] % one[1]
        history = JournalHistory()
        try:
            for line in (*accepted, body):
                history.fold(*decode_kind(line), line)
        except (ValueError, FormatTooNew):
            continue
        accepted.append(body)
    tally, history = Tally(), JournalHistory()
    for line in accepted:
        tally.fold(line)
        history.fold(*decode_kind(line), line)
        same(tally, history)


@pytest.mark.parametrize(
    "lines",
    [
        [b'{"event":1,"handler":"request","args":[]}'],
        [HEADER, HEADER],
        [HEADER, b'{"start":1,"at":1}'],
        [HEADER, b"nothing"],
        [HEADER, b'{"requeued":1}'],
        [HEADER, b'{"drop":1,"reason":"no"}'],
        [HEADER, LINES[0] % 1, LINES[18] % 1],
        [HEADER, LINES[0] % 1, LINES[4] % 1, LINES[17] % 1, LINES[6] % 1],
    ],
)
def test_what_makes_no_sense_is_refused_by_both(lines: list[bytes]) -> None:
    tally, history = Tally(), JournalHistory()
    *before, last = lines
    for line in before:
        history.fold(*decode_kind(line), line)
        tally.fold(line)
    with pytest.raises(ValueError):
        history.fold(*decode_kind(last), last)
    with pytest.raises(ValueError):
        tally.fold(last)


def test_a_kind_of_a_later_version_is_told_by_both() -> None:
    tally = Tally()
    for line in (HEADER, LINES[0] % 1):
        tally.fold(line)
    with pytest.raises(FormatTooNew, match="unheard"):
        tally.fold(b'{"unheard":1}')
    with pytest.raises(FormatTooNew, match="unheard"):
        tally.fold(b'{"unheard":9}')
