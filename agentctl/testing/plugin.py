"""The pytest plugin: the fixtures `durable` and `fake_clock`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from agentctl.testing.clock import FakeClock
    from agentctl.testing.durable import Durable


@pytest.fixture
def fake_clock() -> FakeClock:
    """Time that only the test moves."""
    from agentctl.testing.clock import FakeClock

    return FakeClock()


@pytest.fixture
def durable(fake_clock: FakeClock) -> Durable:
    """A world for agents under test: a disk in memory, and a clock that jumps."""
    from agentctl.testing.durable import Durable

    return Durable(clock=fake_clock)
