"""For tests of one's own agents: a clock that jumps, a journal in memory, a fixture.

    def test_refund(durable):
        assert durable.run(Bot, "request", 7, payments=Shop(), email=Mail()) == "r7"

The fixture `durable` comes with the package's pytest plugin.
"""

from __future__ import annotations

from agentctl.storage.faulty import Fault as Fault
from agentctl.storage.faulty import FaultyDisk as FaultyDisk
from agentctl.testing.clock import FakeClock as FakeClock
from agentctl.testing.durable import Durable as Durable

__all__ = ["Durable", "FakeClock", "Fault", "FaultyDisk"]
