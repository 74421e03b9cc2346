"""What the agent promises."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from agentctl import bind
from agentctl.testing import Durable

from pulse.heartbeat import Heartbeat, Signal


class FakeSignal(Signal):
    """Remembers what was sent."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    async def send(self, text: str) -> None:
        """Remember it."""
        self.sent.append(text)


def test_a_beat_says_when_it_was(durable: Durable) -> None:
    signal = FakeSignal()
    durable.run(Heartbeat, "beat", signal=signal)
    assert signal.sent == ["alive at 00:00:00 UTC"]


def test_a_day_has_a_beat_a_minute(durable: Durable) -> None:
    signal = FakeSignal()

    async def schedule() -> None:
        async with durable.host(bind(Heartbeat, signal=signal)):
            await Heartbeat.ref().beat.every(timedelta(minutes=1), name="heartbeat")()

    asyncio.run(schedule())
    durable.pass_time(Heartbeat, timedelta(days=1), signal=signal)
    assert len(signal.sent) == 24 * 60
    assert signal.sent[:2] == ["alive at 00:01:00 UTC", "alive at 00:02:00 UTC"]
