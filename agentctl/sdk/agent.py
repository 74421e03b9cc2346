"""Agent: a plain class whose annotated fields say what it is made of.

Three kinds of object bear the class: an event's own (built by the engine, one an event), a
reference (`ref`), and a query's. None is made by calling the class.
"""

from __future__ import annotations

import enum
import uuid
from collections.abc import Mapping
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

from agentctl.core.lanes import Priority, check_priority
from agentctl.errors import BadAgentClass, UsageError
from agentctl.sdk.capability import uses
from agentctl.sdk.fields import AgentSpec, fresh_transients, read_spec
from agentctl.sdk.loop import HandlerLoop
from agentctl.sdk.registry import Reference, define
from agentctl.sdk.scope import SCOPE
from agentctl.sdk.settings import AgentSettings
from agentctl.sdk.signature import surrounding_names
from agentctl.sdk.stubs import make_stub, stub_class
from agentctl.sdk.tokens import ScheduleHandle, schedules_of

A = TypeVar("A", bound="Agent")


@dataclass_transform(kw_only_default=True, field_specifiers=(uses,))
class Agent:
    """The base of every agent; see docs/concepts.md."""

    state_version: ClassVar[int] = 1
    settings: ClassVar[AgentSettings] = AgentSettings()

    __agentctl_agent__: ClassVar[bool] = False
    __agentctl_spec__: ClassVar[AgentSpec]
    __agentctl_names__: ClassVar[Mapping[str, object]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__agentctl_agent__ = True
        cls.__agentctl_names__ = surrounding_names(1)
        cls.__agentctl_spec__ = read_spec(cls, cls.__agentctl_names__)
        define(cls)

    def __new__(cls, *_args: object, **_fields: object) -> Self:
        """Refuse to be called: only engines and references make agents.

        Raises:
            UsageError: always.
        """
        raise UsageError(
            f"{cls.__name__} isn't made by calling it",
            hint=f"run it by start({cls.__name__}, …), refer to it by {cls.__name__}.ref(…)",
        )

    def __setattr__(self, name: str, value: object) -> None:
        scope = SCOPE.get()
        if scope is not None and scope.original is self:
            # It would be there until the next crash, and then no replay would bring it back.
            raise UsageError(
                f"a step changed {name} of the handler's own object",
                hint="a step changes the state through its own self: make it a method of the agent",
            )
        object.__setattr__(self, name, value)

    @classmethod
    def ref(
        cls, *identity: str | int | uuid.UUID | enum.Enum, priority: Priority = "medium"
    ) -> Self:
        """Refer to one instance, by its identity in the order of the class's fields.

        Args:
            priority: the lane in which what is asked through the reference queues.

        Raises:
            UsageError: the identity doesn't fit the class, or there is no such lane.
        """
        known = spec_of(cls).identity_of(identity)
        return refer(cls, known, priority=check_priority(priority))

    @property
    def schedules(self) -> Mapping[str, ScheduleHandle]:
        """The instance's named schedules by name: on `self` in a handler, or on a host's reference.

        Each use in a handler is a call: what it read is on record.

        Raises:
            UsageError: in a query, or of another instance in a handler.
        """
        return schedules_of(self)


def spec_of(cls: type[Agent]) -> AgentSpec:
    """What an agent's class is made of.

    Raises:
        BadAgentClass: it is no agent, or the base class itself.
    """
    spec = cls.__dict__.get("__agentctl_spec__")
    if not isinstance(spec, AgentSpec):
        raise BadAgentClass(f"{cls.__name__} is no agent", hint="derive it from agentctl.Agent")
    return spec


def refer(
    cls: type[A],
    identity: tuple[str, ...] | None,
    invoker: Any = None,
    *,
    priority: Priority = "medium",
) -> A:
    """Make a reference; its `invoker` is looked up at use unless one is given."""
    made = object.__new__(cls)
    made.__dict__["__agentctl_reference__"] = Reference(cls, identity, invoker, priority)
    return made


def build(
    cls: type[A], identity: tuple[str, ...], state: Mapping[str, Any], loop: HandlerLoop | None
) -> A:
    """Make an event's own object: identity, committed state, stubs; a query's has no stubs."""
    spec = spec_of(cls)
    made = object.__new__(cls)
    attributes = made.__dict__
    for one, text in zip(spec.identity, identity, strict=True):
        attributes[one.name] = one.from_text(text)
    attributes.update(state)
    if spec.transient:
        attributes.update(fresh_transients(spec))
    if loop is not None:
        for name, capability in spec.capabilities.items():
            stubs = stub_class(capability.type, name, capability.allowed)
            attributes[name] = make_stub(stubs, loop)
    return made
