"""Errors come out of the socket as the classes that went in."""

from __future__ import annotations

import inspect

import pytest

from agentctl import errors
from agentctl.engines.local.control.messages import read_answer, write_failure
from agentctl.engines.local.control.trouble import (
    ControlGone,
    Data,
    Failure,
    error_of,
    failure_of,
    internal_failure,
)
from agentctl.errors import AgentctlError, CallFailed, Damaged, JournalDamaged

CLASSES = sorted(
    (
        one
        for one in vars(errors).values()
        if isinstance(one, type) and issubclass(one, AgentctlError)
    ),
    key=lambda one: one.__name__,
)
# What can't be built from a message alone comes out as its base.
COARSER = {"CallFailed": "EventError", "JournalDamaged": "Damaged"}


def made(kind):
    if kind is JournalDamaged:
        return kind("/j", 3, "broken", hint="look")
    if kind is CallFailed:
        return kind("shop.Declined", "no money", hint="look")
    return kind("what happened: é", hint="look")


def over_the_wire(error):
    answer = read_answer(write_failure(1, failure_of(error)))
    return error_of(answer.error)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda one: one.__name__)
def test_every_class_comes_out_as_it_went_in(kind):
    error = made(kind)
    told = over_the_wire(error)
    assert type(told).__name__ == COARSER.get(kind.__name__, kind.__name__)
    assert (told.message, str(told)) == (error.message, str(error))
    assert (told.hint, told.exit_code) == (error.hint, error.exit_code)


def test_all_of_them_were_tried():
    assert len(CLASSES) > 30
    needy = [one.__name__ for one in CLASSES if len(inspect.signature(one).parameters) > 2]
    assert set(COARSER) <= set(needy)


def test_without_a_hint_there_is_none():
    assert over_the_wire(errors.NotFound("no such event")).hint is None


def test_a_class_from_elsewhere_comes_out_as_its_nearest_base_of_ours():
    class TooOld(JournalDamaged):
        pass

    error = TooOld("/j", 1, "old")
    assert type(over_the_wire(error)) is Damaged
    told = over_the_wire(ControlGone("the next program is gone"))
    assert (type(told), told.exit_code) == (AgentctlError, 70)


@pytest.mark.parametrize(
    "kind", ["ValueError", "os", "SystemExit", "AgentError", "Dropped", "ClassVar", "", "__name__"]
)
def test_a_name_that_is_no_error_of_ours_builds_nothing(kind):
    told = error_of(Failure(-32000, "what?", Data(kind)))
    assert type(told) is AgentctlError
    assert told.message == "what?"


def test_text_that_utf_8_or_a_line_has_no_room_for_arrives_all_the_same():
    told = over_the_wire(errors.NotFound("no file \udcff", hint="\udcfe"))
    assert (told.message, told.hint) == ("no file \\udcff", "\\udcfe")
    assert len(over_the_wire(errors.NotFound("x" * 10**6)).message) == 64 * 1024
    assert internal_failure(ValueError("\udcff")).message == "ValueError: \\udcff"
