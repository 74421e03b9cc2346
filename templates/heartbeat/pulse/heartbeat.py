"""The agent: what it may do to the world, and what it does."""

from __future__ import annotations

from abc import abstractmethod

from agentctl import Agent, Capability, handler, now


class Signal(Capability):
    """Reaches whoever watches."""

    @abstractmethod
    async def send(self, text: str) -> None: ...


class Heartbeat(Agent):
    """Says that it is alive."""

    signal: Signal

    @handler
    async def beat(self) -> None:
        """Say so once; `[schedules.heartbeat]` in kavach.toml calls this every minute."""
        await self.signal.send(f"alive at {now():%H:%M:%S} UTC")
