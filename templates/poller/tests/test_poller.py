"""What the agent promises."""

from __future__ import annotations

from datetime import timedelta

import pytest
from agentctl.testing import Durable, FakeClock

from uptime.poller import Api, Poller

URL = "https://example.org"
MINE = ("mine",)


class FakeApi(Api):
    """Fails so many times, then works; remembers when it was asked."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.failing = 0
        self.asked: list[float] = []

    async def fetch(self, endpoint: str) -> bool:
        """Answer, and remember the second in which that was."""
        assert endpoint == URL
        self.asked.append(self.clock.monotonic_s())
        self.failing -= 1
        return self.failing < 0

    @property
    def pauses(self) -> list[float]:
        """The seconds from each time to the next."""
        return [after - before for before, after in zip(self.asked, self.asked[1:], strict=False)]


@pytest.fixture
def api(durable: Durable) -> FakeApi:
    return FakeApi(durable.clock)


def test_a_day_has_a_tick_a_minute_however_often_it_is_started(
    durable: Durable, api: FakeApi
) -> None:
    for _ in range(3):
        durable.run(Poller, "start", URL, identity=MINE, api=api)
    api.asked.clear()
    durable.pass_time(Poller, timedelta(days=1), api=api)
    assert len(api.asked) == 24 * 60
    assert set(api.pauses) == {60}


def test_it_asks_less_often_while_it_fails(durable: Durable, api: FakeApi) -> None:
    api.failing = 8
    durable.run(Poller, "start", URL, identity=MINE, api=api)
    assert durable.run(Poller, "health", identity=MINE, api=api) == 1
    durable.pass_time(Poller, timedelta(hours=6), api=api)
    assert api.pauses[:9] == [120, 240, 480, 960, 1920, 3600, 3600, 3600, 60]
    assert durable.run(Poller, "health", identity=MINE, api=api) == 0


def test_stopped_it_asks_no_more_until_it_is_started(durable: Durable, api: FakeApi) -> None:
    durable.run(Poller, "start", URL, identity=MINE, api=api)
    durable.run(Poller, "stop", identity=MINE, api=api)
    durable.pass_time(Poller, timedelta(days=1), api=api)
    assert len(api.asked) == 1
    durable.run(Poller, "poll", URL, identity=MINE, api=api)
    assert len(api.asked) == 1
    durable.run(Poller, "start", URL, identity=MINE, api=api)
    assert len(api.asked) == 2
