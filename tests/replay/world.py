"""The world that the handlers act on; what it answers is fixed, only the order is not."""

from __future__ import annotations

from abc import abstractmethod

from agentctl import AgentError, Capability


class Declined(AgentError):
    """What the world answers to a call whose name begins with `bad`."""


class World(Capability):
    @abstractmethod
    async def do(self, what: str) -> str: ...

    @abstractmethod
    async def tell(self, what: set[str]) -> set[str]: ...


def answer(what: str | set[str]) -> str | set[str]:
    """What every world answers, in every run."""
    if isinstance(what, str) and what.startswith("bad"):
        raise Declined(what)
    return f"<{what}>" if isinstance(what, str) else {one + "!" for one in what}
