"""What a project says, as frozen data.

Invariant: these hold only values that were checked (`reading.py`). Never touches the disk.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from agentctl.errors import NotFound
from agentctl.nearest import nearest_hint
from agentctl.project.layers import Layers


@dataclass(frozen=True)
class FromEnvironment:
    """A value that an environment variable holds."""

    name: str

    def __str__(self) -> str:
        return f"env {self.name}"


@dataclass(frozen=True)
class FromFile:
    """A value that a file holds; `path` is relative to the project's folder."""

    path: str

    def __str__(self) -> str:
        return f"file {self.path}"


@dataclass(frozen=True)
class CapabilityConfig:
    """What a capability is bound to, and how it is called.

    Attributes:
        use: `module:Class`.
        arguments: of its constructor, by name: values, or where they come from.
        timeout: of each call; `limit`: calls at once.
    """

    use: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    timeout: timedelta | None = None
    limit: int | None = None


@dataclass(frozen=True)
class AgentConfig:
    """One `[agents.NAME]`.

    Attributes:
        cls: `module:Class`.
        settings: only those that the file sets; `deny` maps `capability.method` to a reason.
    """

    name: str
    cls: str
    capabilities: Mapping[str, CapabilityConfig] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    deny: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Project:
    """A loaded `kavach.toml`.

    Attributes:
        folder: where the file lies; code is imported from there.
        root: where `agents/` lies.
        file: all that was read, for lines in messages.
        environ: the environment, for values that come from there.
        found_by: what led to the file, and `root_source` to the root, if it wasn't the file.
    """

    name: str
    folder: Path
    root: Path
    tz: str | None
    agents: Mapping[str, AgentConfig]
    file: Layers = field(repr=False, compare=False)
    environ: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    found_by: str = "working folder"
    root_source: str | None = None

    def agent(self, name: str) -> AgentConfig:
        """Return the agent's table.

        Raises:
            NotFound: there is none; names the nearest.
        """
        try:
            return self.agents[name]
        except KeyError:
            raise NotFound(
                f"{self.file.path} has no agent {name!r}",
                hint=nearest_hint(name, self.agents, "agents"),
            ) from None
