"""LogListener: each end of an event in a line of its own, as loud as it is."""

from __future__ import annotations

import logging

import pytest

from agentctl.engines.local.log import LogListener
from agentctl.engines.port import Ended
from agentctl.names import Address

EVENT = Address("Bot", ("eu",), 7)


@pytest.mark.parametrize(
    ("end", "heard", "level", "said"),
    [
        (Ended(EVENT, "h", "completed", b"1"), True, "INFO", "Bot/eu#7 completed"),
        (Ended(EVENT, "h", "failed", type="E", text="no"), True, "INFO", "Bot/eu#7 failed: E: no"),
        (
            Ended(EVENT, "h", "failed", type="E", text="no"),
            False,
            "ERROR",
            "Bot/eu#7 failed: E: no",
        ),
        (Ended(EVENT, "h", "cancelled"), False, "INFO", "Bot/eu#7 cancelled"),
        (
            Ended(EVENT, "h", "missed", text="it was due 2h ago"),
            False,
            "WARNING",
            "Bot/eu#7 was missed: it was due 2h ago",
        ),
        (
            Ended(EVENT, "h", "stuck", text="KeyError: 1", line="bot.py:3"),
            False,
            "ERROR",
            "Bot/eu#7 is stuck: KeyError: 1 (bot.py:3); it runs again at the next start",
        ),
    ],
)
def test_an_end_is_told(
    caplog: pytest.LogCaptureFixture, end: Ended, heard: bool, level: str, said: str
) -> None:
    with caplog.at_level(logging.DEBUG, logger="agentctl"):
        LogListener().ended(end, heard=heard)
    assert [(one.levelname, one.getMessage()) for one in caplog.records] == [(level, said)]
