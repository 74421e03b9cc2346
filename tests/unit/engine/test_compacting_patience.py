"""When a running program writes its journal anew: not while many events need its time (R23)."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from agentctl import AgentSettings
from agentctl.engines.local.running.compacting import BUSY, PATIENCE, Compacting

AT = 1000


def begins(at_work: int, size: int) -> bool:
    """Whether a journal of that size is written anew with so many events at work."""
    asked: list[object] = []
    store = SimpleNamespace(size=10)
    program = SimpleNamespace(
        is_ending=False, compacts_at=AT, at_work=lambda: at_work, soon=asked.append
    )
    compacting = Compacting("Bot", store, program, AgentSettings())  # type: ignore[arg-type]
    compacting.look(0)  # it was written anew just now
    store.size = size
    compacting.look(size)
    return bool(asked)


@pytest.mark.parametrize(
    ("at_work", "size", "now"),
    [
        (1, AT, False),
        (1, AT + 1, True),
        (BUSY, AT + 1, True),
        (BUSY + 1, AT + 1, False),
        (64, PATIENCE * AT - 1, False),
        (64, PATIENCE * AT, True),
    ],
)
def test_r23_with_many_events_at_work_it_waits_but_not_for_ever(at_work, size, now) -> None:
    assert begins(at_work, size) is now
