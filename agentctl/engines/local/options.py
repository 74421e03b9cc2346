"""How a program runs its agents; clock, chance and disk can be replaced in tests."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from agentctl.core.compaction import COMPACTS_AT
from agentctl.engines.port import Listener
from agentctl.engines.schedules import SetRequest
from agentctl.storage.port import Store
from agentctl.times import Clock

StoreFactory: TypeAlias = Callable[[Path, str], Store]


def random_part() -> str:
    """64 random bits, as 16 hexadecimal digits."""
    return secrets.token_hex(8)


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """How a program runs its agents; clock, chance and disk can be replaced in tests.

    Attributes:
        command: what the lock's note says about who holds it.
        lock_wait_s: how long to wait for another program to end.
        schedules: they are attended to; else they only lie on record.
        filed: what `kavach.toml` says of schedules, which is brought about; None: it isn't asked.
        watches: a handler that doesn't let go is told of while it blocks; takes a thread.
        compacts_at: so many bytes long a journal may grow before it is written anew, if most of
            it is of no more use.
        counts: what a crash or a bug stopped is counted when it starts again (R10).
    """

    root: Path
    command: str = "a program"
    lock_wait_s: float = 5.0
    listener: Listener | None = None
    clock: Clock | None = None
    entropy: Callable[[], str] = random_part
    stores: StoreFactory | None = None
    counts: bool = True
    schedules: bool = True
    filed: Sequence[SetRequest] | None = None
    compacts_at: int = COMPACTS_AT
    watches: bool = False
