"""What the agent promises."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from agentctl.testing import Durable, FakeClock

from tidy.janitor import Files, Janitor


class FakeFiles(Files):
    """Files in memory: names, and when they were made."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.made: dict[str, datetime] = {}
        self.deleted: list[tuple[str, datetime]] = []
        self.asked = 0

    async def list_old(self, before: datetime) -> list[str]:
        """List what was made before a moment."""
        self.asked += 1
        return [name for name, made in self.made.items() if made < before]

    async def delete(self, name: str) -> bool:
        """Delete it, and remember when that was."""
        self.deleted.append((name, self.clock.now))
        return self.made.pop(name, None) is not None


@pytest.fixture
def files(durable: Durable) -> FakeFiles:
    return FakeFiles(durable.clock)


def test_what_is_older_than_a_day_is_deleted_and_counted(
    durable: Durable, files: FakeFiles
) -> None:
    now = durable.clock.now
    files.made = {"new": now, "old": now - timedelta(days=2)}
    assert durable.run(Janitor, "cleanup", files=files) == 1
    assert list(files.made) == ["new"]
    assert durable.run(Janitor, "deleted_so_far", files=files) == 1


def test_it_cleans_up_every_hour(durable: Durable, files: FakeFiles) -> None:
    durable.run(Janitor, "start", files=files)
    durable.run(Janitor, "start", files=files)
    begin = durable.clock.now
    files.made = {"soon old": begin - timedelta(hours=21, minutes=30)}
    files.asked = 0
    durable.pass_time(Janitor, timedelta(days=1), files=files)
    assert files.asked == 24
    assert files.deleted == [("soon old", begin + timedelta(hours=3))]
    assert durable.run(Janitor, "deleted_so_far", files=files) == 1


def test_stopped_it_cleans_up_no_more(durable: Durable, files: FakeFiles) -> None:
    durable.run(Janitor, "start", files=files)
    durable.run(Janitor, "stop", files=files)
    durable.run(Janitor, "stop", files=files)
    files.asked = 0
    durable.pass_time(Janitor, timedelta(days=1), files=files)
    assert files.asked == 0
