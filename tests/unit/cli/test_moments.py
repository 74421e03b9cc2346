"""Moments in words: to the nearest unit, and those that are past as past."""

from __future__ import annotations

import pytest

from agentctl.cli.moments import Moments, span_of

SECOND = 1_000_000
NOW = 1_764_500_000 * SECOND
HOUR = 3_600 * SECOND


@pytest.mark.parametrize(
    ("us", "said"),
    [
        (0, "0s"),
        (59 * SECOND, "59s"),
        (60 * SECOND - 1, "1m"),
        (35 * SECOND, "35s"),
        (60 * 60 * SECOND - SECOND, "1h"),
        (24 * HOUR - SECOND, "1d"),
        (3 * 24 * HOUR - 5 * SECOND, "3d"),
        (2 * 24 * HOUR + 9 * HOUR, "2d"),
    ],
)
def test_a_span_is_told_to_the_nearest_unit(us: int, said: str) -> None:
    assert span_of(us) == said


def test_what_is_due_says_whether_it_was() -> None:
    moments = Moments(NOW, relative=True)
    assert moments.due(NOW - SECOND) == "was due 1s ago"
    assert moments.due(NOW + SECOND) == "in 1s"
    assert Moments(NOW, relative=False).due(NOW + SECOND) == "at 2025-11-30T10:53:21.000000Z"
