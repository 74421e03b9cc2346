"""R17, R16: ended events are kept while somebody may want them, and not one longer."""

from __future__ import annotations

import pytest

from agentctl.core import kept
from agentctl.core.event_history import EventHistory
from agentctl.core.kept import Kept, asking_of
from agentctl.records import DoneRecord, EventRecord, FailedRecord, Raw

ASKING = ("Boss-1-1", "cd")


def ended(number, end=None, **members):
    event = EventHistory(EventRecord(number, "h", Raw(b"[]"), **members), b"")
    event.end = end or DoneRecord(number, at=number)
    return event


def failed(number, at=0):
    return ended(number, FailedRecord(number, "x.Y", at=at))


def asked(number, end=None):
    return ended(number, end, from_=ASKING[0], asker=ASKING[1])


def keeping(keep, *events):
    made = Kept(keep)
    for event in events:
        made.add(event)
    return made


def worth(made, now_us=0, keep_failed_us=None):
    return [one.number for one in made.worth(now_us=now_us, keep_failed_us=keep_failed_us)]


@pytest.mark.parametrize(("keep", "numbers"), [(0, []), (1, [5]), (3, [3, 4, 5]), (9, [*range(6)])])
def test_the_last_that_ended_are_kept(keep, numbers):
    made = keeping(keep, *map(ended, range(6)))
    assert list(made.events) == numbers
    assert worth(made) == numbers


def test_failed_ones_are_kept_beside_the_last_ones_in_the_order_of_their_ends():
    assert worth(keeping(1, failed(1), ended(2), failed(3), ended(4))) == [1, 3, 4]


def test_failed_ones_are_worth_keeping_for_their_time_and_the_last_ones_always():
    made = keeping(1, failed(1, at=10), failed(2, at=20), failed(3, at=5))
    assert worth(made, now_us=29, keep_failed_us=20) == [1, 2, 3]
    assert worth(made, now_us=30, keep_failed_us=20) == [2, 3]
    assert worth(made, now_us=99, keep_failed_us=20) == [3]


def test_of_failed_ones_the_oldest_goes_when_there_are_too_many(monkeypatch):
    monkeypatch.setattr(kept, "MOST_FAILED", 2)
    assert list(keeping(0, failed(1), failed(2), failed(3)).events) == [2, 3]
    assert list(keeping(3, failed(1), failed(2), failed(3)).events) == [1, 2, 3]


def test_what_was_asked_for_is_kept_until_the_asker_has_the_answer():
    made = keeping(0, asked(1), ended(2))
    assert (worth(made), made.untold) == ([1], {ASKING: 1})
    made.told(ASKING)
    assert (made.events, made.untold) == ({}, {})
    made.told(ASKING)  # told twice is told


def test_an_answer_that_arrived_lets_nothing_go_that_is_kept_for_another_reason():
    recent, broken = keeping(1, asked(1)), keeping(0, asked(1, FailedRecord(1, "x.Y")))
    for made in (recent, broken):
        made.told(ASKING)
        assert worth(made) == [1]
    recent.add(ended(2))
    assert worth(recent) == [2]


def test_an_event_that_goes_on_is_taken_out_and_counts_anew_when_it_ends_again():
    made = keeping(2, asked(1, FailedRecord(1, "x.Y")), ended(2))
    taken = made.take(1)
    assert taken is not None
    assert (list(made.events), made.untold) == ([2], {})
    assert made.take(1) is None
    taken.end = DoneRecord(1)
    made.add(taken)
    made.add(ended(3))
    assert list(made.events) == [1, 3], "2 went: it ended first; 1 has an asker, 3 is the last"
    made.told(ASKING)
    made.add(ended(4))
    assert list(made.events) == [3, 4]


def test_who_asked_is_known_by_the_call_and_the_random_part_of_its_event():
    assert asking_of(ended(1)) is None
    assert asking_of(asked(1)) == ASKING
    own = ended(1, from_="Boss-1-1")
    assert asking_of(own) is None, "a timing of the agent's own has no asker"
