"""Workflow, as far as types go; not in this version yet."""

from __future__ import annotations

from typing import Any, TypeVar

from agentctl.sdk.agent import Agent
from agentctl.sdk.handlers import handler
from agentctl.sdk.planned import Step, not_yet

R = TypeVar("R")


class Workflow(Agent):
    """An agent whose steps run in the order they are written."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        raise not_yet("Workflow")

    @handler
    async def run(self) -> object:
        """Run the steps; the result is the last one's."""
        raise not_yet("Workflow")

    def result(self, step: Step[R], /) -> R:
        """An earlier step's result."""
        raise not_yet("Workflow")
