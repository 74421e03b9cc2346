"""What can't be meant is refused, with how to go on."""

from __future__ import annotations

import pytest

from agentctl.core.timing import LONGEST_KEY, LONGEST_NAME, Timing, check
from agentctl.errors import UsageError
from agentctl.times import LAST_INSTANT_US

MINUTE = 60_000_000


def cron(expression, **more):
    return Timing(**{"name": "n", "cron": expression, "tz": "UTC"} | more)


def every(period_us, **more):
    return Timing(name="n", period_us=period_us, **more)


@pytest.mark.parametrize(
    "timing",
    [
        Timing(),
        Timing(due_us=0, key="k" * LONGEST_KEY, late_us=0),
        Timing(name="täglich um 9", due_us=LAST_INSTANT_US),
        Timing(name="n" * LONGEST_NAME, jitter_us=3 * MINUTE),
        every(1_000),
        every(MINUTE, jitter_us=MINUTE - 1, missed="all", overlap="allow", anchored=True),
        cron("0 9 * * 1-5", tz="Europe/Berlin", missed="skip", overlap="queue"),
        cron("*/5,3 0-6/2 L,1 jan-MAR,12 sun,5L"),
        cron("0 0 30 2 1"),  # on Mondays
        cron("0 0 29 2 */7"),  # on a Sunday
        cron("0,15 * * * *", jitter_us=15 * MINUTE - 1),
    ],
)
def test_what_makes_sense_passes(timing):
    assert check(timing) is None


@pytest.mark.parametrize(
    ("timing", "message", "hint"),
    [
        (Timing(key=""), "an idempotency key has 1 to 256 characters", "another key"),
        (Timing(key="k" * (LONGEST_KEY + 1)), "1 to 256 characters", "another key"),
        (Timing(name=""), "name '' is empty", "cleanup"),
        (Timing(name="  "), "is empty", "cleanup"),
        (Timing(name=" a"), "begins or ends with a space", "cleanup"),
        (Timing(name="n" * (LONGEST_NAME + 1)), "129 characters", "at most 128"),
        (Timing(name="a/b"), "has a / or a control", "daily-report"),
        (Timing(name="a\nb"), "has a / or a control", "daily-report"),
        (Timing(name="a\x1b[2J"), "has a / or a control", "daily-report"),
        (Timing(name="a\ud800"), "has a / or a control", "daily-report"),
        (Timing(period_us=MINUTE), "what recurs needs a name", "name="),
        (Timing(cron="* * * * *", tz="UTC"), "what recurs needs a name", "name="),
        (cron("* * * * *", tz=None), "has no zone", "Europe/Berlin"),
        (cron("* * * * *", tz="Europe/Berlim"), "no time zone", "did you mean Europe/Berlin?"),
        (cron("* * * * *", period_us=MINUTE), "don't go together", "leave one out"),
        (every(0), "the period, 0s, is too short", "0.001s"),
        (every(-MINUTE), "the period, -1m, is too short", "0.001s"),
        (every(999), "is too short", "0.001s"),
        (every(10**18), "the period, .* is too long", "the longest is 2932896d"),
        (every(10**30), "the period, .* is too long", "the longest is 2932896d"),
        (every(MINUTE, jitter_us=-1), "the jitter, -0.000001s, is too short", "0s"),
        (every(MINUTE, jitter_us=MINUTE), "the jitter 1m is too long", "shorter than 1m"),
        (cron("0,15 * * * *", jitter_us=15 * MINUTE), "the jitter 15m is too", "than 15m"),
        (cron("59 23,0 * * *", jitter_us=60 * MINUTE), "the jitter 1h is too", "than 1h"),
        (cron("0 9 * * *", jitter_us=1440 * MINUTE), "the jitter 1d is too", "than 1d"),
        (Timing(late_us=-1), "the time that it may be late, -0.000001s, is too short", "0s"),
        (Timing(due_us=-1), "none that a date can show", "1970 to 9999"),
        (Timing(due_us=LAST_INSTANT_US + 1), "none that a date can show", "1970 to 9999"),
        (Timing(due_us=LAST_INSTANT_US, jitter_us=1), "none that a date can show", "1970"),
        (every(MINUTE, missed="none"), "missed can't be 'none'", "coalesce, skip, all"),
        (every(MINUTE, overlap="wait"), "overlap can't be 'wait'", "skip, queue, allow"),
    ],
)
def test_what_makes_none_is_refused(timing, message, hint):
    with pytest.raises(UsageError, match=message) as caught:
        check(timing)
    assert caught.value.hint is not None
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("expression", "message", "hint"),
    [
        ("", "'' has 0 fields, and cron has five", "minute, hour, day of the month, month, day"),
        ("0 9 * *", "has 4 fields, and cron has five", "nine in the morning"),
        ("0 0 9 * * *", "has 6 fields, and cron has five; seconds aren't taken", "minute, hour"),
        ("@daily", "short form", "write 0 0 * * *"),
        (" @Hourly ", "short form", "write 0 * * * *"),
        ("@reboot", "short form", "write five fields: 0 9 * * 1-5 is"),
        ("60 9 * * *", "'60' in '60 9 . . .' is no minute", "it holds 0 to 59;"),
        ("* 24 * * *", "is no hour", "0 to 23"),
        ("* * 0 * *", "is no day of the month", "1 to 31, L"),
        ("* * * 13 *", "is no month", "1 to 12 or JAN to DEC"),
        ("* * * * 8", "is no day of the week", "0 to 7 or SUN to SAT"),
        ("* * * * MON#6", "is no day of the week", "0 to 7 or SUN to SAT"),
        ("* * * * 1#2/3", "is no day of the week", "0 to 7 or SUN to SAT"),
        ("* * * * FRI-MON", "is no day of the week", "0 to 7 or SUN to SAT"),
        ("*/0 * * * *", "is no minute", "0 to 59"),
        ("1, * * * *", "is no minute", "0 to 59"),
        ("² * * * *", "is no minute", "0 to 59"),
        ("9" * 5000 + " * * * *", "is no minute", "0 to 59"),
        ("0 9 ? * *", "is no day of the month", "1 to 31"),
        ("0\n9 * * *", "more than fields", "spaces alone"),
        ("0\t9 * * *", "more than fields", "spaces alone"),
        ("0 0 30 2 *", "never comes", "change day or month"),
        ("0 0 31 2,4,6,9,11 *", "never comes", "change day or month"),
        ("0 0 */40 * 1#5", "never comes", "change day or month"),
        ("0 0 */31 2 0#5", "never comes", "change day or month"),
    ],
)
def test_a_wrong_cron_expression_is_refused_by_the_field(expression, message, hint):
    with pytest.raises(UsageError, match=message) as caught:
        check(cron(expression))
    assert caught.value.hint is not None
    assert hint in caught.value.hint
    assert len(caught.value.message) < 250
