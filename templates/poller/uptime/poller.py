"""The agent: what it may do to the world, and what it does."""

from __future__ import annotations

from abc import abstractmethod

from agentctl import Agent, Capability, backoff, handler, query


class Api(Capability):
    """Reaches what is watched."""

    @abstractmethod
    async def fetch(self, endpoint: str) -> bool: ...


class Poller(Agent):
    """Asks an address again and again, less often while it fails."""

    name: str
    api: Api
    failures: int = 0
    stopped: bool = False

    @handler
    async def start(self, endpoint: str, period_s: float = 60.0) -> None:
        """Ask now and from now on, also after a stop; started twice, it still has one tick."""
        self.stopped = False
        await self.poll(endpoint, period_s)

    @handler
    async def poll(self, endpoint: str, period_s: float = 60.0) -> None:
        """Ask once, and schedule the next tick: the name lets it take the place of any other."""
        if self.stopped:
            return
        ok = await self.api.fetch(endpoint)
        self.failures = 0 if ok else self.failures + 1
        delay = backoff(period_s, self.failures, cap=3600)
        await self.poll.after(delay, name="tick")(endpoint, period_s)

    @handler
    async def stop(self) -> None:
        """Ask no more."""
        self.stopped = True
        if tick := self.schedules.get("tick"):
            await tick.cancel()

    @query
    async def health(self) -> int:
        """How often in a row it failed."""
        return self.failures
