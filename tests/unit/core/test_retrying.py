"""R8: a retry keeps what is on record, and makes anew what the failure came out of."""

from __future__ import annotations

import pytest

from agentctl.core.retrying import as_recorded, made_again, plan_retry
from agentctl.records import encode

EVENT = ('{"event":1,"handler":"h","args":[],"nonce":"ab"}', '{"start":1,"at":1}')


def call(path, fn="Api.get"):
    more = ',"until":9' if fn == "timer" else ',"args":[]'
    return f'{{"call":"1-{path}","fn":"{fn}"{more}}}'


def ok(path):
    return f'{{"ok":"1-{path}","value":1}}'


def error(path):
    return f'{{"error":"1-{path}","type":"x.Y"}}'


def failed(*paths):
    calls = ",".join(f'"1-{path}"' for path in paths)
    return f'{{"failed":1,"type":"x.Y","calls":[{calls}]}}'


def dropped(path):
    return f'{{"dropped":"1-{path}"}}'


def plan(history, *, accept=False):
    event = history.open.get(1) or history.kept.events[1]
    made = plan_retry(event, accept=accept, by="ana", at_us=7)
    return event, made


@pytest.mark.parametrize(
    ("lines", "undo", "forget"),
    [
        # by an error of the handler's own: all of the record stays
        ([call(1), ok(1), failed()], (), ()),
        # the failing call alone
        ([call(1), ok(1), call(2), error(2), failed(2)], ("1-2",), ()),
        # what the handler did after it had heard: its finally
        ([call(1), error(1), call(2), ok(2), failed(1)], ("1-1",), ("1-2",)),
        # an error that it caught before doesn't count
        ([call(1), error(1), call(2), error(2), failed(2)], ("1-2",), ()),
        # a sibling that was given up then is made again, too
        ([call(1), call(2), error(1), dropped(2), failed(1)], ("1-1", "1-2"), ()),
        # one that was given up before stays so
        ([call(1), call(2), dropped(2), error(1), failed(1)], ("1-1",), ()),
        # a sibling's clean-up: asked for after the failure, dropped or not
        (
            [call("1.1"), call("2.1"), error("1.1"), dropped("2.1"), call("2.2"), ok("2.2"),
             failed("1.1")],
            ("1-1.1", "1-2.1"), ("1-2.2",),
        ),
        ([call(1), error(1), call(2), dropped(2), failed(1)], ("1-1",), ("1-2",)),
        # a group of errors out of two calls
        (
            [call("1.1"), call("2.1"), error("1.1"), error("2.1"), failed("1.1", "2.1")],
            ("1-1.1", "1-2.1"), (),
        ),
        # a result that came after the failure is no reason to make that call again
        ([call(1), call(2), error(1), ok(2), failed(1)], ("1-1",), ()),
    ],
)  # fmt: skip
def test_what_a_retry_of_a_failed_event_makes_again_and_forgets(fold, lines, undo, forget):
    event, made = plan(fold(*EVENT, *lines))
    assert (made.undo, made.forget) == (undo, forget)
    assert (made.retry, made.by, made.at) == (1, "ana", 7)
    body = encode(made)
    event.fold("retry", made, body)
    assert event.end is None
    assert {call.call for call in event.calls.values()}.isdisjoint(forget)


def test_a_second_retry_goes_by_the_second_failure_alone(fold):
    first = [call(1), ok(1), call(2), error(2), call(3), ok(3), failed(2)]
    again = ['{"retry":1,"undo":["1-2"],"forget":["1-3"]}', EVENT[1], ok(2), call(3), error(3)]
    _, made = plan(fold(*EVENT, *first, *again, failed(3)))
    assert (made.undo, made.forget) == (("1-3",), ())


def test_a_second_failure_of_the_same_call_takes_nothing_that_was_done_in_between(fold):
    # A sibling paid a refund before the call failed again: that refund stays paid.
    first = [call("1.1"), call("2.1"), error("1.1"), dropped("2.1"), failed("1.1")]
    again = ['{"retry":1,"undo":["1-1.1","1-2.1"]}', EVENT[1]]
    second = [ok("2.1"), call("2.2", "Payments.refund"), ok("2.2"), error("1.1"), failed("1.1")]
    event, made = plan(fold(*EVENT, *first, *again, *second))
    assert (made.undo, made.forget) == (("1-1.1",), ())
    assert made_again(event, made) == ("Api.get",)


def test_a_call_that_failed_in_each_try_is_named_once(fold):
    tries = [error(1), call(2), ok(2), failed(1)]
    again = ['{"retry":1,"undo":["1-1"],"forget":["1-2"]}', EVENT[1]]
    event, made = plan(fold(*EVENT, call(1), *tries, *again, *tries))
    assert (made.undo, made.forget) == (("1-1",), ("1-2",))
    assert made_again(event, made) == ("Api.get", "Api.get")


BUG = '{"bug":1,"text":"x","divergence":true,"call":"1-1","undo":["1-1"],"forget":["1-2"]}'


def test_a_stuck_event_keeps_everything_unless_its_divergence_is_accepted(fold):
    history = fold(*EVENT, call(1), ok(1), call(2), BUG)
    assert (plan(history)[1].undo, plan(history)[1].forget) == ((), ())
    accepted = plan(history, accept=True)[1]
    assert (accepted.undo, accepted.forget) == (("1-1",), ("1-2",))


def test_accepting_a_bug_that_is_no_divergence_changes_nothing(fold):
    _, made = plan(fold(*EVENT, call(1), ok(1), '{"bug":1,"text":"KeyError"}'), accept=True)
    assert (made.undo, made.forget) == ((), ())


def test_finished_calls_that_may_be_made_again_are_named_and_timers_are_not(fold):
    lines = [call(1), call(2, "timer"), '{"fired":"1-2"}', error(1), call(3, "Api.put"), ok(3)]
    event, made = plan(fold(*EVENT, *lines, failed(1)))
    assert made_again(event, made) == ("Api.get", "Api.put")


def undoing(path, of):
    return f'{{"call":"1-{path}","fn":"step","step":"pay","undoes":"1-{of}"}}'


def test_q14_what_is_undone_anew_comes_after_what_was_undone_behind_it(fold):
    steps = [call(1), ok(1), call(2), ok(2), call(3), ok(3), call(4), error(4)]
    torn = [undoing("5.1", 3), error("5.1"), undoing("5.2", 2), error("5.2"), undoing("5.3", 1)]
    event, made = plan(fold(*EVENT, *steps, *torn, ok("5.3"), failed(4, "5.1", "5.2")))
    order = ["5.1", "5.2", "5.3", "5.4"]
    assert as_recorded(event, order) == order
    assert (made.undo, made.forget) == ((), ("1-5.1", "1-5.2"))
    assert made_again(event, made) == ("undo pay", "undo pay")
    event.fold("retry", made, encode(made))
    assert as_recorded(event, order) == ["5.3", "5.1", "5.2", "5.4"]
