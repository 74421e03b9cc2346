"""The futures, tasks and timers of a handler's loop: each hashes by the order of its creation."""

from __future__ import annotations

import asyncio
from typing import Any

from agentctl.sdk.branch import Branch


class HandlerFuture(asyncio.Future[Any]):
    """A future whose hash is the order of its creation: sets of them iterate alike in every run."""

    order: int

    def __hash__(self) -> int:
        return self.order


class HandlerTask(asyncio.Task[Any]):
    """A task whose hash is the order of its creation; it does its work in a branch.

    The branch is kept here, not in the task's context: several tasks may be given one context.
    """

    order: int
    branch: Branch

    def __hash__(self) -> int:
        return self.order


class HandlerTimer(asyncio.TimerHandle):
    """A journaled timer."""

    path: str | None = None
