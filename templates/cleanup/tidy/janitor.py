"""The agent: what it may do to the world, and what it does."""

from __future__ import annotations

from abc import abstractmethod
from datetime import datetime, timedelta

from agentctl import Agent, Capability, handler, now, query


class Files(Capability):
    """Keeps files for a while."""

    @abstractmethod
    async def list_old(self, before: datetime) -> list[str]: ...

    @abstractmethod
    async def delete(self, name: str) -> bool: ...


class Janitor(Agent):
    """Deletes what is older than a day, every hour, and counts it."""

    files: Files
    deleted: int = 0

    @handler
    async def start(self, period_s: float = 3600.0) -> int:
        """Clean up now and from now on; a second start changes nothing, and keeps the grid."""
        await self.cleanup.every(timedelta(seconds=period_s), name="cleanup")()
        return await self.cleanup()

    @handler
    async def cleanup(self) -> int:
        """Delete what is old, and answer how many that were."""
        count = 0
        for name in await self.files.list_old(now() - timedelta(days=1)):
            count += await self.files.delete(name)
        self.deleted += count
        return count

    @handler
    async def stop(self) -> None:
        """Clean up no more."""
        if schedule := self.schedules.get("cleanup"):
            await schedule.cancel()

    @query
    async def deleted_so_far(self) -> int:
        """How many were deleted in all."""
        return self.deleted
