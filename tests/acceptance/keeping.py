"""An agent that keeps a token in its state; for worlds on a fake clock."""

from __future__ import annotations

from agentctl import Agent, AgentctlError, Cancellation, Token, handler

from .rounds import World


class Keeper(Agent):
    """What it keeps is an event to come, of its own."""

    name: str
    world: World
    pending: Token[str] | None = None

    @handler
    async def note(self, word: str) -> str:
        await self.world.mark(f"{self.name} {word}", None, 0)
        return word

    @handler
    async def keep(self, word: str, seconds: float) -> str:
        self.pending = await self.note.after(seconds)(word)
        return self.pending.address

    @handler
    async def drop(self) -> Cancellation:
        assert self.pending is not None
        return await self.pending.cancel()

    @handler
    async def kept(self) -> str | None:
        return None if self.pending is None else self.pending.address


class Waiter(Agent):
    """It waits for the outcome of an event through the token that it was given."""

    world: World

    @handler
    async def give(self, word: str, seconds: float) -> Token[str]:
        return await Keeper.ref("k").note.after(seconds)(word)

    @handler
    async def outcome(self, token: Token[str]) -> str:
        try:
            return await token.result()
        except AgentctlError as error:
            return f"raised {type(error).__name__}"
