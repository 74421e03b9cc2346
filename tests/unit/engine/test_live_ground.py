"""A change beside a program keeps its events waiting no longer than it must."""

from __future__ import annotations

import pytest

from agentctl.engines.changes import RetryRequest
from agentctl.engines.local.starting import recovery

from .till import IDS


@pytest.fixture
def reads(monkeypatch):
    """The journals that were read, in their order."""
    made, fold_into = [], recovery.fold_into

    def counted(history, agent, path, scan):
        made.append(path)
        return fold_into(history, agent, path, scan)

    monkeypatch.setattr(recovery, "fold_into", counted)
    return made


def test_a_retry_reads_the_journal_once_and_runs_what_it_read(scene, reads):
    async def do(host):
        before = len(reads)
        for _ in range(2):
            await host.carry_out(RetryRequest("Bot", next(IDS), event=1, by="ana"))
            await host.idle()
        return len(reads) - before

    assert scene.live(do, scene.asked("pay", "no")) == 2
    assert scene.till.made == ["no", "no", "no"]
    assert [one["calls"] for one in scene.world.records() if "failed" in one] == [["1-1"]] * 3
