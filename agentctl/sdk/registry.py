"""References to instances, which agents there are, and who in this program runs which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from weakref import WeakValueDictionary

from agentctl.core.lanes import Priority
from agentctl.errors import AgentctlError, UsageError
from agentctl.sdk.execution import Invoker
from agentctl.sdk.ops import Target

_serving: Final[dict[type, list[Invoker]]] = {}
_defined: Final[WeakValueDictionary[str, type]] = WeakValueDictionary()


def define(agent: type) -> None:
    """Let `agent` be found by its name; the latest wins."""
    _defined[agent.__name__] = agent


def serve(agent: type, invoker: Invoker) -> None:
    """Let references to `agent` find whoever runs it; the latest wins."""
    _serving.setdefault(agent, []).append(invoker)


def unserve(agent: type, invoker: Invoker) -> None:
    """Take back `serve`."""
    _serving[agent].remove(invoker)


def class_named(agent: str) -> type | None:
    """The class of an agent: the one that runs in this program, else the one defined last."""
    return _served(agent) or _defined.get(agent)


def invoker_of(agent: str) -> Invoker:
    """Whoever runs the agent of this name in this program.

    Raises:
        AgentctlError: nobody does.
    """
    served = _served(agent)
    if served is None:
        raise _not_running(agent)
    return _serving[served][-1]


def _served(agent: str) -> type | None:
    found = (cls for cls in reversed(_serving) if cls.__name__ == agent and _serving[cls])
    return next(found, None)


def _not_running(agent: str) -> AgentctlError:
    return AgentctlError(
        f"{agent} doesn't run in this program",
        hint=f"start it first: async with start({agent}, …)",
    )


@dataclass(frozen=True, slots=True)
class Reference:
    """Which instance a reference means, and through whom it is asked.

    Attributes:
        identity: None where the agent has identity fields and none were given.
        invoker: None: whoever runs the agent at the moment of use.
        priority: the lane in which what it asks for queues.
    """

    cls: type
    identity: tuple[str, ...] | None
    invoker: Invoker | None = None
    priority: Priority = "medium"

    @property
    def agent(self) -> str:
        """The agent's name."""
        return self.cls.__name__

    def target(self, name: str) -> Target:
        """A handler or a query of the instance.

        Raises:
            UsageError: none was given.
        """
        if self.identity is None:
            raise UsageError(
                f"{self.agent} has identity fields, and no instance was named",
                hint=f"refer to one by {self.agent}.ref(…)",
            )
        return Target(self.agent, self.identity, name)

    def find_invoker(self) -> Invoker:
        """Whoever runs the agent in this program.

        Raises:
            AgentctlError: nobody does.
        """
        if self.invoker is not None:
            return self.invoker
        running = _serving.get(self.cls)
        if not running:
            raise _not_running(self.agent)
        return running[-1]
