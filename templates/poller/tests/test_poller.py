"""What the agent promises, and what asking by HTTP makes of the answers that there are."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from socket import create_server
from threading import Thread
from typing import Any

import pytest
from agentctl.testing import Durable, FakeClock

from uptime.poller import Api, Poller
from uptime.world import Http

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


def is_up(answer: bytes) -> bool:
    """Ask a server that gives this answer to the one request it takes."""
    with closing(create_server(("127.0.0.1", 0))) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

        thread = Thread(target=serve, daemon=True)
        thread.start()
        fetch: Any = Http().fetch  # a blocking method is awaited by agents, and called by others
        up: bool = fetch(f"http://127.0.0.1:{server.getsockname()[1]}/")
        thread.join()
    return up


def test_an_answer_is_up() -> None:
    assert is_up(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


@pytest.mark.parametrize("answer", [b"HTTP/1.1 503 Busy\r\n\r\n", b"hello?\r\n", b""])
def test_an_error_or_what_is_no_http_is_down_and_raises_nothing(answer: bytes) -> None:
    assert not is_up(answer)
