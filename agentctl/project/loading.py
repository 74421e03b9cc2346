"""Loads a project's agents: their classes, and what these are bound to.

Invariant: whatever the user's code does, loading gives a `LoadedAgent` or one `ProjectError` that
names the line of `kavach.toml` it comes from. Never runs a handler and never opens an agent's
folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from agentctl.nearest import nearest_hint
from agentctl.project.importing import import_class
from agentctl.project.making import make_capability
from agentctl.project.model import AgentConfig, Project
from agentctl.project.toml_lines import KeyPath

if TYPE_CHECKING:
    from agentctl.sdk.agent import Agent
    from agentctl.sdk.capability import CapabilityOptions
    from agentctl.sdk.settings import AgentSettings


@dataclass(frozen=True)
class LoadedAgent:
    """An agent's class with everything that it needs to run.

    Attributes:
        capabilities: field names to made implementations; one for each capability field.
        settings: what the class carries, overridden by `kavach.toml`.
        deny: `capability.method` to the reason.
        options: how capabilities are called, by field.
    """

    cls: type[Agent]
    capabilities: Mapping[str, object]
    settings: AgentSettings
    deny: Mapping[str, str]
    options: Mapping[str, CapabilityOptions] = field(default_factory=dict)


def load_agent(project: Project, name: str) -> LoadedAgent:
    """Import the agent's class and make its capabilities.

    Raises:
        NotFound: the project has no such agent.
        ProjectError: its code can't be loaded, or doesn't fit what `kavach.toml` says.
    """
    config = project.agent(name)
    cls = load_class(project, name)
    fields = _capability_types(cls)
    where: KeyPath = ("agents", name, "capabilities")
    for given in config.capabilities:
        if given not in fields:
            raise project.file.error(
                (*where, given),
                f"the class {cls.__name__} has no capability {given}",
                hint=nearest_hint(given, fields, "capabilities"),
            )
    for needed, kind in fields.items():
        if needed not in config.capabilities:
            raise project.file.error(
                (*where, needed),
                f"the key is missing: {cls.__name__}.{needed} needs a {kind.__name__}",
                hint=f'name its implementation: {needed} = "module:Class"',
            )
    made = {name: make_capability(project, (*where, name), fields[name]) for name in fields}
    settings = replace(_carried(project, cls), **config.settings)
    return LoadedAgent(cls, made, settings, config.deny, _options(config))


def load_class(project: Project, name: str) -> type[Agent]:
    """Import only the agent's class, for commands that need no capabilities.

    Raises:
        NotFound: the project has no such agent.
        ProjectError: it can't be imported, isn't an `Agent`, or has another name.
    """
    from agentctl.sdk.agent import Agent

    reference, key = project.agent(name).cls, ("agents", name, "class")
    cls = import_class(project, key, reference)
    if not issubclass(cls, Agent) or cls is Agent:
        raise project.file.error(
            key,
            f"{reference} isn't an agent",
            hint=f"derive it from agentctl.Agent: class {cls.__name__}(Agent)",
        )
    if cls.__name__ != name:
        raise project.file.error(
            key,
            f"the class is named {cls.__name__}, its table {name}",
            hint=f"an agent's name is its class's name: write [agents.{cls.__name__}]",
        )
    return cls


def _carried(project: Project, cls: type[Agent]) -> AgentSettings:
    from agentctl.sdk.settings import AgentSettings

    carried: object = cls.settings
    if not isinstance(carried, AgentSettings):
        raise project.file.error(
            ("agents", cls.__name__, "class"),
            f"{cls.__name__}.settings is a {type(carried).__name__}, not an AgentSettings",
            hint="write it as settings = AgentSettings(…), or as [agents.NAME.settings] here",
        )
    return carried


def _capability_types(cls: type[Agent]) -> dict[str, type]:
    from agentctl.sdk.agent import spec_of

    return {name: field.type for name, field in spec_of(cls).capabilities.items()}


def _options(config: AgentConfig) -> Mapping[str, CapabilityOptions]:
    from agentctl.sdk.capability import CapabilityOptions

    return {
        name: CapabilityOptions(timeout=one.timeout, retry=one.retry, limit=one.limit)
        for name, one in config.capabilities.items()
        if (one.timeout, one.retry, one.limit) != (None, None, None)
    }
