"""An agent with its capabilities bound, its settings and its policy."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from agentctl.engines.local.events.calls import BoundMethod
from agentctl.engines.local.events.slots import Slots
from agentctl.errors import UsageError
from agentctl.nearest import nearest_hint
from agentctl.sdk.agent import Agent, spec_of
from agentctl.sdk.capability import Capability, CapabilityOptions, method_names, options_of
from agentctl.sdk.fields import AgentSpec
from agentctl.sdk.settings import AgentSettings
from agentctl.times import to_us

A = TypeVar("A", bound=Agent)


@dataclass(frozen=True)
class Binding(Generic[A]):
    """An agent ready to be run.

    Attributes:
        deny: reasons why calls are forbidden, by `field.method`.
        options: how capabilities are called, by field.
    """

    cls: type[A]
    capabilities: Mapping[str, Capability]
    settings: AgentSettings
    deny: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, CapabilityOptions] = field(default_factory=dict)

    @property
    def spec(self) -> AgentSpec:
        """What the agent's class is made of."""
        return spec_of(self.cls)

    def methods(self) -> dict[tuple[str, str], BoundMethod]:
        """Every method that the agent may call, by field and name; each time with new slots."""
        found: dict[tuple[str, str], BoundMethod] = {}
        for name, one in self.spec.capabilities.items():
            options = self.options.get(name, CapabilityOptions())
            timeout_us = None if options.timeout is None else to_us(options.timeout)
            slots = None if options.limit is None else Slots(options.limit)
            for method in method_names(one.type):
                interface = inspect.getattr_static(one.type, method)
                bound = getattr(self.capabilities[name], method)
                found[name, method] = BoundMethod(
                    bound,
                    options_of(interface),
                    timeout_us=timeout_us,
                    retry=options.retry,
                    slots=slots,
                )
        return found


def make_binding(
    cls: type[A],
    capabilities: Mapping[str, Any],
    settings: AgentSettings | None,
    deny: Mapping[str, str] | None = None,
    *,
    options: Mapping[str, CapabilityOptions] | None = None,
) -> Binding[A]:
    """Bind capabilities to an agent.

    Raises:
        UsageError: one is missing, unknown, or no implementation of the field's class.
    """
    spec = spec_of(cls)
    _check_names(spec, capabilities)
    for name, implementation in capabilities.items():
        _check_implementation(spec, name, implementation)
    for call in deny or {}:
        check_denied(spec, call)
    for name in options or {}:
        _check_named(spec, name)
    return Binding(
        cls, dict(capabilities), settings or cls.settings, dict(deny or {}), dict(options or {})
    )


def check_denied(spec: AgentSpec, call: str) -> None:
    """Refuse to deny a call, `field.method`, that the agent can't make.

    Raises:
        UsageError: naming the nearest.
    """
    fields = spec.capabilities.items()
    calls = [f"{name}.{method}" for name, one in fields for method in method_names(one.type)]
    if call not in calls:
        raise UsageError(
            f"{spec.name} has no call {call!r} to deny", hint=nearest_hint(call, calls, "calls")
        )


def _check_names(spec: AgentSpec, capabilities: Mapping[str, Any]) -> None:
    missing = [name for name in spec.capabilities if name not in capabilities]
    unknown = [name for name in capabilities if name not in spec.capabilities]
    if missing or unknown:
        parts = [f"nothing is bound to {', '.join(missing)}"] if missing else []
        parts += [f"it has no capability {', '.join(unknown)}"] if unknown else []
        raise UsageError(
            f"{spec.name}: {', and '.join(parts)}",
            hint=f"its capabilities are: {', '.join(spec.capabilities) or 'none'}",
        )


def _check_named(spec: AgentSpec, name: str) -> None:
    if name not in spec.capabilities:
        raise UsageError(
            f"{spec.name} has no capability {name!r} to set options of",
            hint=nearest_hint(name, spec.capabilities, "capabilities"),
        )


def _check_implementation(spec: AgentSpec, name: str, implementation: object) -> None:
    interface = spec.capabilities[name].type
    if isinstance(implementation, interface):
        method_names(type(implementation))
        return
    what = implementation.__name__ if isinstance(implementation, type) else repr(implementation)
    made = isinstance(implementation, type) and issubclass(implementation, interface)
    raise UsageError(
        f"{spec.name}.{name} needs an implementation of {interface.__name__}, not {what}",
        hint=f"give an object: {what}(…)" if made else f"derive it from {interface.__name__}",
    )
