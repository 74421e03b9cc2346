"""An event is found by its number or its key, as long as anything is known of it."""

from __future__ import annotations

import pytest

from agentctl.core.finding import find

NOTHING_KEPT = '{"journal":1,"agent":"Bot","id":"ab","next":1,"keep":0}'
KEYED = '{"event":1,"handler":"h","args":[],"of":["a"],"key":"k"}'
START = '{"start":1,"at":1}'
ASIDE = '{"aside":1,"handler":"h","starts":3,"nonce":"ab","of":["a"],"key":"k"}'
ENDS = [
    ('{"done":1}', "completed"),
    ('{"failed":1,"type":"x.Y"}', "failed"),
    ('{"cancelled":1}', "cancelled"),
]
BOTH = pytest.mark.parametrize("by", [{"event": 1, "key": None}, {"event": None, "key": "k"}])


@BOTH
def test_an_open_one(fold, by):
    found = find(fold(KEYED, START), ("a",), **by)
    assert (found.number, found.of, found.open, found.over) == (1, ("a",), True, None)
    assert found.event.accepted.key == "k"


@BOTH
@pytest.mark.parametrize(("end", "status"), ENDS)
def test_one_that_is_over_and_kept(fold, by, end, status):
    found = find(fold(KEYED, START, end), ("a",), **by)
    assert (found.number, found.open, found.over) == (1, False, status)
    assert found.event is not None


@BOTH
@pytest.mark.parametrize(("end", "status"), [ENDS[0], ENDS[2]])
def test_one_of_which_only_the_outcome_of_its_key_is_kept(fold, by, end, status):
    found = find(fold(KEYED, START, end, header=NOTHING_KEPT), ("a",), **by)
    assert (found.number, found.of, found.over, found.event) == (1, ("a",), status, None)


@BOTH
def test_one_that_is_set_aside(fold, by):
    found = find(fold(KEYED, START, ASIDE), ("a",), **by)
    assert (found.number, found.of, found.over, found.open) == (1, ("a",), "set_aside", False)


def test_one_of_which_nothing_is_kept_is_still_known_to_have_been(fold):
    history = fold(KEYED.replace(',"key":"k"', ""), START, '{"done":1}', header=NOTHING_KEPT)
    found = find(history, (), event=1, key=None)
    assert (found.number, found.of, found.event, found.over, found.open) == (
        1,
        (),
        None,
        None,
        False,
    )


@pytest.mark.parametrize("number", [0, -1, 2, 99])
def test_a_number_that_was_never_given_is_nobody_s(fold, number):
    assert find(fold(KEYED, START), (), event=number, key=None) is None


def test_another_instance_s_key_or_number_is_not_meant(fold):
    history = fold(KEYED, START)
    assert find(history, ("b",), event=None, key="k") is None
    assert find(history, ("a",), event=None, key="other") is None
    assert find(history, ("b",), event=1, key=None) is None
    assert find(history, (), event=1, key=None).number == 1, "a number says it all"
    assert find(history, (), event=None, key=None) is None


def test_a_key_that_is_used_anew_stands_for_the_new_event(fold):
    history = fold(KEYED, '{"cancelled":1}', KEYED.replace('"event":1', '"event":2'))
    assert find(history, ("a",), event=None, key="k").number == 2
    assert find(history, ("a",), event=1, key=None).over == "cancelled"
