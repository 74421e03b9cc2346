"""What an agent's class is made of: identity, capabilities, state, handlers, queries.

Read once, when the class is defined; a wrong mix is an error there, naming class and field.
"""

from __future__ import annotations

import copy
import enum
import inspect
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import Raw, UnsetType

from agentctl.errors import (
    BadAgentClass,
    BadArguments,
    NotInThisVersion,
    NotRecordable,
    UsageError,
)
from agentctl.names import check_agent_name, identity_text, is_utf8
from agentctl.sdk.capability import Capability, Uses
from agentctl.sdk.handlers import Handler, Query
from agentctl.sdk.signature import CallSignature, is_class_var, type_hint
from agentctl.values import Codec, codec

RESERVED: Final = frozenset(
    ["ref", "schedules", "settings", "root", "dump_state", "load_state", "migrate", "state_version"]
)
_PLANNED: Final = ("dump_state", "load_state", "migrate")
_OF_WORKFLOWS: Final = ("run", "result")
_IDENTITY_TYPES: Final = (str, int, bool, uuid.UUID)


@dataclass(frozen=True, slots=True)
class IdentityField:
    """A part of an instance's name."""

    name: str
    type: type[Any]

    def to_text(self, value: object) -> str:
        """Write a value of this field for an address."""
        if type(value) is not self.type:
            raise UsageError(
                f"the identity {self.name!r} is a {self.type.__name__}, not {value!r}",
                hint=f"give a {self.type.__name__}",
            )
        if isinstance(value, str) and not is_utf8(value):
            raise UsageError(f"the identity {self.name!r} has characters that UTF-8 can't hold")
        if isinstance(value, enum.Enum):
            return identity_text(value.value)
        return identity_text(value) if isinstance(value, str | int) else str(value)

    def from_text(self, text: str) -> Any:
        """Read a value of this field from an address."""
        try:
            return self._parse(text)
        except (ValueError, KeyError):
            raise UsageError(
                f"{text!r} is no {self.type.__name__} for the identity {self.name!r}"
            ) from None

    def written(self, text: str) -> str:
        """Write a value given as text in its one written form."""
        if self.type is str and text.isascii():
            return text  # nearly all are like that, and a start checks very many
        return self.to_text(self.from_text(text))

    def _parse(self, text: str) -> Any:
        if self.type is bool:
            return {"true": True, "false": False}[text]
        if issubclass(self.type, enum.Enum):
            return {identity_text(one.value): one for one in self.type}[text]
        return self.type(text)


@dataclass(frozen=True, slots=True)
class CapabilityField:
    """A capability; `allowed` is None unless `uses(…)` narrows it."""

    name: str
    type: type[Capability]
    allowed: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class StateField:
    """Durable state of an instance; the default is kept as its JSON, so no two share it."""

    name: str
    codec: Codec[Any]
    default: bytes


@dataclass(frozen=True, slots=True)
class HandlerSpec:
    """A handler as an event runs it.

    Attributes:
        once: it runs once in an instance's life: a workflow's `run`.
    """

    name: str
    handler: Handler[Any, Any]
    signature: CallSignature
    exclusive: bool
    once: bool = False

    def read(self, args: Raw, kwargs: Raw | UnsetType) -> tuple[list[Any], dict[str, Any]]:
        """Read an accepted event's arguments.

        Raises:
            BadArguments: they no longer fit the handler.
        """
        named = bytes(kwargs) if isinstance(kwargs, Raw) else None
        try:
            values, by_name = self.signature.decode(bytes(args), named)
        except NotRecordable as error:
            raise BadArguments(
                f"{self.signature.title}: the recorded arguments no longer fit: {error.message}",
                hint=f"it is called as {self.signature.shown} now",
            ) from None
        self.signature.bind(values, by_name)
        return values, by_name


