"""StepScope: what a step's code does with its agent's capabilities: it calls them directly."""

from __future__ import annotations

import contextvars
from collections.abc import Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from agentctl.sdk.capability import MethodSpec
    from agentctl.sdk.loop import HandlerLoop


class StepScope(Protocol):
    """One attempt of a step, as the code that runs in it sees it."""

    @property
    def loop(self) -> HandlerLoop:
        """The loop of the handler that the step belongs to."""
        ...

    @property
    def original(self) -> object:
        """The handler's own object, which a step doesn't change: it works on a copy."""
        ...

    def call(
        self,
        field: str,
        method: MethodSpec,
        given: tuple[Sequence[Any], Mapping[str, Any]],
        denied: str | None,
    ) -> Coroutine[Any, Any, Any]:
        """Call a capability's method within the step; it isn't recorded by itself."""
        ...


SCOPE: Final[contextvars.ContextVar[StepScope | None]] = contextvars.ContextVar(
    "agentctl_step", default=None
)