@dataclass(frozen=True)
class AgentSpec:
    """All that the engine needs to know of an agent's class."""

    name: str
    identity: tuple[IdentityField, ...] = ()
    capabilities: Mapping[str, CapabilityField] = field(default_factory=dict)
    state: Mapping[str, StateField] = field(default_factory=dict)
    transient: Mapping[str, object] = field(default_factory=dict)
    handlers: Mapping[str, HandlerSpec] = field(default_factory=dict)
    queries: Mapping[str, CallSignature] = field(default_factory=dict)

    def identity_of(self, values: tuple[object, ...]) -> tuple[str, ...]:
        """Turn identity values, in the order of the class, into their text forms.

        Raises:
            UsageError: too many, too few, or of a wrong type.
        """
        if len(values) != len(self.identity):
            names = ", ".join(one.name for one in self.identity)
            hint = f"refer to an instance by {self.name}.ref({names})"
            raise UsageError(self._miscounted(len(values)), hint=hint)
        return tuple(one.to_text(v) for one, v in zip(self.identity, values, strict=True))

    def check_identity(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        """Check identity given as text, and return it in its one written form."""
        if len(texts) != len(self.identity):
            raise UsageError(self._miscounted(len(texts)), hint=self._as_address())
        pairs = zip(self.identity, texts, strict=True)
        return tuple([one.written(text) for one, text in pairs])

    def _miscounted(self, given: int) -> str:
        names = ", ".join(one.name for one in self.identity)
        has = {0: "no identity field", 1: f"1 identity field ({names})"}.get(
            len(self.identity), f"{len(self.identity)} identity fields ({names})"
        )
        was = {0: "no value was", 1: "1 value was"}.get(given, f"{given} values were")
        return f"{self.name} has {has}, and {was} given"

    def _as_address(self) -> str:
        if not self.identity:
            return f"name it without: {self.name}"
        names = [one.name for one in self.identity]
        quoted = ", ".join(f'"{name}"' for name in names)
        address = "/".join((self.name, *map(str.upper, names)))
        return f"name an instance: {address}, or {self.name}({quoted})"


def read_spec(cls: type, names: Mapping[str, object]) -> AgentSpec:
    """Read an agent's class.

    Raises:
        BadAgentClass: it can't be an agent; the message names class and field.
        NotInThisVersion: it counts on changing state that an earlier class left.
    """
    reader = _Reader(cls, names)
    for base in reversed(cls.__mro__):
        if getattr(base, "__agentctl_agent__", False):
            reader.read(base)
    return reader.spec()


class _Reader:
    def __init__(self, cls: type, names: Mapping[str, object]) -> None:
        self.cls = cls
        self.names = names
        self._has_steps = hasattr(cls, "__agentctl_steps__")
        self.identity: dict[str, IdentityField] = {}
        self.capabilities: dict[str, CapabilityField] = {}
        self.state: dict[str, StateField] = {}
        self.transient: dict[str, object] = {}
        self.handlers: dict[str, Handler[Any, Any]] = {}
        self.queries: dict[str, Query[Any, Any]] = {}

    def wrong(self, name: str, why: str, hint: str | None = None) -> BadAgentClass:
        return BadAgentClass(f"{self.cls.__qualname__}.{name}: {why}", hint=hint)

    def read(self, base: type) -> None:
        names = getattr(base, "__agentctl_names__", self.names)
        for name, annotation in inspect.get_annotations(base).items():
            if is_class_var(annotation):
                continue
            if not name.startswith("_"):
                self._field(base, name, names)
            elif name in vars(base):
                self._transient(name, vars(base)[name])
        for name, member in vars(base).items():
            if isinstance(member, Handler):
                self._check_name(name, "a handler")
                self.handlers[name] = member
            elif isinstance(member, Query):
                self._check_name(name, "a query")
                self.queries[name] = member

    def _check_name(self, name: str, what: str) -> None:
        if name in RESERVED or (what == "a field" and self._has_steps and name in _OF_WORKFLOWS):
            raise self.wrong(name, f"{what} can't have this name: Agent has it")

    def _field(self, base: type, name: str, names: Mapping[str, object]) -> None:
        self._check_name(name, "a field")
        annotation = type_hint(base, name, names)
        default = vars(base).get(name, inspect.Parameter.empty)
        if isinstance(annotation, type) and issubclass(annotation, Capability):
            self._capability(name, annotation, default)
        elif isinstance(default, Uses):
            raise self.wrong(name, "uses(…) narrows a capability, and this is none")
        elif default is inspect.Parameter.empty:
            self._identity(name, annotation)
        else:
            self._state(name, annotation, default)

    def _capability(self, name: str, interface: type[Capability], default: object) -> None:
        allowed = default.methods if isinstance(default, Uses) else None
        if default is not inspect.Parameter.empty and allowed is None:
            raise self.wrong(
                name, "a capability has no default", "bind it at start, or narrow it by uses(…)"
            )
        for method in allowed or ():
            if not hasattr(interface, method):
                raise self.wrong(name, f"{interface.__name__} has no method {method!r}")
        self.capabilities[name] = CapabilityField(name, interface, allowed)

    def _identity(self, name: str, annotation: object) -> None:
        fits = isinstance(annotation, type) and (
            annotation in _IDENTITY_TYPES or issubclass(annotation, enum.Enum)
        )
        if not fits:
            shown = getattr(annotation, "__name__", annotation)
            raise self.wrong(
                name,
                f"a field without a default is identity, and {shown} has no stable text form",
                "identity is str, int, bool, UUID or an enum; give state a default",
            )
        assert isinstance(annotation, type)
        self.identity[name] = IdentityField(name, annotation)

    def _state(self, name: str, annotation: object, default: object) -> None:
        try:
            one = codec(annotation)
            self.state[name] = StateField(name, one, one.encode(default))
        except (NotRecordable, TypeError, ValueError) as error:
            raise self.wrong(
                name,
                f"this state can't be recorded: {error}",
                "begin its name with _ if it needn't",
            ) from None

    def _transient(self, name: str, default: object) -> None:
        try:
            copy.deepcopy(default)
        except Exception as error:  # noqa: BLE001 - whatever the object's own code raises
            raise self.wrong(
                name,
                f"each event gets a copy of this default, and it can't be copied: {error}",
                "make it where it is used, or in a capability; None can be its default",
            ) from None
        self.transient[name] = default

    def _refuse_planned(self) -> None:
        """Refuse what would silently do nothing here, and change state in a later version."""
        cls = self.cls
        for name in _PLANNED:
            if hasattr(cls, name):
                raise _not_yet(f"{cls.__qualname__}.{name}")
        version = getattr(cls, "state_version", 1)
        if version != 1:
            raise _not_yet(f"{cls.__qualname__}.state_version = {version!r}")

    def spec(self) -> AgentSpec:
        cls = self.cls
        self._refuse_planned()
        if "__init__" in vars(cls):
            raise self.wrong("__init__", "an agent has none: its fields say what it is made of")
        stateful = bool(self.state)
        names = getattr(cls, "__agentctl_names__", self.names)
        handlers = {
            name: HandlerSpec(
                name,
                one,
                CallSignature(one.fn, cls, names, title=f"{cls.__name__}.{name}"),
                stateful if one.exclusive is None else one.exclusive,
                once=name == "run" and self._has_steps,
            )
            for name, one in self.handlers.items()
        }
        queries = {
            name: CallSignature(one.fn, cls, names, title=f"{cls.__name__}.{name}")
            for name, one in self.queries.items()
        }
        try:
            check_agent_name(cls.__name__)
        except UsageError as error:
            raise BadAgentClass(f"{cls.__qualname__}: {error.message}", hint=error.hint) from None
        return AgentSpec(
            cls.__name__,
            tuple(self.identity.values()),
            self.capabilities,
            self.state,
            self.transient,
            handlers,
            queries,
        )


def _not_yet(what: str) -> NotInThisVersion:
    return NotInThisVersion(
        f"{what} isn't in this version of agentctl", hint="see docs/concepts.md, What isn't there"
    )


def fresh_transients(spec: AgentSpec) -> dict[str, object]:
    """The fields that live for one event, each a copy of its default."""
    return {name: copy.deepcopy(value) for name, value in spec.transient.items()}
